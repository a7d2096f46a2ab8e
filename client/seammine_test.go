package client_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// sow makes ephemeral znodes below /app/dir, by name, of the session of c or of nobody's, with data.
func sow(t *testing.T, srv *zktest.Server, c *client.Client, names ...string) {
	t.Helper()
	create(t, srv, "/app/dir", "")
	for _, name := range names {
		if _, err := srv.CreateFor(c.SessionID(), "/app/dir/"+name, []byte("me id=1"), proto.ModeEphemeral); err != nil {
			t.Fatal(err)
		}
	}
}

// Of all that have the prefix, those of this session with the mark at the end go, however many, and through whatever is lost.
func TestDeleteMine(t *testing.T) { // docs/locks.md A4, A10 rule 10
	const reads = 205 // three flights
	for name, fault := range map[string]func(srv *zktest.Server) *zktest.Rule{
		"nothing lost": nil,
		"list":         func(srv *zktest.Server) *zktest.Rule { return srv.CloseAfter(zktest.Match{Op: proto.OpGetChildren}) },
		"sync":         func(srv *zktest.Server) *zktest.Rule { return srv.CloseBefore(zktest.Match{Op: proto.OpSync}) },
		"first read":   func(srv *zktest.Server) *zktest.Rule { return srv.CloseBefore(zktest.Match{Op: proto.OpGetData}) },
		"another read": func(srv *zktest.Server) *zktest.Rule {
			return srv.CloseAfter(zktest.Match{Op: proto.OpGetData, Skip: 150})
		},
		"last read": func(srv *zktest.Server) *zktest.Rule {
			return srv.CloseAfter(zktest.Match{Op: proto.OpGetData, Skip: reads - 1})
		},
		"a deletion": func(srv *zktest.Server) *zktest.Rule { return srv.CloseAfter(zktest.Match{Op: proto.OpDelete}) },
		"second list": func(srv *zktest.Server) *zktest.Rule {
			return srv.CloseAfter(zktest.Match{Op: proto.OpGetChildren, Skip: 1})
		},
		"read refused": func(srv *zktest.Server) *zktest.Rule {
			srv.Fail(zktest.Match{Op: proto.OpGetData, Path: "/app/dir/x-1"}, proto.ErrThrottled)
			return srv.Fail(zktest.Match{Op: proto.OpGetData, Path: "/app/dir/x-999"}, proto.ErrThrottled)
		},
		"last refused": func(srv *zktest.Server) *zktest.Rule {
			return srv.Fail(zktest.Match{Op: proto.OpGetData, Skip: reads - 1}, proto.ErrThrottled)
		},
		"list refused": func(srv *zktest.Server) *zktest.Rule {
			return srv.Fail(zktest.Match{Op: proto.OpGetChildren}, proto.ErrThrottled)
		},
		"delete refused": func(srv *zktest.Server) *zktest.Rule {
			return srv.Fail(zktest.Match{Op: proto.OpDelete}, proto.ErrThrottled)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				create(t, srv, "/app", "")
				c, other := connectTo(t, srv, "zk/app"), connectTo(t, srv, "zk/app")
				sow(t, srv, c, "x-1", "y-1", "x-999")
				for i := range reads - 4 {
					create(t, srv, fmt.Sprintf("/app/dir/x-other%d", i), "me id=1") // of no session
				}
				keep := map[string]string{"x-2": "me id=2", "x-3": "me id=1 ", "z-x-1": "me id=1"}
				for name, data := range keep {
					must(t, second(srv.CreateFor(c.SessionID(), "/app/dir/"+name, []byte(data), proto.ModeEphemeral)))
				}
				must(t, second(srv.CreateFor(other.SessionID(), "/app/dir/x-4", []byte("me id=1"), proto.ModeEphemeral)))
				var rule *zktest.Rule
				if fault != nil {
					rule = fault(srv)
				}
				var done client.Cleanup
				equal(t, "deletes", c.Generation().DeleteMine(&done, "/dir", "x-", " id=1", ""), true)
				must(t, done.Wait(t.Context()))
				if rule != nil && rule.Hits() == 0 {
					t.Error("the fault has not come")
				}
				for name, want := range map[string]bool{
					"x-1": false, "x-999": false, "y-1": true, "x-2": true, "x-3": true, "x-4": true, "z-x-1": true, "x-other0": true,
				} {
					equal(t, name, srv.Exists("/app/dir/"+name), want)
				}
				equal(t, "children", len(srv.Children("/app/dir")), reads+1)
				equal(t, "cleanups", c.CleanupsPending(), 0)
			})
		})
	}
}

func second[T any](_ T, err error) error { return err }

// The results are those of a deletion: nobody had anything there, the znode that is known has gone before, or something may not
// be read.
func TestDeleteMineResults(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/app", "")
		c := connectTo(t, srv, "zk/app")
		gn := c.Generation()
		wait := func(node string) error {
			var done client.Cleanup
			equal(t, "deletes", gn.DeleteMine(&done, "/dir", "x-", " id=1", node), true)
			return done.Wait(t.Context())
		}
		must(t, wait("")) // without a path
		sow(t, srv, c, "x-1", "x-2", "y-1")
		must(t, srv.Set("/app/dir/x-2", []byte("overwritten")))
		must(t, wait("/dir/x-2"))
		equal(t, "left", srv.Children("/app/dir"), []string{"y-1"})
		for _, node := range []string{"", "/dir/x-2"} {
			if err := wait(node); !errors.Is(err, client.ErrNoNode) {
				t.Errorf("%q, nothing there: %v", node, err)
			}
		}
		add := func(name, data string) {
			must(t, second(srv.CreateFor(c.SessionID(), "/app/dir/"+name, []byte(data), proto.ModeEphemeral)))
		}
		add("x-3", "me id=1")
		must(t, wait("/dir/x-2"))
		add("x-4", "me id=1")
		add("x-5", "me id=1")
		add("x-6", "me id=1")
		must(t, srv.SetACL("/app/dir/x-5", []proto.ACL{{Perms: proto.PermAll, ID: proto.ID{Scheme: "digest", ID: proto.DigestID("a", "a")}}}))
		if err := wait("/dir/x-6"); !errors.Is(err, client.ErrNoAuth) {
			t.Errorf("unreadable: %v", err)
		}
		equal(t, "left", srv.Children("/app/dir"), []string{"x-5", "y-1"})
		for _, args := range [][4]string{{"/dir/", "x-", "1", ""}, {"/dir", "", "1", ""}, {"/dir", "x-", "", ""}, {"/dir", "x-", "1", "dir/x-1"}} {
			equal(t, "deletes", gn.DeleteMine(new(client.Cleanup), args[0], args[1], args[2], args[3]), false)
		}
		equal(t, "deletes", client.Generation{}.DeleteMine(new(client.Cleanup), "/dir", "x-", "1", ""), false)
		// The session's end ends a search, whose znodes go with it.
		held := srv.Hold(zktest.Match{Op: proto.OpGetData})
		var done client.Cleanup
		equal(t, "deletes", gn.DeleteMine(&done, "/dir", "x-", " id=1", ""), true)
		<-held.Hit()
		srv.ExpireSession(c.SessionID())
		held.Release()
		if err := done.Wait(t.Context()); !errors.Is(err, client.ErrSessionExpired) {
			t.Errorf("expired: %v", err)
		}
		<-time.After(time.Second)
	})
}
