package conformance

import (
	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
)

func authEntries() []entry {
	return []entry{
		{"C127", "credentials added before connecting, while connected and while disconnected are effective", nil, whenAdded},
		{"C128 F36", "after a reconnect: credentials, then watches, then requests", nil, wireOrder},
		{"C130 F38", "an unknown scheme is final: one state, an error for every request, no reconnect", nil, authRefused},
		{"P13.1 E15 E16", "what servers answer to credentials", nil, authAnswers},
		{"P13.1 P21.4", "replies to credentials may overtake those of requests sent before them", nil, authOvertakes},
	}
}

func whenAdded(e *env) {
	owner := e.raw()
	equal(e, "auth", owner.auth("digest", "bob:secret"), 0)
	secret := []proto.ACL{{Perms: proto.PermAll, ID: proto.ID{Scheme: "digest", ID: proto.DigestID("bob", "secret")}}}
	owner.ok(proto.OpCreate, &proto.CreateRequest{Path: e.path("/secret"), ACL: secret}, &proto.CreateResponse{})
	defer owner.setACL(e.path("/secret"), world())
	bob := []byte("bob:secret")
	read := func(c *client.Client) error { _, _, err := c.Get(e.ctx, "/secret"); return err }

	early, _ := e.client(client.Auth("digest", bob))
	e.must(read(early))

	late, tp := e.client()
	e.fails("without credentials", read(late), client.ErrNoAuth)
	e.must(late.AddAuth(e.ctx, "digest", bob))
	e.must(read(late))
	e.blink(late, tp)
	e.must(read(late))

	apart, tp := e.client()
	w := e.follow(apart)
	tp.part()
	w.until(client.StateDisconnected)
	e.must(apart.AddAuth(e.ctx, "digest", bob))
	tp.refuse(false)
	e.must(read(apart))
	equal(e, "auth requests of a second connection with one credential",
		len(tp.frames(all(sent(proto.OpAuth), onConn(2)))) >= 1, true)
}

func wireOrder(e *env) {
	c, tp := e.client(client.Auth("digest", []byte("a:b")), client.Auth("digest", []byte("c:d")))
	e.reconnectOrder(c, tp, proto.OpAuth, proto.OpAuth, proto.OpSetWatches, proto.OpExists)
}

// reconnectOrder breaks the connection of a client with a watch and a queued request, and checks what the next one begins with.
func (e *env) reconnectOrder(c *client.Client, tp *tap, want ...proto.Op) {
	e.Helper()
	w := e.follow(c)
	_, watch, err := c.GetWatch(e.ctx, "/")
	e.must(err)
	defer watch.Close()
	tp.part()
	w.until(client.StateDisconnected)
	queued := e.spawn(func() error { _, _, err := c.Exists(e.ctx, "/"); return err })
	tp.refuse(false)
	e.must(e.result(queued))
	_, conns := tp.counts()
	var got []proto.Op
	for _, f := range tp.frames(all(anySent, onConn(conns))) {
		got = append(got, f.op)
	}
	equal(e, "order on the wire", got, want)
}

func authRefused(e *env) {
	c, tp := e.client()
	w := e.follow(c)
	_, watch, err := c.GetWatch(e.ctx, "/")
	e.must(err)
	e.fails("AddAuth", c.AddAuth(e.ctx, "nosuch", []byte("x")), client.ErrAuthFailed)
	e.fails("end", w.until(client.StateAuthFailed).Err, client.ErrAuthFailed)
	for range 3 {
		_, _, err := c.Get(e.ctx, "/")
		e.fails("get", err, client.ErrAuthFailed)
		e.outcome(err, client.OutcomeNotSent, false)
	}
	e.fails("watch", e.event(watch).Err, client.ErrAuthFailed)
	for {
		change, more := w.next()
		if !more {
			break
		}
		e.Errorf("a state behind the last one: %v", change)
	}
	dials, _ := tp.counts()
	equal(e, "dials", dials, 1)
	equal(e, "times the state was told", w.count(client.StateAuthFailed), 1)
	_ = c.Close() // what it returns after this is told elsewhere

	never, err := client.Connect(e.ctx, e.tg.Addr+e.root, e.options(e.tap(), []client.Option{client.Auth("nosuch", nil)})...)
	e.fails("connect", err, client.ErrAuthFailed)
	equal(e, "a client", never == nil, true)
}

func authAnswers(e *env) {
	for _, tc := range []struct {
		what, scheme string
		auth         []byte
		want         proto.Code
	}{
		{"digest", "digest", []byte("bob:secret"), 0},
		{"digest without a colon", "digest", []byte("bob"), 0},
		{"empty digest", "digest", []byte{}, 0},
		{"digest with null", "digest", nil, proto.ErrAuthFailed},
		{"ip", "ip", []byte("x"), 0},
		{"world", "world", []byte("anyone"), proto.ErrAuthFailed},
		{"auth", "auth", []byte("x"), proto.ErrAuthFailed},
		{"unknown", "nosuch", []byte("x"), proto.ErrAuthFailed},
		{"x509 on a plain connection", "x509", []byte("x"), proto.ErrAuthFailed},
		{"sasl", "sasl", []byte("x"), proto.ErrAuthFailed},
	} {
		r := e.raw()
		rep := r.do(proto.OpAuth, &proto.AuthPacket{Scheme: tc.scheme, Auth: tc.auth})
		equal(e, tc.what, rep.code, tc.want)
		equal(e, tc.what+": zxid", rep.zxid, 0)
		if rep.code == 0 {
			continue
		}
		r.gone()
		e.forget(r)
	}
}

func authOvertakes(e *env) {
	r := e.raw()
	var batch []byte
	for xid := range int32(5) {
		batch = append(batch, requestFrame(xid+1, proto.OpCreate, newNode(e.path("/s-"), "", proto.ModePersistentSequential))...)
	}
	batch = append(batch, requestFrame(proto.XidAuth, proto.OpAuth, &proto.AuthPacket{Scheme: "digest", Auth: []byte("a:b")})...)
	batch = append(batch, requestFrame(6, proto.OpExists, &proto.ExistsRequest{Path: e.root})...)
	r.write(batch)
	next := int32(1)
	for range 7 {
		switch rep := r.recv(); rep.xid {
		case proto.XidAuth:
		case next:
			next++
		default:
			e.Fatalf("reply %d, want %d or the auth's", rep.xid, next)
		}
	}
	equal(e, "replies in order", next, 7)
}
