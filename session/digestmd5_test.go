package session

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
)

// The vector of docs/protocol.md section 13.3, which was taken from an exchange with a server.
const (
	vectorNonce     = "DxUOKgKfkWuaGoOSqzHsLLHS0k6uT4UuoYE91z2G"
	vectorCnonce    = "0123456789abcdef"
	vectorResponse  = "bc86a7fbf57b191c98e849e9b7e080b0"
	vectorRspauth   = "rspauth=ba28e5167216340205db6902e60f9708"
	vectorChallenge = `realm="zk-sasl-md5",nonce="` + vectorNonce + `",charset=utf-8,algorithm=md5-sess`
)

// vectorMechanism is that of the vector.
func vectorMechanism() Mechanism {
	id := digestIdentity{"bob", Secret("bobsecret"), func() string { return vectorCnonce }}
	return digestMD5{func() digestIdentity { return id }}
}

// begun returns an exchange that waits for the challenge.
func begun(t *testing.T, m Mechanism) Exchange {
	t.Helper()
	x, err := m.Start(t.Context(), "one:2181")
	require.NoError(t, err)
	token, done, err := x.Next(t.Context(), nil)
	require.NoError(t, err)
	assert.False(t, done)
	assert.True(t, token != nil && len(token) == 0, "the first token is empty, and not null")
	return x
}

func TestDigestMD5Vector(t *testing.T) { // C132
	x := begun(t, vectorMechanism())
	token, done, err := x.Next(t.Context(), []byte(vectorChallenge))
	require.NoError(t, err)
	assert.False(t, done)
	assert.Equal(t, `charset=utf-8,username="bob",realm="zk-sasl-md5",nonce="`+vectorNonce+`",nc=00000001,cnonce="`+vectorCnonce+
		`",digest-uri="zookeeper/zk-sasl-md5",maxbuf=65536,response=`+vectorResponse+`,qop=auth`, string(token))
	token, done, err = x.Next(t.Context(), []byte(vectorRspauth))
	require.NoError(t, err)
	assert.True(t, done && token == nil, "nothing is left to be sent")
}

func TestDigestMD5DistrustsTheServer(t *testing.T) { // C132
	for name, proof := range map[string]string{
		"of another password": "rspauth=ba28e5167216340205db6902e60f9709",
		"shorter":             vectorRspauth[:len(vectorRspauth)-1],
		"in capitals":         strings.ToUpper(vectorRspauth),
		"the client's own":    "rspauth=" + vectorResponse,
		"twice":               vectorRspauth + "," + vectorRspauth,
		"none":                "",
		"malformed":           `rspauth="`,
		"the challenge again": vectorChallenge,
	} {
		t.Run(name, func(t *testing.T) {
			x := begun(t, vectorMechanism())
			_, _, err := x.Next(t.Context(), []byte(vectorChallenge))
			require.NoError(t, err)
			_, done, err := x.Next(t.Context(), []byte(proof))
			assert.False(t, done)
			refusedDigest(t, err)
		})
	}
}

// refusedDigest asserts that an exchange has failed for good.
func refusedDigest(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	_, ok := err.(*DigestError)
	assert.True(t, ok, "typed")
	assert.ErrorIs(t, err, ErrAuthFailed)
}

func TestDigestMD5Challenges(t *testing.T) {
	const nonce, algorithm = `nonce="n"`, `,algorithm=md5-sess`
	for _, tc := range []struct {
		challenge string
		want      string // part of the answer; "" if the challenge is refused
	}{
		{`realm="r",nonce="n",algorithm=md5-sess`, `realm="r",nonce="n",nc=`},
		{`realm="r",nonce="n",qop="auth",algorithm=md5-sess`, `,qop=auth`},
		{`realm="r",nonce="n",qop="auth-conf, auth",algorithm=md5-sess`, `,qop=auth`},
		{`realm=r , nonce = n ,,algorithm="md5-sess",`, `realm="r",nonce="n",`},
		{`REALM="r",Nonce="n",Algorithm=md5-sess`, `realm="r",nonce="n",`},
		{`realm="a\"\\b",nonce="n\n",algorithm=md5-sess`, `realm="a\"\\b",nonce="nn",`},
		{`realm="one",realm="two",nonce="n",algorithm=md5-sess,cipher="rc4",later=x`, `realm="one"`},
		{`realm="a=b,c",nonce="n",algorithm=md5-sess`, `realm="a=b,c"`},
		{``, ""},
		{nonce + algorithm, ""},
		{`realm="",` + nonce + algorithm, ""},
		{`realm="r"` + algorithm, ""},
		{`realm="r",nonce=""` + algorithm, ""},
		{`realm="r",nonce="n",nonce="m"` + algorithm, ""},
		{`realm="r",nonce="n"`, ""},
		{`realm="r",nonce="n",algorithm=md5`, ""},
		{`realm="r",nonce="n",qop="auth-int,auth-conf",algorithm=md5-sess`, ""},
		{`realm="r",nonce="n",qop="",algorithm=md5-sess`, ""},
		{`realm="r,nonce="n",algorithm=md5-sess`, ""},
		{`realm="r"x,nonce="n",algorithm=md5-sess`, ""},
		{`realm="r",nonce="n",algorithm=md5-sess,stale`, ""},
		{`realm="r",nonce="n",algorithm=md5-sess,=x`, ""},
		{`realm="r",nonce="n",algorithm=md5-sess,x="\`, ""},
		{`realm="r",nonce="n",algorithm=md5-sess,x=a"b`, ""},
		{"rspauth=" + vectorResponse, ""},
		{"\x00\xff", ""},
	} {
		t.Run(tc.challenge, func(t *testing.T) {
			x := begun(t, vectorMechanism())
			token, done, err := x.Next(t.Context(), []byte(tc.challenge))
			assert.False(t, done)
			if tc.want == "" {
				refusedDigest(t, err)
				assert.True(t, token == nil, "no response to a challenge that is refused")
				return
			}
			require.NoError(t, err)
			assert.True(t, strings.Contains(string(token), tc.want), string(token))
		})
	}
}

func TestDigestMD5RefusesWhatCannotBeSent(t *testing.T) {
	for _, who := range [][2]string{{"", "x"}, {"b\xc3\xb6b", "x"}, {"bob", "s\xc3\xa9cret"}, {"b\nb", "x"}, {"bob", "\x7f"}} {
		x, err := DigestMD5(who[0], []byte(who[1])).Start(t.Context(), "one:2181")
		assert.True(t, x == nil, "no exchange")
		refusedDigest(t, err)
		assert.False(t, who[1] != "x" && strings.Contains(err.Error(), who[1]), "the error hides the password")
	}
}

func TestDigestMD5IsNewEachTime(t *testing.T) {
	password := []byte("secret")
	m := DigestMD5("app", password)
	clear(password) // the mechanism has a copy
	assert.Equal(t, "secret", string(m.(digestMD5).identity().password))
	var tokens [2]string
	for i := range tokens {
		token, _, err := begun(t, m).Next(t.Context(), []byte(vectorChallenge))
		require.NoError(t, err)
		tokens[i] = string(token)
	}
	assert.True(t, tokens[0] != tokens[1], "another nonce of the client")
}

func TestDigestMD5HidesThePassword(t *testing.T) {
	m := DigestMD5("bob", []byte("bobsecret"))
	x := begun(t, m)
	cfg := Config{SASL: m}
	bytes := fmt.Sprint([]byte("bobsecret"))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, v := range []any{m, x, cfg, &cfg, []any{m, x}, struct{ m Mechanism }{m}} {
			text := fmt.Sprintf(verb, v)
			for _, secret := range []string{"bobsecret", fmt.Sprintf("%x", "bobsecret"), strings.Trim(bytes, "[]")} {
				assert.False(t, strings.Contains(text, secret), verb+": "+text)
			}
		}
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "mechanism", m, "exchange", x)
	assert.False(t, strings.Contains(log.String(), "bobsecret"), log.String())
}

func FuzzDirectives(f *testing.F) {
	for _, seed := range []string{vectorChallenge, vectorRspauth, `a="\"\\",,b = c`, `a="`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, token []byte) {
		d, ok := parseDirectives(token)
		if !ok {
			return
		}
		var text strings.Builder // what was understood, written again, is understood in the same way
		for _, it := range d {
			text.WriteString(it.key + `="` + quoted(it.value) + `",`)
		}
		again, ok := parseDirectives([]byte(text.String()))
		require.True(t, ok)
		assert.Equal(t, d, again)
	})
}
