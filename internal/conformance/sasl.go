package conformance

import (
	"context"
	"net"
	"slices"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
)

// Who may authenticate at Target.SASL.
const (
	SASLUser     = "app"
	SASLPassword = "secret"
)

func saslEntries() []entry {
	needs := []Ability{SASL}
	return []entry{
		{"P13.3 C133", "SASL on a server without it: a null token, and the connection stays; final for a client, unless it may go on", nil, saslAbsent},
		{"P13.3 E27", "what servers answer to tokens", needs, saslAnswers},
		{"C133", "SASL: the right user has an identity, which access lists respect, and has it again after a reconnect", needs, saslIdentity},
		{"C128 C133", "SASL before credentials, watches and requests, on each connection", needs, saslOrder},
		{"C133 F38", "SASL: a wrong password is final: one attempt, and an error that says so", needs, saslRefused},
	}
}

func saslAbsent(e *env) {
	r := e.raw()
	var rep proto.SetSASLResponse
	got := r.ok(proto.OpSASL, &proto.GetSASLRequest{Token: []byte{}}, &rep)
	equal(e, "token", rep.Token == nil, true)
	equal(e, "zxid", got.zxid, 0)
	r.get(e.root, false)
	r.send(proto.OpSASL, &proto.GetSASLRequest{}) // a null token is not read
	r.gone()
	e.forget(r)

	tp := e.tap()
	mechanism := client.SASL(client.DigestMD5(SASLUser, []byte(SASLPassword)))
	c, err := client.Connect(e.ctx, e.tg.Addr, e.options(tp, []client.Option{mechanism})...)
	e.fails("connect", err, client.ErrAuthFailed)
	e.fails("connect", err, client.ErrNoSASL)
	equal(e, "a client", c == nil, true)
	dials, _ := tp.counts()
	equal(e, "dials", dials, 1)
	c, _ = e.client(mechanism, client.SASLOptional())
	_, _, err = c.Exists(e.ctx, "/")
	e.must(err)
}

// secured is the entry on the server that has SASL.
func (e *env) secured() *env {
	e.Helper()
	s := *e
	s.tg = e.tg.SASL
	r := s.raw()
	r.create(s.root, "", client.ModePersistent)
	r.bye()
	e.Cleanup(func() { s.remove(s.root) })
	return &s
}

// token sends a token and returns the code of the answer and the token in it.
func (r *raw) token(token []byte) (proto.Code, []byte) {
	r.e.Helper()
	rep := r.do(proto.OpSASL, &proto.GetSASLRequest{Token: token})
	var res proto.SetSASLResponse
	r.decode(rep, &res)
	equal(r.e, "zxid", rep.zxid, 0)
	return rep.code, res.Token
}

// digest does an exchange up to the client's response and returns the answer to that.
func (r *raw) digest(first []byte, user, password string) (proto.Code, []byte) {
	r.e.Helper()
	x, err := client.DigestMD5(user, []byte(password)).Start(r.e.ctx, r.e.tg.Addr)
	r.e.must(err)
	_, _, err = x.Next(r.e.ctx, nil)
	r.e.must(err)
	code, challenge := r.token(first)
	equal(r.e, "answer to the first token", code, 0)
	response, _, err := x.Next(r.e.ctx, challenge)
	r.e.must(err)
	code, proof := r.token(response)
	if code == 0 {
		_, done, err := x.Next(r.e.ctx, proof)
		r.e.must(err)
		equal(r.e, "done", done, true)
	}
	return code, proof
}

func saslAnswers(e *env) {
	e = e.secured()
	// The password of the unknown user is nobody's: servers keep the user that they have found last in a field that all connections
	// share, and take that one's password for a user whom they do not find (SaslServerCallbackHandler.handleNameCallback).
	for what, login := range map[string][2]string{"wrong password": {SASLUser, "Secret"}, "unknown user": {"nobody", "none"}} {
		r := e.raw()
		code, proof := r.digest([]byte{}, login[0], login[1])
		equal(e, what, code, proto.ErrAuthFailed)
		equal(e, "a token", proof == nil, true)
		r.gone()
		e.forget(r)
	}
	r := e.raw()
	r.get(e.root, false) // a request before it is served where nothing is enforced
	code, _ := r.digest([]byte{}, SASLUser, SASLPassword)
	equal(e, "right password", code, 0)
	code, proof := r.token([]byte{})
	equal(e, "a further token", code, proto.ErrAuthFailed)
	equal(e, "a token", proof == nil, true)
	r.gone()
	e.forget(r)

	r = e.raw()
	r.send(proto.OpSASL, &proto.GetSASLRequest{})
	r.gone() // a null token is not read
	e.forget(r)

	r = e.raw()
	acl := func(id string) proto.Code {
		return r.code(proto.OpSetACL, &proto.SetACLRequest{Path: e.root, Version: -1, ACL: append(world(),
			proto.ACL{Perms: proto.PermRead, ID: proto.ID{Scheme: "sasl", ID: id}})})
	}
	for id, want := range map[string]proto.Code{
		"anybody": 0, "a/b/c": 0, "a/b@c": 0, "a@b": 0, "a@b@c": proto.ErrInvalidACL, "a/b/c@d": proto.ErrInvalidACL, "a@b/c": proto.ErrInvalidACL,
	} {
		equal(e, "access list with sasl:"+id, acl(id), want)
	}
}

func saslIdentity(e *env) {
	e = e.secured()
	owner, tp := e.client(client.SASL(client.DigestMD5(SASLUser, []byte(SASLPassword))), client.MinServer("3.7"))
	is := func() bool {
		who, err := owner.WhoAmI(e.ctx)
		e.must(err)
		return slices.Contains(who, client.Identity{Scheme: "sasl", User: SASLUser})
	}
	equal(e, "has the identity", is(), true)
	_, _, err := owner.Create(e.ctx, "/secret", nil, client.ModePersistent, client.CreatorACL(client.PermAll))
	e.must(err)
	acl, _, err := owner.GetACL(e.ctx, "/secret")
	e.must(err)
	equal(e, "access list", acl, []client.ACL{{Perms: client.PermAll, ID: client.ID{Scheme: "sasl", ID: SASLUser}}})
	other, _ := e.client()
	_, _, err = other.Get(e.ctx, "/secret")
	e.fails("without an identity", err, client.ErrNoAuth)
	e.blink(owner, tp)
	equal(e, "has it again", is(), true)
	_, _, err = owner.Get(e.ctx, "/secret")
	e.must(err)
	e.must(owner.Delete(e.ctx, "/secret", client.AnyVersion)) // nobody else may list its children
}

func saslOrder(e *env) {
	e = e.secured()
	c, tp := e.client(client.SASL(client.DigestMD5(SASLUser, []byte(SASLPassword))), client.Auth("digest", []byte("a:b")))
	e.reconnectOrder(c, tp, proto.OpSASL, proto.OpSASL, proto.OpAuth, proto.OpSetWatches, proto.OpExists)
}

func saslRefused(e *env) {
	e = e.secured()
	tp := e.tap()
	wrong := client.SASL(client.DigestMD5(SASLUser, []byte("Secret")))
	c, err := client.Connect(e.ctx, e.tg.Addr, e.options(tp, []client.Option{wrong})...)
	e.fails("connect", err, client.ErrAuthFailed)
	equal(e, "a client", c == nil, true)
	dials, _ := tp.counts()
	equal(e, "dials", dials, 1)

	c, err = client.Lazy(e.tg.Addr, e.options(tp, []client.Option{wrong})...)
	e.must(err)
	w := e.follow(c)
	_, _, err = c.Get(e.ctx, "/")
	e.fails("pending", err, client.ErrAuthFailed)
	e.fails("pending", err, net.ErrClosed)
	e.outcome(err, client.OutcomeNotSent, false)
	e.fails("state", w.until(client.StateAuthFailed).Err, client.ErrAuthFailed)
	if change, more := w.next(); more {
		e.Errorf("a state behind the last one: %v", change)
	}
	e.fails("cause", context.Cause(c.Context()), client.ErrAuthFailed)
	dials, _ = tp.counts()
	equal(e, "dials", dials, 2)
	e.must(c.Close())
}
