package recipes

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// A deletion behind a search that does not come off, and a create whose connection breaks each time, are repeated at a measured
// pace too, although each connection is of use for something else.
func TestRetriesKeepAPace(t *testing.T) { // K9
	const times = 50
	fails := func(op proto.Op, v zktest.Verdict) func(*zktest.Server) *zktest.Rule {
		return func(s *zktest.Server) *zktest.Rule { return s.On(zktest.Match{Op: op, Times: times}, v) }
	}
	for name, tc := range map[string]struct {
		unknown bool
		release bool // the fault meets the release, and otherwise the next Lock
		fault   func(*zktest.Server) *zktest.Rule
	}{
		"throttled behind a search":       {true, true, fails(proto.OpDelete, zktest.Verdict{Err: proto.ErrThrottled})},
		"connection lost behind a search": {true, true, fails(proto.OpDelete, zktest.Verdict{Skip: true, Close: true})},
		"connection lost with a watch":    {false, true, fails(proto.OpDelete, zktest.Verdict{Skip: true, Close: true})},
		"create lost with a watch":        {false, false, fails(proto.OpCreate2, zktest.Verdict{Lose: true, Close: true})},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := dial(t, srv)
				defer c.Close()
				must(srv.Create("/watched", nil, proto.ModePersistent))
				_, w, err := c.GetWatch(t.Context(), "/watched") // what sets it again is answered on every connection
				must(w, err)
				m := NewMutex(c, "/lock")
				release(t, lock(t, m))
				if tc.unknown {
					srv.CloseAfter(zktest.Match{Op: proto.OpCreate2})
				}
				l := lock(t, m)
				<-time.After(2 * timeout)
				if !tc.release {
					release(t, l)
				}
				rule := tc.fault(srv)
				began := time.Now()
				if !tc.release {
					l = lock(t, m)
				}
				release(t, l)
				if d := time.Since(began); rule.Hits() != times || d < (times-2)*50*time.Millisecond {
					t.Errorf("%d requests in %v", rule.Hits(), d)
				}
				synctest.Wait()
				if n := kids(srv); n != 0 {
					t.Errorf("%d znodes left", n)
				}
			})
		})
	}
}

// In a directory that we may not list, the znode whose name is known goes, whatever became of an earlier create.
func TestNodeInAnUnlistableDirectory(t *testing.T) { // K17
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		must(srv.Create("/lock", nil, proto.ModePersistent))
		write := proto.ACL{Perms: proto.PermCreate | proto.PermDelete, ID: proto.ID{Scheme: "world", ID: "anyone"}}
		must(0, srv.SetACL("/lock", []proto.ACL{write}))
		m := NewMutex(c, "/lock")
		for range 2 {
			_, err := m.Lock(t.Context())
			wantErr(t, err, client.ErrNoAuth)
			synctest.Wait()
			if n := kids(srv); n != 0 {
				t.Errorf("%d znodes left behind: %v", n, err)
			}
			srv.CloseBefore(zktest.Match{Op: proto.OpCreate2})
		}
	})
}

// The path vanishes while it is made again, below a level that exists and that we may not make.
func TestParentVanishesBelowALockedOne(t *testing.T) { // K11, K13
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		must(srv.Create("/a", nil, proto.ModePersistent))
		must(srv.Create("/a/lock", nil, proto.ModeContainer))
		must(0, srv.SetACL("/", []proto.ACL{{Perms: proto.PermRead, ID: proto.ID{Scheme: "world", ID: "anyone"}}}))
		left := 3
		var mu sync.Mutex
		srv.OnRequest(func(r *zktest.Request) zktest.Verdict {
			mu.Lock()
			defer mu.Unlock()
			if r.Op == proto.OpCreate2 && left > 0 {
				left--
				_ = srv.Delete("/a/lock")
			}
			return zktest.Verdict{}
		})
		release(t, lock(t, NewMutex(c, "/a/lock")))
	})
}
