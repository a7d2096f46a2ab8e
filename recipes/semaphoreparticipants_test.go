package recipes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// permitsOf shows a queue in short: how many permits each has or wants, with a star behind whoever holds.
func permitsOf(t *testing.T, s *Semaphore) string {
	t.Helper()
	var parts []string
	for _, p := range must(s.Participants(t.Context())) {
		text := fmt.Sprint(p.Permits)
		if p.Holds {
			text += "*"
		}
		if string(p.Data) != "me" || p.Session == 0 || p.Err != nil {
			t.Errorf("%+v", p)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func TestSemaphoreParticipants(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := semPair(t, srv, 5, Data([]byte("me")))
		defer closeAll()
		if got := permitsOf(t, a); got != "" {
			t.Errorf("path missing: %s", got)
		}
		two, three := get(t, take(a, 2)), get(t, take(b, 3))
		heavy, light := queued(t.Context(), take(a, 4)), queued(t.Context(), take(b, 1))
		must(srv.Create("/lock/config", nil, proto.ModePersistent))
		if got := permitsOf(t, b); got != "2* 3* 4 1" {
			t.Errorf("%s", got)
		}
		ps := must(a.Participants(t.Context()))
		if p := ps[1]; p.Node != three.Node() || p.Token != three.Token() || p.Session != b.b.c.SessionID() || !p.Shared {
			t.Errorf("%+v", p)
		}
		release(t, two) // 3 + 4 do not fit, and 1 would, but waits
		waits(t, "heavy", heavy)
		if got := permitsOf(t, b); got != "3* 4 1" {
			t.Errorf("%s", got)
		}
		release(t, three)
		release(t, granted(t, "heavy", heavy))
		release(t, granted(t, "light", light))
		must(0, srv.Delete("/lock/config"))
		l := get(t, take(NewSemaphore(a.b.c, "/lock", 1, Data([]byte("me"))), 1))
		if ps := must(NewSemaphore(b.b.c, "/lock", 1).Participants(t.Context())); len(ps) != 1 || ps[0].Shared {
			t.Errorf("of one permit: %+v", ps)
		}
		release(t, l)
		leftBehind(t, srv)
	})
}

// With the number in the znode, who holds follows from that; after it was lowered that is less than it seems.
func TestSemaphoreParticipantsFromZnode(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := zPair(t, srv, 3, Data([]byte("me")))
		defer closeAll()
		two, one := get(t, take(a, 2)), get(t, take(b, 1))
		w := queued(t.Context(), take(a, 4))
		for data, want := range map[string]string{"3": "2* 1* 4", "2": "2* 1 4"} {
			must(0, srv.Set("/lock", []byte(data)))
			waits(t, data, w)
			if got := permitsOf(t, b); got != want {
				t.Errorf("of %s: %s, want %s", data, got, want)
			}
		}
		setPermits(t, a, 7)
		if got := permitsOf(t, b); got != "2* 1* 4*" {
			t.Errorf("%s", got)
		}
		release(t, granted(t, "the waiter", w))
		must(0, srv.Set("/lock", []byte("many")))
		if got := permitsOf(t, b); got != "2 1" {
			t.Errorf("without a number: %s", got)
		}
		release(t, two)
		release(t, one)
		leftBehind(t, srv)
	})
}
