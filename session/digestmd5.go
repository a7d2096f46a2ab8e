package session

import (
	"context"
	"crypto/md5"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/lockkeeper/lockkeeper/proto"
)

// What DIGEST-MD5 on ZooKeeper always says (docs/protocol.md section 13.3).
const (
	digestURI   = "zookeeper/zk-sasl-md5"
	digestCount = "00000001" // of the uses of the server's nonce: each exchange has a new one
)

// digestMD5 is the mechanism DIGEST-MD5. What it knows stands behind a function, since no verb of package fmt can print that:
// some of them follow pointers and pass by the methods of what is found there.
type digestMD5 struct{ identity func() digestIdentity }

type digestIdentity struct {
	user     string
	password Secret
	cnonce   func() string // a new random text for each exchange
}

// DigestMD5 authenticates with a user and a password that a server finds in the JAAS section of DigestLoginModule, and makes
// sure that the server knows the password too. The password itself is not sent; but who reads an exchange can try passwords
// at leisure, and everything after it is plain: use it over TLS. password is copied. user and password must be ASCII: for other
// characters implementations differ, and an exchange with them fails with a *DigestError before anything of them is sent.
//
// A server in FIPS mode refuses DIGEST-MD5 as it refuses a wrong password. From 3.9 on that mode is the default, and 3.8.6,
// 3.9.4 and later do refuse: they need zookeeper.fips-mode=false.
func DigestMD5(user string, password []byte) Mechanism {
	id := digestIdentity{user: user, password: slices.Clone(password), cnonce: rand.Text}
	return digestMD5{func() digestIdentity { return id }}
}

// String names the mechanism and hides the password.
func (m digestMD5) String() string { return "DIGEST-MD5" }

// GoString names the mechanism and hides the password.
func (m digestMD5) GoString() string { return m.String() }

// DigestError says why an exchange by DIGEST-MD5 cannot succeed: user or password cannot be sent, or the server's token is not
// what RFC 2831 asks for, or not by somebody who knows the password. It is final, and matches ErrAuthFailed.
type DigestError struct{ Reason string }

func (e *DigestError) Error() string { return "DIGEST-MD5: " + e.Reason }

// Is makes every DigestError match ErrAuthFailed.
func (e *DigestError) Is(target error) bool {
	return target == ErrAuthFailed || target == error(proto.ErrAuthFailed)
}

// Start implements Mechanism.
func (m digestMD5) Start(context.Context, string) (Exchange, error) {
	id := m.identity()
	switch {
	case id.user == "" || !printable(id.user):
		return nil, &DigestError{"user is empty or not printable ASCII"}
	case !printable(string(id.password)):
		return nil, &DigestError{"password is not printable ASCII"}
	case !haveMD5():
		return nil, &DigestError{"this program runs in a FIPS mode without MD5"}
	}
	return &digestExchange{identity: m.identity}, nil
}

// printable reports whether s consists of printable ASCII characters.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// haveMD5 reports whether package md5 works: with GODEBUG=fips140=only it panics.
func haveMD5() (ok bool) {
	defer func() { ok = recover() == nil }()
	md5.Sum(nil)
	return
}

// digestExchange is the exchange of one connection.
type digestExchange struct {
	identity func() digestIdentity
	rspauth  string // what the server has to answer; "" before the challenge
	begun    bool
}

// Next implements Exchange: an empty token, the response to the challenge, and the check of the server's proof.
func (x *digestExchange) Next(_ context.Context, challenge []byte) (token []byte, done bool, err error) {
	switch {
	case !x.begun:
		x.begun = true
		return []byte{}, false, nil
	case x.rspauth == "":
		token, err = x.respond(challenge)
		return token, false, err
	}
	d, ok := parseDirectives(challenge)
	if !ok || subtle.ConstantTimeCompare([]byte(d.one("rspauth")), []byte(x.rspauth)) != 1 {
		return nil, false, &DigestError{"the server does not prove that it knows the password"}
	}
	return nil, true, nil
}

// respond answers the challenge.
func (x *digestExchange) respond(challenge []byte) ([]byte, error) {
	d, ok := parseDirectives(challenge)
	if !ok {
		return nil, &DigestError{"challenge is malformed"}
	}
	realm, nonce := d.first("realm"), d.one("nonce")
	switch {
	case realm == "":
		return nil, &DigestError{"challenge has no realm"}
	case nonce == "":
		return nil, &DigestError{"challenge has no nonce, or more than one"}
	case d.one("algorithm") != "md5-sess":
		return nil, &DigestError{"challenge does not have the algorithm md5-sess"}
	case !d.offers("auth"):
		return nil, &DigestError{"server does not offer authentication without a security layer"}
	}
	id := x.identity()
	cnonce := id.cnonce()
	response, rspauth := digestProofs(id.user, realm, id.password, nonce, cnonce)
	x.rspauth = rspauth
	return []byte(`charset=utf-8,username="` + quoted(id.user) + `",realm="` + quoted(realm) + `",nonce="` + quoted(nonce) +
		`",nc=` + digestCount + `,cnonce="` + cnonce + `",digest-uri="` + digestURI + `",maxbuf=65536,response=` + response +
		`,qop=auth`), nil
}

// digestProofs computes what the client, and then the server, has to say (RFC 2831 section 2.1.2.1).
func digestProofs(user, realm string, password Secret, nonce, cnonce string) (response, rspauth string) {
	b := append([]byte(user+":"+realm+":"), password...)
	inner := md5.Sum(b)
	clear(b)
	a1 := hexMD5(string(inner[:]) + ":" + nonce + ":" + cnonce)
	proof := func(a2 string) string {
		return hexMD5(a1 + ":" + nonce + ":" + digestCount + ":" + cnonce + ":auth:" + hexMD5(a2))
	}
	return proof("AUTHENTICATE:" + digestURI), proof(":" + digestURI)
}

func hexMD5(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// quoted escapes what stands between quotes.
func quoted(s string) string { return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) }

// directive is one key with its value, quotes and escapes removed.
type directive struct{ key, value string }

type directives []directive

// one returns the value of a key that must stand there once; "" if it does not.
func (d directives) one(key string) string {
	value, n := "", 0
	for _, it := range d {
		if it.key == key {
			value = it.value
			n++
		}
	}
	if n != 1 {
		return ""
	}
	return value
}

// first returns the value of a key that may stand there several times.
func (d directives) first(key string) string {
	i := slices.IndexFunc(d, func(it directive) bool { return it.key == key })
	if i < 0 {
		return ""
	}
	return d[i].value
}

// offers reports whether the server offers a quality of protection; one that names none offers auth.
func (d directives) offers(qop string) bool {
	named := false
	for _, it := range d {
		if it.key != "qop" {
			continue
		}
		named = true
		for word := range strings.SplitSeq(it.value, ",") {
			if strings.Trim(word, space) == qop {
				return true
			}
		}
	}
	return !named && qop == "auth"
}

const space = " \t\r\n"

// parseDirectives reads a list of key=value and key="value", with commas between them; empty elements are allowed. Keys come
// out in lower case.
func parseDirectives(token []byte) (d directives, ok bool) {
	rest := string(token)
	for {
		rest = strings.TrimLeft(rest, space+",")
		if rest == "" {
			return d, true
		}
		key, value, found := strings.Cut(rest, "=")
		key, value = strings.TrimRight(key, space), strings.TrimLeft(value, space)
		if !found || key == "" || strings.ContainsAny(key, space+`,"`) {
			return nil, false
		}
		if value, rest, ok = cutValue(value); !ok {
			return nil, false
		}
		d = append(d, directive{strings.ToLower(key), value})
		if rest = strings.TrimLeft(rest, space); rest != "" && rest[0] != ',' {
			return nil, false
		}
	}
}

// cutValue cuts off a value and takes off its quotes and escapes.
func cutValue(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, space+",")
		if end < 0 {
			end = len(s)
		}
		return s[:end], s[end:], !strings.Contains(s[:end], `"`)
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], true
		case '\\':
			if i++; i == len(s) {
				return "", "", false
			}
		}
		b.WriteByte(s[i])
	}
	return "", "", false
}
