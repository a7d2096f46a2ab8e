package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/proto"
)

var errRefused = errors.New("refused")

// dialing records what a Keeper dials.
type dialing struct {
	began time.Time
	addrs []string
	at    []time.Duration
}

// refuse makes a configuration's dialer refuse everything while closed is true.
func (d *dialing) refuse(c *Config, closed *atomic.Bool) {
	dial := c.Env.Dial
	d.began = time.Now()
	c.Env.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if !closed.Load() {
			return dial(ctx, network, addr)
		}
		d.addrs, d.at = append(d.addrs, addr), append(d.at, time.Since(d.began))
		return nil, errRefused
	}
}

func names(n int) (servers []string) {
	for i := range n {
		servers = append(servers, fmt.Sprintf("s%d:2181", i))
	}
	return servers
}

// C32, C79, F31, fault 22: with ten servers that refuse, each is tried once per round, and the pauses between the rounds double up to
// their cap.
func TestRoundsOfAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 10
		var d dialing
		var closed atomic.Bool
		closed.Store(true)
		s := newScript(t)
		cfg := s.config(names(n)...) // its random number is 0: no jitter
		d.refuse(&cfg, &closed)
		k := open(t, cfg)
		pass(time.Minute)
		require.NoError(t, k.Close())
		want, pause := time.Duration(0), DefaultMinBackoff/2
		rounds := 0
		for len(d.addrs) > 0 {
			assert.ElementsMatch(t, names(n), d.addrs[:n])
			for _, at := range d.at[:n] {
				assert.Equal(t, want, at)
			}
			d.addrs, d.at = d.addrs[n:], d.at[n:]
			rounds++
			want += pause
			pause = min(2*pause, DefaultMaxBackoff/2)
		}
		assert.Greater(t, rounds, 15)
		assert.Less(t, rounds, 25, "per minute")
	})
}

// C32, C67: a session without a server lasts until its own deadline, and not one attempt longer.
func TestRefusalsDoNotEndTheSessionEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d dialing
		var closed atomic.Bool
		_, k, w := startWire(t, func(c *Config) { c.FinalExpiry = true; d.refuse(c, &closed) }, names(10)...)
		closed.Store(true)
		_ = w.nc.Close()
		<-k.Done()
		assert.Equal(t, testTimeout, time.Since(d.began))
		assert.ErrorIs(t, k.Current().Err(), ErrSessionExpired)
		assert.Less(t, d.at[len(d.at)-1], testTimeout)
		assert.Greater(t, len(d.addrs), 50)
	})
}

// C68: without a server there is no session that could expire; callers get their contexts' errors.
func TestNeverConnectedNeverExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d dialing
		s := newScript(t)
		cfg := s.config(names(3)...)
		var closed atomic.Bool
		closed.Store(true)
		d.refuse(&cfg, &closed)
		k := open(t, cfg)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		g := setData("/a")
		_, err := k.Do(ctx, g)
		require.NoError(t, err)
		o, err := g.Result(0)
		assert.Equal(t, NotSent, o)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, Change{State: StateConnecting, Generation: 1}, k.State())
		var all *ServersError
		require.ErrorAs(t, k.Failures(), &all)
		assert.Len(t, all.Servers, 3)
		assert.ErrorIs(t, all, errRefused)
		closed.Store(false)
		l, _ := s.serve(1, testTimeout)
		synctest.Wait()
		assert.Equal(t, StateConnected, k.Current().State())
		assert.EqualValues(t, 1, k.Current().Generation())
		finishWith(k, l)
	})
}

// C79: the pause is random in the upper half of a bound that doubles up to its cap, and is gone once a connection was of use.
func TestPauses(t *testing.T) {
	rng := rand.New(rand.NewPCG(79, 1))
	cfg := Config{Servers: names(1), Env: Env{Rand: rng.Uint64}}.withDefaults()
	k := &Keeper{cfg: cfg}
	assert.Zero(t, k.pause(), "the first failover is immediate")
	bound := DefaultMinBackoff
	for range 100 {
		k.roundDone(false)
		low, high := bound, time.Duration(0)
		for range 1000 {
			d := k.pause()
			low, high = min(low, d), max(high, d)
		}
		assert.GreaterOrEqual(t, low, bound/2)
		assert.LessOrEqual(t, high, bound)
		assert.Less(t, low, bound*6/10, "spread")
		assert.Greater(t, high, bound*9/10, "spread")
		bound = min(2*bound, DefaultMaxBackoff)
	}
	k.roundDone(true)
	assert.Zero(t, k.pause())
}

// C79: the back-off starts anew after a connection that was of use.
func TestPausesStartAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d dialing
		var closed atomic.Bool
		closed.Store(true)
		s := newScript(t)
		cfg := s.config()
		d.refuse(&cfg, &closed)
		k := open(t, cfg)
		pass(time.Minute)
		closed.Store(false)
		w, _ := s.wire(0x77, testTimeout)
		use(t, k, w)
		closed.Store(true)
		dialled, lostAt := len(d.at), time.Since(d.began)
		_ = w.nc.Close()
		pass(400 * time.Millisecond)
		var after []time.Duration
		for _, at := range d.at[dialled:] {
			after = append(after, at-lostAt)
		}
		ms := time.Millisecond
		assert.Equal(t, []time.Duration{0, 50 * ms, 150 * ms, 350 * ms}, after)
		closed.Store(false)
		l, _ := s.serve(0x77, testTimeout)
		synctest.Wait()
		finishWith(k, l)
	})
}

// C82: each of three servers is the first for a third of all clients.
func TestShuffle(t *testing.T) {
	const clients = 10_000
	rng := rand.New(rand.NewPCG(82, 1))
	servers := names(3)
	first, orders := map[string]int{}, map[string]int{}
	for range clients {
		h := newHosts(servers, rng.Uint64)
		var order [3]string
		for i := range order {
			order[i] = h.take()
		}
		assert.ElementsMatch(t, servers, order[:])
		assert.Equal(t, order[0], h.take(), "in turn")
		first[order[0]]++
		orders[fmt.Sprint(order)]++
	}
	for _, server := range servers {
		assert.InDelta(t, clients/3, first[server], clients*3/100)
	}
	assert.Len(t, orders, 6)
	for order, n := range orders {
		assert.InDelta(t, clients/6, n, clients*3/100, order)
	}
	assert.Equal(t, names(3), servers, "the caller's list is left alone")
}

// C39, F25: all timers follow the timeout that the current connection has negotiated, whatever was asked for.
func TestTimersFollowTheCurrentConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, w := startWire(t, func(c *Config) { c.FinalExpiry = true })
		for _, tc := range []struct{ timeout, ping time.Duration }{
			{6 * time.Second, 2 * time.Second},
			{30 * time.Second, 10 * time.Second},
			{90 * time.Second, maxPing},
			{3 * time.Second, time.Second},
		} {
			use(t, k, w)
			_ = w.nc.Close()
			w, _ = s.wire(0x77, tc.timeout)
			began := time.Now()
			w.reply(w.expect(proto.OpPing), 1, 0, nil)
			assert.Equal(t, tc.ping, time.Since(began))
			assert.Equal(t, tc.timeout, k.Current().Timeout())
			heard := time.Now()
			assert.Error(t, drain(w))
			assert.Equal(t, tc.timeout*2/3, time.Since(heard), "given up")
			w, _ = s.wire(0x77, tc.timeout)
		}
		use(t, k, w)
		began := time.Now()
		_ = s.ln.Close()
		_ = w.nc.Close()
		<-k.Done()
		assert.Equal(t, 3*time.Second, time.Since(began), "expired")
	})
}

// C86: the list is replaced while a server that is not in it any more is about to take the session.
func TestServersReplacedDuringAHandshake(t *testing.T) {
	for name, again := range map[string]bool{"new session": false, "again": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript(t)
				k := open(t, s.config("one:2181"))
				w := s.pick()
				w.hello()
				if again {
					w.raw(answer37(0x77, testTimeout))
					use(t, k, w)
					_ = w.nc.Close()
					w = s.pick()
					w.hello()
				}
				require.NoError(t, k.SetServers([]string{"two:2181"}))
				w.raw(answer37(0x77, testTimeout))
				answered := time.Now()
				assert.Error(t, drain(w), "given up")
				assert.Zero(t, time.Since(answered), "at once")
				w, req := s.wire(0x77, testTimeout)
				assert.Equal(t, "two:2181", w.name())
				assert.EqualValues(t, 0x77, req.SessionID)
				synctest.Wait()
				assert.Equal(t, StateConnected, k.State().State)
				finishWith(k, w.link)
			})
		})
	}
}
