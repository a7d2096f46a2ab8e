package session

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/memnet"
)

// zone is a resolver under the control of a test.
type zone map[string][]string

func (z zone) resolve(ctx context.Context, host string) ([]string, error) {
	switch ips, ok := z[host]; {
	case host == "slow":
		<-ctx.Done() // a look-up is bounded by the attempt
		return nil, ctx.Err()
	case !ok:
		return nil, &net.DNSError{Err: "no such host", Name: host}
	default:
		return ips, nil
	}
}

// dialling starts a Keeper whose dialer knows only the live addresses; others swallow everything or refuse.
func dialling(t *testing.T, z zone, servers []string, live string) (*script, *Keeper, *[]string) {
	s := newScript(t)
	cfg := s.config(servers...)
	cfg.Env.Resolve = z.resolve
	var dialled []string
	cfg.Env.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		dialled = append(dialled, addr)
		switch addr {
		case live:
			return s.ln.Dial(ctx, network, addr)
		case "10.0.0.9:2181": // black hole
			a, _ := memnet.Pipe()
			return a, nil
		}
		return nil, errors.New("refused")
	}
	return s, open(t, cfg), &dialled
}

func TestAllAddressesOfANameAreTried(t *testing.T) { // C83, F70: a black hole and a dead one come first, then one of IPv6
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s, k, dialled := dialling(t, zone{"zk": {"10.0.0.9", "10.0.0.2", "fd00::3"}}, []string{"zk:2181"}, "[fd00::3]:2181")
		l, _ := s.serve(1, testTimeout)
		defer finishWith(k, l)
		synctest.Wait()
		assert.Equal(t, []string{"10.0.0.9:2181", "10.0.0.2:2181", "[fd00::3]:2181"}, *dialled)
		assert.LessOrEqual(t, time.Since(began), testTimeout/3, "the black hole had its share, not all of the attempt")
	})
}

func TestNamesAreResolvedAgain(t *testing.T) { // C84, F68: the address changes between two connections
	synctest.Test(t, func(t *testing.T) {
		n := zone{"zk": {"10.0.0.3"}}
		s, k, dialled := dialling(t, n, []string{"zk:2181"}, "10.0.0.3:2181")
		l, _ := s.serve(1, testTimeout)
		synctest.Wait()
		n["zk"] = []string{"10.0.0.2", "10.0.0.3"}
		_ = l.fc.Close()
		l, _ = s.serve(1, testTimeout)
		defer finishWith(k, l)
		synctest.Wait()
		assert.Equal(t, []string{"10.0.0.3:2181", "10.0.0.2:2181", "10.0.0.3:2181"}, *dialled)
	})
}

func TestBadNamesSpoilNothing(t *testing.T) { // C85: one unknown, one whose look-up hangs, one without addresses
	synctest.Test(t, func(t *testing.T) {
		n := zone{"zk": {"10.0.0.3"}, "empty": nil}
		s, k, _ := dialling(t, n, []string{"nowhere:2181", "slow:2181", "empty:2181", "zk:2181"}, "10.0.0.3:2181")
		l, _ := s.serve(1, testTimeout)
		defer finishWith(k, l)
		synctest.Wait()
		assert.Equal(t, StateConnected, k.State().State)
	})
}
