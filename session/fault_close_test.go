package session

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/memnet"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/proto"
)

// closing is a Keeper that is about to be closed.
type closing struct {
	k       *Keeper
	wires   []*wire       // what the server has of it
	takes   time.Duration // how long Close takes
	err     error         // what it returns
	state   State         // where the Keeper stands afterwards; StateClosed if zero
	waiting []*Group      // calls that are under way
	outcome Outcome       // and how they end
}

// C140, C142, C143, F55, F56, F58: Close in each state returns within its bound and leaves nothing behind. That no goroutine is left,
// synctest asserts.
func TestCloseInEachState(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T) closing{
		"never connected":          closeNeverConnected,
		"resolving":                closeResolving,
		"dialing":                  closeDialing,
		"TLS handshake":            closeTLS,
		"handshaking":              closeHandshaking,
		"connected":                closeConnected,
		"connected, no answer":     closeUnanswered,
		"requests in flight":       closeInFlight,
		"writer blocked":           closeBlocked,
		"disconnected":             closeDisconnected,
		"handshaking once more":    closeReattaching,
		"back-off":                 closeBackoff,
		"expired":                  closeExpired,
		"expired, next connecting": closeNextGeneration,
		"authentication failed":    closeAuthFailed,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := prepare(t)
				synctest.Wait()
				began := time.Now()
				err := c.k.Close()
				assert.Equal(t, c.takes, time.Since(began))
				assert.Equal(t, c.err, err)
				assert.Equal(t, err, c.k.Close(), "once more")
				c.check(t)
			})
		})
	}
}

// check looks at what is left.
func (c *closing) check(t *testing.T) {
	<-c.k.Done()
	if c.state == 0 {
		c.state = StateClosed
	}
	assert.Equal(t, c.state, c.k.State().State)
	<-c.k.Current().Ended()
	for _, g := range c.waiting {
		o, err := finished(g)
		assert.Equal(t, c.outcome, o)
		if o != Replied {
			assert.ErrorIs(t, err, ErrClosed)
		}
	}
	_, err := c.k.Do(t.Context(), setData("/late"))
	assert.ErrorIs(t, err, net.ErrClosed)
	for _, w := range c.wires {
		assert.Error(t, drain(w), "the socket is closed")
	}
	changes := 0
	for range c.k.Changes(t.Context()) {
		changes++
	}
	assert.Equal(t, 1, changes, "the last state, and the end")
	pass(24 * time.Hour) // what is left of timers has the time to do harm
	assert.Equal(t, c.state, c.k.State().State)
}

// unconnected is a Keeper whose dialer or resolver is the test's.
func unconnected(t *testing.T, edit func(*Config)) closing {
	s := newScript(t)
	cfg := s.config()
	edit(&cfg)
	c := closing{k: open(t, cfg), waiting: []*Group{setData("/a")}, outcome: NotSent}
	submit(t, c.k, c.waiting...)
	return c
}

func closeNeverConnected(t *testing.T) closing {
	return unconnected(t, func(c *Config) {
		c.Env.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errRefused }
	})
}

func closeResolving(t *testing.T) closing {
	return unconnected(t, func(c *Config) {
		c.Env.Resolve = func(ctx context.Context, _ string) ([]string, error) { <-ctx.Done(); return nil, ctx.Err() }
	})
}

func closeDialing(t *testing.T) closing {
	return unconnected(t, func(c *Config) {
		c.Env.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
	})
}

func closeTLS(t *testing.T) closing {
	return unconnected(t, func(c *Config) { c.TLS = &tls.Config{} })
}

func closeHandshaking(t *testing.T) closing {
	s := newScript(t)
	c := closing{k: open(t, s.config()), waiting: []*Group{setData("/a")}, outcome: NotSent}
	submit(t, c.k, c.waiting...)
	c.wires = []*wire{s.pick()}
	c.wires[0].hello()
	return c
}

func closeConnected(t *testing.T) closing {
	_, k, w := startWire(t, nil)
	go w.goodbye()
	return closing{k: k, wires: []*wire{w}}
}

func closeUnanswered(t *testing.T) closing {
	_, k, w := startWire(t, nil)
	return closing{k: k, wires: []*wire{w}, takes: DefaultCloseBound, err: ErrCloseUnconfirmed}
}

func closeInFlight(t *testing.T) closing {
	_, k, w := startWire(t, nil)
	c := closing{k: k, wires: []*wire{w}, waiting: []*Group{setData("/a"), setData("/b")}, outcome: Replied}
	submit(t, k, c.waiting...)
	synctest.Wait()
	go func() { // a server that is slow, and answers in order as servers do
		asked := []got{w.expect(proto.OpSetData), w.expect(proto.OpSetData), w.expect(proto.OpCloseSession)}
		for _, g := range asked {
			w.reply(g, 1, 0, stat)
		}
	}()
	return c
}

func closeBlocked(t *testing.T) closing {
	_, k, w := startOn(t, memnet.ListenBounded(100), nil)
	c := closing{k: k, wires: []*wire{w}, takes: DefaultCloseBound, err: ErrCloseUnconfirmed, outcome: Unknown}
	c.waiting = []*Group{large("/a", 5000)}
	submit(t, k, c.waiting...)
	return c
}

// disconnected is a Keeper that has a session, and no server since time passed.
func disconnected(t *testing.T, edit func(*Config)) (*script, closing) {
	s, k, w := startWire(t, edit)
	use(t, k, w)
	_ = s.ln.Close()
	_ = w.nc.Close()
	synctest.Wait()
	c := closing{k: k, wires: []*wire{w}, err: ErrCloseUnconfirmed, waiting: []*Group{setData("/a")}, outcome: NotSent}
	submit(t, k, c.waiting...)
	return s, c
}

func closeDisconnected(t *testing.T) closing {
	_, c := disconnected(t, nil)
	return c
}

func closeBackoff(t *testing.T) closing {
	_, c := disconnected(t, nil)
	pass(testTimeout / 2)
	assert.Equal(t, StateDisconnected, c.k.State().State)
	return c
}

func closeReattaching(t *testing.T) closing {
	s, k, w := startWire(t, nil)
	use(t, k, w)
	_ = w.nc.Close()
	again := s.pick()
	again.hello()
	return closing{k: k, wires: []*wire{w, again}, err: ErrCloseUnconfirmed}
}

func closeExpired(t *testing.T) closing {
	s, k, w := startWire(t, func(c *Config) { c.FinalExpiry = true })
	use(t, k, w)
	_ = w.nc.Close()
	s.serve(0, 0)
	<-k.Done()
	return closing{k: k, wires: []*wire{w}, state: StateExpired}
}

func closeNextGeneration(t *testing.T) closing {
	_, c := disconnected(t, nil)
	c.waiting = nil
	pass(testTimeout)
	require.Equal(t, StateConnecting, c.k.State().State)
	require.Equal(t, uint64(2), c.k.State().Generation)
	c.err = nil
	return c
}

func closeAuthFailed(t *testing.T) closing {
	_, k, w := startWire(t, func(c *Config) { c.Credentials = []Credential{{"x", Secret("y")}} })
	w.reply(w.expect(proto.OpAuth), 0, proto.ErrAuthFailed, nil)
	<-k.Done()
	return closing{k: k, wires: []*wire{w}, state: StateAuthFailed}
}

// C144, F54: any number of callers, one of them out of the stream of states, have the same result at the same time.
func TestCloseConcurrently(t *testing.T) {
	for name, answered := range map[string]bool{"answered": true, "not answered": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, k, w := startWire(t, nil)
				if answered {
					go w.goodbye()
				}
				results := make([]error, 50)
				var wg sync.WaitGroup
				wg.Go(func() {
					for c := range k.Changes(t.Context()) {
						if c.State == StateConnected {
							results[0] = k.Close()
						}
					}
				})
				for i := range results[1:] {
					wg.Go(func() { results[i+1] = k.Close() })
				}
				wg.Wait()
				var want error
				if !answered {
					want = ErrCloseUnconfirmed
				}
				for _, err := range results {
					assert.Equal(t, want, err)
				}
				assert.Error(t, drain(w))
				assert.Equal(t, StateClosed, k.State().State)
			})
		})
	}
}
