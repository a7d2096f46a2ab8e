package zktest_test

import (
	"crypto/md5"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// token sends a token and returns the code of the answer and the token in it.
func (w *wire) token(token []byte) (proto.Code, []byte) {
	w.t.Helper()
	rep := w.do(proto.OpSASL, &proto.GetSASLRequest{Token: token})
	require.Zero(w.t, rep.Zxid)
	var res proto.SetSASLResponse
	decode(w.t, rep, &res)
	return rep.Err, res.Token
}

// challenge begins an exchange and returns the nonce.
func (w *wire) challenge() string {
	w.t.Helper()
	code, token := w.token([]byte{})
	require.Equal(w.t, proto.Code(0), code)
	nonce, ok := strings.CutPrefix(string(token), `realm="zk-sasl-md5",nonce="`)
	require.True(w.t, ok, "%s", token)
	nonce, ok = strings.CutSuffix(nonce, `",charset=utf-8,algorithm=md5-sess`)
	require.True(w.t, ok, "%s", token)
	require.NotEmpty(w.t, nonce)
	return nonce
}

func sum(s string) string {
	h := md5.Sum([]byte(s))
	return string(h[:])
}

// proofs computes what both sides have to say, from the definition.
func proofs(user, password, nonce string) (response, rspauth string) {
	a1 := hex.EncodeToString([]byte(sum(sum(user+":zk-sasl-md5:"+password) + ":" + nonce + ":c")))
	say := func(a2 string) string {
		return hex.EncodeToString([]byte(sum(a1 + ":" + nonce + ":00000001:c:auth:" + hex.EncodeToString([]byte(sum(a2))))))
	}
	return say("AUTHENTICATE:zookeeper/zk-sasl-md5"), say(":zookeeper/zk-sasl-md5")
}

// respond is the client's answer to a challenge.
func respond(user, password, nonce string) []byte {
	response, _ := proofs(user, password, nonce)
	return []byte(`username="` + user + `",realm="zk-sasl-md5",nonce="` + nonce +
		`",nc=00000001,cnonce="c",digest-uri="zookeeper/zk-sasl-md5",response=` + response + `,qop=auth`)
}

// login authenticates.
func (w *wire) login(user, password string) {
	w.t.Helper()
	nonce := w.challenge()
	code, token := w.token(respond(user, password, nonce))
	_, rspauth := proofs(user, password, nonce)
	require.Equal(w.t, proto.Code(0), code)
	require.Equal(w.t, "rspauth="+rspauth, string(token))
}

func (w *wire) identities() []proto.ClientInfo {
	w.t.Helper()
	var rep proto.WhoAmIResponse
	w.ok(proto.OpWhoAmI, none{}, &rep)
	return rep.ClientInfo
}

func TestSASL(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		secret := []proto.ACL{{Perms: proto.PermAll, ID: proto.ID{Scheme: "sasl", ID: "app"}}}
		assert.Equal(t, proto.Code(0), w.code(proto.OpCreate, &proto.CreateRequest{Path: "/secret", ACL: secret}))
		read := &proto.GetDataRequest{Path: "/secret"}
		assert.Equal(t, proto.ErrNoAuth, w.code(proto.OpGetData, read))
		w.login("app", "secret")
		assert.Contains(t, w.identities(), proto.ClientInfo{AuthScheme: "sasl", User: "app"})
		assert.Equal(t, proto.Code(0), w.code(proto.OpGetData, read))
		code, token := w.token([]byte{})
		assert.Equal(t, proto.ErrAuthFailed, code, "a further token")
		assert.Nil(t, token)
		w.closed()

		other := open(t, srv)
		other.login("other", `w"o\rd`)
		assert.Equal(t, proto.ErrNoAuth, other.code(proto.OpGetData, read))
		assert.Equal(t, proto.Code(0), other.code(proto.OpExists, &proto.ExistsRequest{Path: "/secret"}), "it goes on without EnforceSASL")
	}, zktest.SASL("app", "secret"), zktest.SASL("other", `w"o\rd`))
}

func TestSASLResponsesThatAreWrong(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		for name, change := range map[string]func(nonce string) []byte{
			"password":       func(nonce string) []byte { return respond("app", "Secret", nonce) },
			"user":           func(nonce string) []byte { return respond("nobody", "secret", nonce) },
			"nonce":          func(nonce string) []byte { return respond("app", "secret", nonce+"x") },
			"nothing":        func(string) []byte { return []byte{} },
			"nonsense":       func(string) []byte { return []byte(`"="=,\`) },
			"user twice":     func(nonce string) []byte { return append(respond("app", "secret", nonce), `,username="app"`...) },
			"unfinished":     func(nonce string) []byte { return append(respond("app", "secret", nonce), `,username="\`...) },
			"another uri":    replace("zookeeper/zk", "zookeeper/other"),
			"another realm":  replace(`realm="zk`, `realm="x`),
			"another count":  replace("00000001", "00000002"),
			"another layer":  replace("qop=auth", "qop=auth-conf"),
			"without cnonce": replace(`cnonce="c"`, `cnonce=""`),
		} {
			w := open(t, srv)
			code, token := w.token(change(w.challenge()))
			assert.Equal(t, proto.ErrAuthFailed, code, name)
			assert.Nil(t, token, name)
			w.closed()
		}
		w := open(t, srv)
		w.send(proto.OpSASL, &proto.GetSASLRequest{})
		w.closed() // a null token
	}, zktest.SASL("app", "secret"))
}

// replace returns a right response with something wrong in it.
func replace(old, changed string) func(nonce string) []byte {
	return func(nonce string) []byte {
		return []byte(strings.Replace(string(respond("app", "secret", nonce)), old, changed, 1))
	}
}

func TestEnforceSASL(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		for _, op := range []proto.Op{proto.OpExists, proto.OpPing, proto.OpCloseSession} {
			w := open(t, srv)
			assert.Equal(t, proto.Code(0), w.code(proto.OpAuth, &proto.AuthPacket{Scheme: "digest", Auth: []byte("a:b")}))
			rep := w.do(op, &proto.ExistsRequest{Path: "/"})
			assert.Equal(t, proto.ErrSessionClosedRequireSASL, rep.Err)
			assert.Zero(t, rep.Zxid)
			w.closed()
		}
		w := open(t, srv)
		code, _ := w.token(respond("app", "wrong", w.challenge()))
		assert.Equal(t, proto.ErrSessionClosedRequireSASL, code)
		w.closed()
		w = open(t, srv)
		w.login("app", "secret")
		assert.Equal(t, proto.Code(0), w.code(proto.OpExists, &proto.ExistsRequest{Path: "/"}))
	}, zktest.SASL("app", "secret"), zktest.EnforceSASL())
}

func TestSASLInAccessLists(t *testing.T) {
	set := func(w *wire, id string) proto.Code {
		acl := append(proto.WorldACL(proto.PermAdmin), proto.ACL{Perms: proto.PermAll, ID: proto.ID{Scheme: "sasl", ID: id}})
		return w.code(proto.OpSetACL, &proto.SetACLRequest{Path: "/a", ACL: acl, Version: -1})
	}
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.login("app", "secret")
		w.create("/a", proto.ModePersistent)
		for _, id := range []string{"a@b@c", "a/b/c@d", "a@b/c"} {
			assert.Equal(t, proto.ErrInvalidACL, set(w, id), id)
		}
		for _, id := range []string{"app", "a/b/c", "a/b@c", "a@b", ""} {
			assert.Equal(t, proto.Code(0), set(w, id), id)
		}
		creator := []proto.ACL{{Perms: proto.PermAll, ID: proto.ID{Scheme: "auth"}}}
		assert.Equal(t, proto.Code(0), w.code(proto.OpCreate, &proto.CreateRequest{Path: "/mine", ACL: creator}))
		var mine proto.GetACLResponse
		w.ok(proto.OpGetACL, &proto.GetACLRequest{Path: "/mine"}, &mine)
		assert.Equal(t, []proto.ACL{{Perms: proto.PermAll, ID: proto.ID{Scheme: "sasl", ID: "app"}}}, mine.ACL)
	}, zktest.SASL("app", "secret"))
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.create("/a", proto.ModePersistent)
		assert.Equal(t, proto.ErrInvalidACL, set(w, "app"), "a server without SASL does not know the scheme")
	})
}
