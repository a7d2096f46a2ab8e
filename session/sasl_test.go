package session

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// spoken is a mechanism for tests: it sends what it is told to, and keeps what it hears.
type spoken struct {
	tokens [][]byte // one per call of Next; done with the last, or behind it if the last is nil
	heard  []string
	starts []string // the servers
	start  func(context.Context) (Exchange, error)
	next   func(context.Context) error
}

func (m *spoken) Start(ctx context.Context, server string) (Exchange, error) {
	m.starts = append(m.starts, server)
	if m.start != nil {
		return m.start(ctx)
	}
	return &speech{m: m}, nil
}

type speech struct {
	m *spoken
	n int
}

func (x *speech) Next(ctx context.Context, challenge []byte) ([]byte, bool, error) {
	if challenge != nil {
		x.m.heard = append(x.m.heard, string(challenge))
	}
	if x.m.next != nil {
		if err := x.m.next(ctx); err != nil {
			return nil, false, err
		}
	}
	x.n++
	return x.m.tokens[x.n-1], x.n == len(x.m.tokens), nil
}

// withSASL is an edit of a Config.
func withSASL(m Mechanism) func(*Config) { return func(c *Config) { c.SASL = m } }

// token takes the next request, which must be a sasl request, and returns the token in it.
func (l *link) token() (got, []byte) {
	l.t.Helper()
	g := l.expect(proto.OpSASL)
	var req proto.GetSASLRequest
	r := jute.NewReader(g.body)
	req.ReadFrom(&r)
	require.NoError(l.t, r.Err())
	require.Zero(l.t, r.Remaining())
	return g, req.Token
}

// say answers a sasl request.
func (l *link) say(g got, token []byte) {
	l.reply(g, 0, 0, (&proto.SetSASLResponse{Token: token}).AppendTo(nil))
}

// exchange does the server's side of a whole exchange of the mechanism spoken.
func (l *link) exchange(tokens ...string) {
	l.t.Helper()
	for _, want := range tokens {
		g, token := l.token()
		require.Equal(l.t, want, string(token))
		l.say(g, []byte("to "+want))
	}
}

// An exchange comes before everything else, on every connection, and no request goes out before it has succeeded.
func TestSASLComesFirst(t *testing.T) { // C128, F36
	synctest.Test(t, func(t *testing.T) {
		m := &spoken{tokens: [][]byte{nil, []byte("b"), nil}}
		s, k, l := start(t, func(c *Config) {
			c.SASL = m
			c.Credentials = []Credential{{"digest", Secret("a:b")}}
		})
		g := exists("/a", &Watch{Path: "/a", Sink: NewQueue()})
		submit(t, k, g)
		first, token := l.token()
		assert.True(t, token != nil && len(token) == 0, "empty, and not null")
		synctest.Wait()
		assert.False(t, l.fc.Buffered(), "nothing goes out beside the exchange")
		assert.Equal(t, StateConnecting, k.State().State)
		l.say(first, []byte{})
		second, token := l.token()
		assert.Equal(t, "b", string(token))
		assert.True(t, first.xid != second.xid, "ordinary xids")
		l.say(second, []byte("over"))
		l.reply(l.expect(proto.OpAuth), 0, 0, nil)
		l.reply(l.expect(proto.OpExists), 1, 0, stat)
		_, err := finished(g)
		require.NoError(t, err)
		assert.Equal(t, []string{"", "over"}, m.heard)

		_ = l.fc.Close()
		l, req := s.serve(0x77, testTimeout)
		assert.Equal(t, int64(0x77), req.SessionID)
		synctest.Wait()
		assert.Equal(t, StateDisconnected, k.State().State)
		l.exchange("", "b")
		l.reply(l.expect(proto.OpAuth), 0, 0, nil)
		l.expect(proto.OpSetWatches)
		assert.Equal(t, []string{"one:2181", "one:2181"}, m.starts)
		finishWith(k, l)
	})
}

// The last token of the client may be one that the server answers with anything: so ends GSSAPI.
func TestSASLEndsWithTheClient(t *testing.T) {
	for name, last := range map[string][]byte{"null": nil, "empty": {}, "a token": []byte("x")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &spoken{tokens: [][]byte{[]byte("ticket"), {}, []byte("no layer")}}
				_, k, l := start(t, withSASL(m))
				l.exchange("ticket", "")
				g, token := l.token()
				assert.Equal(t, "no layer", string(token))
				l.say(g, last)
				synctest.Wait()
				assert.Equal(t, StateConnected, k.State().State)
				assert.Equal(t, []string{"to ticket", "to "}, m.heard)
				finishWith(k, l)
			})
		})
	}
}

func TestSASLRefusedIsFinal(t *testing.T) { // C133, C134, F38
	own := errors.New("key table is unreadable")
	for name, tc := range map[string]struct {
		m      *spoken
		answer func(l *link)
		want   error
	}{
		"by the server": {&spoken{tokens: [][]byte{{}, nil}}, func(l *link) {
			g, _ := l.token()
			l.reply(g, 0, proto.ErrAuthFailed, (&proto.SetSASLResponse{}).AppendTo(nil))
			_ = l.fc.Close()
		}, proto.ErrAuthFailed},
		"by one that enforces it": {&spoken{tokens: [][]byte{{}, nil}}, func(l *link) {
			g, _ := l.token()
			l.reply(g, 0, proto.ErrSessionClosedRequireSASL, (&proto.SetSASLResponse{}).AppendTo(nil))
		}, proto.ErrSessionClosedRequireSASL},
		"by the last answer": {&spoken{tokens: [][]byte{{}}}, func(l *link) {
			g, _ := l.token()
			l.reply(g, 0, proto.ErrAuthFailed, nil)
		}, proto.ErrAuthFailed},
		"without SASL": {&spoken{tokens: [][]byte{{}, nil}}, func(l *link) {
			g, _ := l.token()
			l.say(g, nil)
		}, ErrNoSASL},
		"silently": {&spoken{tokens: [][]byte{{}, []byte("x"), nil}}, func(l *link) {
			l.exchange("")
			g, _ := l.token()
			l.say(g, nil)
		}, ErrNoSASL},
		"by the mechanism": {&spoken{start: func(context.Context) (Exchange, error) {
			return nil, errors.Join(own, proto.ErrAuthFailed)
		}}, func(*link) {}, own},
		"by its exchange": {&spoken{tokens: [][]byte{{}}, next: func(context.Context) error {
			return errors.Join(own, ErrAuthFailed)
		}}, func(*link) {}, own},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, k, l := start(t, withSASL(tc.m))
				g := setData("/a")
				err := k.Current().Submit(t.Context(), g)
				if err == nil { // else it is over already
					tc.answer(l)
					_, err = finished(g)
				}
				o, _ := g.Result(0)
				assert.Equal(t, NotSent, o)
				terminal(t, s, k, err, tc.want)
			})
		})
	}
}

func TestSASLOptional(t *testing.T) { // C133
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, func(c *Config) {
			c.SASL, c.SASLOptional = &spoken{tokens: [][]byte{{}, []byte("x"), nil}}, true
		})
		g, _ := l.token()
		l.say(g, nil)
		synctest.Wait()
		assert.Equal(t, StateConnected, k.State().State)

		// Who has begun and is then left without an answer has been refused.
		_ = l.fc.Close()
		l, _ = s.serve(0x77, testTimeout)
		l.exchange("")
		g, _ = l.token()
		l.say(g, nil)
		<-k.Done()
		assert.ErrorIs(t, k.State().Err, ErrNoSASL)
	})
}

// What says nothing about the credentials costs an attempt, and no more.
func TestSASLAttemptsThatFail(t *testing.T) {
	first := func(reply func(l *link, g got)) func(l *link) {
		return func(l *link) {
			g, _ := l.token()
			reply(l, g)
		}
	}
	trouble := errors.New("no ticket now")
	var decode *jute.DecodeError
	var protocol *ProtocolError
	var tooLarge *conn.TooLargeError
	var tooLong *TokenError
	for name, tc := range map[string]struct {
		m      spoken
		answer func(l *link)
		is     error
		as     any
	}{
		"closed":        {answer: first(func(l *link, _ got) { _ = l.fc.Close() }), is: io.EOF},
		"silence":       {answer: first(func(*link, got) {}), is: context.DeadlineExceeded},
		"another code":  {answer: first(func(l *link, g got) { l.reply(g, 0, proto.ErrMarshalling, nil) }), is: proto.ErrMarshalling},
		"no body":       {answer: first(func(l *link, g got) { l.reply(g, 0, 0, nil) }), as: &decode},
		"another xid":   {answer: first(func(l *link, g got) { g.xid++; l.say(g, []byte{}) }), as: &protocol},
		"event":         {answer: first(func(l *link, _ got) { l.write(event(proto.EventNodeCreated, "/a")) }), as: &protocol},
		"long token":    {answer: first(func(l *link, g got) { l.say(g, make([]byte, MaxSASLToken+1)) }), as: &protocol},
		"long frame":    {answer: first(func(l *link, g got) { l.say(g, make([]byte, 5<<20)) }), as: &tooLarge},
		"endless":       {answer: func(l *link) { l.endless() }, is: errTooManyRounds},
		"own token":     {m: spoken{tokens: [][]byte{make([]byte, MaxSASLToken+1), nil}}, as: &tooLong},
		"no exchange":   {m: spoken{start: func(context.Context) (Exchange, error) { return nil, nil }}, is: errNoExchange},
		"no ticket":     {m: spoken{start: func(context.Context) (Exchange, error) { return nil, trouble }}, is: trouble},
		"later trouble": {m: spoken{next: func(context.Context) error { return trouble }}, is: trouble},
		"stuck": {m: spoken{start: func(ctx context.Context) (Exchange, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}, is: context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := tc.m
				if m.tokens == nil {
					m.tokens = make([][]byte, 100)
				}
				attempts := make(chan error, 100)
				s, k, l := start(t, func(c *Config) {
					c.SASL = &m
					c.Trace = &Trace{Attempt: func(_ string, _ time.Duration, err error) { attempts <- err }}
				})
				if tc.answer != nil {
					tc.answer(l)
				}
				err := <-attempts
				if tc.is != nil {
					assert.ErrorIs(t, err, tc.is)
				}
				if tc.as != nil {
					assert.ErrorAs(t, err, tc.as)
				}
				assert.NotErrorIs(t, err, ErrAuthFailed)
				_, ok := err.(*SASLError)
				assert.True(t, ok)
				assert.Equal(t, StateConnecting, k.State().State)

				m.start, m.next, m.tokens = nil, nil, [][]byte{[]byte("good"), nil} // and now it goes well
				l, _ = s.serve(0x77, testTimeout)
				l.exchange("good")
				assert.NoError(t, <-attempts)
				finishWith(k, l)
			})
		})
	}
}

// endless goes on asking for tokens, until the client has had enough.
func (l *link) endless() {
	for n := 0; ; n++ {
		g, err := l.tryRead()
		if err != nil {
			assert.Equal(l.t, maxSASLRounds, n)
			return
		}
		l.say(g, []byte("more"))
	}
}

// Close ends an exchange, whoever it waits for.
func TestCloseDuringSASL(t *testing.T) {
	waits := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, m := range map[string]*spoken{"server": {tokens: [][]byte{{}, nil}}, "mechanism": {next: waits}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, k, l := start(t, withSASL(m))
				began := time.Now()
				_ = k.Close()
				assert.Zero(t, time.Since(began))
				assert.Equal(t, StateClosed, k.State().State)
				for {
					if _, err := l.tryRead(); err != nil {
						break
					}
				}
			})
		})
	}
}

// An address whose exchange comes to nothing does not keep the others of its name from being tried.
func TestSASLGoesOnToTheNextAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t)
		cfg := s.config("zk:2181")
		var dialled []string
		dial := cfg.Env.Dial
		cfg.Env.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			dialled = append(dialled, addr)
			return dial(ctx, network, addr)
		}
		cfg.SASL = &spoken{tokens: [][]byte{{}, nil}}
		cfg.Env.Resolve = zone{"zk": {"10.0.0.1", "10.0.0.2"}}.resolve
		k := open(t, cfg)
		for range 2 {
			l, _ := s.serve(0x77, testTimeout)
			l.token()
			_ = l.fc.Close()
		}
		synctest.Wait()
		assert.Equal(t, []string{"10.0.0.1:2181", "10.0.0.2:2181"}, dialled[:2])
		_ = k.Close()
	})
}
