package zktest

import (
	"crypto/md5"
	"crypto/rand"
	"encoding/hex"
	"strings"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// What a server says and expects in DIGEST-MD5 (docs/protocol.md section 13.3).
const (
	schemeSASL = "sasl"
	saslRealm  = "zk-sasl-md5"
	saslURI    = "zookeeper/" + saslRealm
	saslCount  = "00000001" // of the uses of a nonce, of which there is one
)

// SASL makes the server authenticate by SASL with DIGEST-MD5, as one with DigestLoginModule in its JAAS file and
// SASLAuthenticationProvider among its providers, and adds a user: who knows the password gets the identity sasl with the name of
// the user, which may stand in access lists.
func SASL(user, password string) Option {
	return func(c *config) {
		users := map[string]string{user: password}
		for name, word := range c.saslUsers {
			if name != user {
				users[name] = word
			}
		}
		c.saslUsers = users
	}
}

// EnforceSASL makes the server answer -124 to every request, pings included, of a connection that has not authenticated by
// SASL, and close the connection; auth and sasl requests pass. It also answers that, in place of -115, to a wrong password. It
// is what enforce.auth.enabled with enforce.auth.schemes=sasl does.
func EnforceSASL() Option {
	return func(c *config) { c.enforceSASL = true }
}

// saslState is where the exchange of a connection stands.
type saslState struct {
	nonce string // of the challenge; "" before it
	over  bool
}

// saslLocked serves a sasl request (ZooKeeperServer.processSasl).
func (c *connection) saslLocked(xid int32, r *jute.Reader) {
	var req proto.GetSASLRequest
	req.ReadFrom(r)
	st := &c.sasl
	switch {
	case r.Err() != nil || req.Token == nil:
		c.s.closeLocked(c)
	case c.s.cfg.saslUsers == nil:
		c.tokenLocked(xid, nil) // no SASL: no error, and no token
	case st.over:
		c.saslFailedLocked(xid)
	case st.nonce == "": // whatever the first token is
		st.nonce = rand.Text()
		c.tokenLocked(xid, []byte(`realm="`+saslRealm+`",nonce="`+st.nonce+`",charset=utf-8,algorithm=md5-sess`))
	default:
		user, rspauth := c.s.cfg.saslCheck(st.nonce, req.Token)
		if rspauth == "" {
			c.saslFailedLocked(xid)
			return
		}
		st.over = true
		c.identify(proto.ID{Scheme: schemeSASL, ID: user})
		c.tokenLocked(xid, []byte("rspauth="+rspauth))
	}
}

// tokenLocked answers a sasl request; the zxid is 0, since the answer does not come from the database.
func (c *connection) tokenLocked(xid int32, token []byte) {
	c.beginLocked(xid, 0)
	c.out = jute.AppendBuffer(c.out, token)
	c.endLocked()
}

// saslFailedLocked refuses a token and closes the connection.
func (c *connection) saslFailedLocked(xid int32) {
	code := proto.ErrAuthFailed
	if c.s.cfg.enforceSASL {
		code = proto.ErrSessionClosedRequireSASL
	}
	c.beginLocked(xid, 0)
	c.setCode(code)
	c.out = jute.AppendBuffer(c.out, nil)
	c.endLocked()
	c.s.closeLocked(c)
}

// saslMissingLocked answers a request of a connection without the authentication that is enforced, and closes it.
func (c *connection) saslMissingLocked(xid int32) bool {
	if !c.s.cfg.enforceSASL || c.sasl.over {
		return false
	}
	c.replyLocked(xid, 0, proto.ErrSessionClosedRequireSASL)
	c.s.closeLocked(c)
	return true
}

// saslCheck checks a client's response to a challenge and returns its user, and what proves that the server knows the password:
// "" if the response is wrong.
func (cfg *config) saslCheck(nonce string, token []byte) (user, rspauth string) {
	d := saslDirectives(string(token))
	user = d["username"]
	password, known := cfg.saslUsers[user]
	cnonce := d["cnonce"]
	switch {
	case !known, cnonce == "", d["realm"] != saslRealm, d["nonce"] != nonce, d["nc"] != saslCount, d["digest-uri"] != saslURI,
		d["qop"] != "auth" && d["qop"] != "":
		return "", ""
	}
	secret := md5.Sum([]byte(user + ":" + saslRealm + ":" + password))
	a1 := md5Hex(string(secret[:]) + ":" + nonce + ":" + cnonce)
	proof := func(a2 string) string {
		return md5Hex(strings.Join([]string{a1, nonce, saslCount, cnonce, "auth", md5Hex(a2)}, ":"))
	}
	if d["response"] != proof("AUTHENTICATE:"+saslURI) {
		return "", ""
	}
	return user, proof(":" + saslURI)
}

func md5Hex(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// saslDirectives reads key=value and key="value" with commas between them, as far as it can. Of a key that stands there twice
// nothing is kept.
func saslDirectives(s string) map[string]string {
	d := map[string]string{}
	for s != "" {
		key, rest, _ := strings.Cut(s, "=")
		var value strings.Builder
		quoted := strings.HasPrefix(rest, `"`)
		i := 0
		if quoted {
			i = 1
		}
		for ; i < len(rest) && rest[i] != '"' && (quoted || rest[i] != ','); i++ {
			if quoted && rest[i] == '\\' && i+1 < len(rest) {
				i++
			}
			value.WriteByte(rest[i])
		}
		if _, twice := d[key]; twice {
			return nil
		}
		d[key] = value.String()
		_, s, _ = strings.Cut(rest[i:], ",")
	}
	return d
}

// validSASL reports whether an access list may have the id: the syntax of Kerberos, by which only an @ can be wrong.
func validSASL(id string) bool {
	name, realm, found := strings.Cut(id, "@")
	return !found || !strings.Contains(realm, "@") && !strings.Contains(realm, "/") && strings.Count(name, "/") <= 1
}
