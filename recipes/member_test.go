package recipes

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestMember(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		one, two := NewMember(a, "/groups/web", "one", []byte("host1:80")), NewMember(b, "/groups/web", "two", nil)
		if one.Node() != "/groups/web/one" {
			t.Error(one.Node())
		}
		if all := must(two.Members(t.Context())); len(all) != 0 {
			t.Errorf("%v", all)
		}
		ctx, stop := context.WithCancel(t.Context())
		running := goCall(ctx, two.Run)
		for range 2 { // that one is a member is fine
			goCall(t.Context(), one.Join).ends(t, nil)
		}
		synctest.Wait()
		must(srv.Create("/groups/web/settings", nil, proto.ModePersistent))
		all := must(one.Members(t.Context()))
		if len(all) != 2 || all[0].Name != "one" || string(all[0].Data) != "host1:80" || all[0].Session != a.SessionID() ||
			all[1].Name != "two" || all[1].Session != b.SessionID() {
			t.Errorf("%v", all)
		}
		goCall(t.Context(), one.Leave).ends(t, nil)
		goCall(t.Context(), one.Leave).ends(t, nil)
		if running.over() {
			t.Fatal(running.err)
		}
		stop()
		running.ends(t, nil)
		if left := srv.Children("/groups/web"); !slices.Equal(left, []string{"settings"}) {
			t.Errorf("left behind: %v", left)
		}
		synctest.Wait()
		if w := srv.Watches(); len(w) != 0 {
			t.Errorf("watches left: %v", w)
		}
	})
}

// F101: the client has given its session up by its own clock, and has the next one, while the ensemble, whose deadlines are rounded
// up, still keeps the znode of the former. It is waited for, and only then made again: one that stays.
func TestMemberWaitsForItsLeftover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.New(zktest.TickTime(40*time.Second), zktest.SessionTimeouts(timeout, timeout))
		defer srv.Close()
		c := dial(t, srv)
		defer c.Close()
		m := NewMember(c, "/group", "one", nil)
		ctx, stop := context.WithCancel(t.Context())
		running := goCall(ctx, m.Run)
		synctest.Wait()
		old := c.SessionID()
		owner := func() int64 {
			t.Helper()
			_, st, err := srv.Get("/group/one")
			if err != nil || running.over() {
				t.Fatalf("%v, Run: %v", err, running.err)
			}
			return st.EphemeralOwner
		}
		srv.Refuse(zktest.RefuseDial)
		srv.DropConnections()
		<-time.After(timeout + time.Second)
		srv.Refuse(zktest.Accept)
		<-time.After(10 * time.Second)
		if c.SessionID() == old || c.SessionID() == 0 || owner() != old {
			t.Fatalf("sessions %#x and %#x, the znode belongs to %#x: this is not what the test is about", old, c.SessionID(), owner())
		}
		if err := m.Leave(t.Context()); err != nil || owner() != old { // nothing of the present session to be deleted
			t.Errorf("%v", err)
		}
		for range 3 {
			<-time.After(40 * time.Second)
			if owner() != c.SessionID() {
				t.Fatalf("the znode belongs to %#x, want %#x", owner(), c.SessionID())
			}
		}
		stop()
		running.ends(t, nil)
	})
}

// The client gives its session up by its own clock while it reaches no server. The member is one again afterwards, with a znode
// that stays.
func TestMemberAfterALongOutage(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMember(c, "/group", "one", nil)
		ctx, stop := context.WithCancel(t.Context())
		running := goCall(ctx, m.Run)
		synctest.Wait()
		old := c.SessionID()
		srv.Refuse(zktest.RefuseDial)
		srv.DropConnections()
		<-time.After(2 * timeout)
		srv.Refuse(zktest.Accept)
		<-time.After(2 * timeout)
		_, st, err := srv.Get("/group/one")
		if err != nil || st.EphemeralOwner == old || st.EphemeralOwner != c.SessionID() {
			t.Fatalf("owner %#x, %v; formerly %#x, now %#x, Run: %v", st.EphemeralOwner, err, old, c.SessionID(), running.err)
		}
		stop()
		running.ends(t, nil)
	})
}

// A znode of somebody else under the name is an error, for Join and for Run, and is left alone.
func TestMemberNameTaken(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		goCall(t.Context(), NewMember(a, "/group", "one", nil).Join).ends(t, nil)
		second := NewMember(b, "/group", "one", nil)
		for _, f := range []func(context.Context) error{second.Join, second.Run} {
			w := goCall(t.Context(), f)
			w.ends(t, ErrNameTaken)
			var taken *NameTakenError
			if !errors.As(w.err, &taken) || taken.Owner != a.SessionID() || taken.Node != "/group/one" {
				t.Errorf("%v", w.err)
			}
		}
		goCall(t.Context(), second.Leave).ends(t, nil)
		if !srv.Exists("/group/one") {
			t.Error("somebody else's znode was deleted")
		}
		must(srv.Create("/group/two", nil, proto.ModePersistent))
		w := goCall(t.Context(), NewMember(b, "/group", "two", nil).Run)
		w.ends(t, ErrNameTaken)
		t.Log(w.err)
	})
}

// Run joins again after an expiry, after somebody's hand, and after lost replies, and changes of the data do not bother it.
func TestMemberStays(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		m := NewMember(c, "/group", "one", []byte("data"))
		srv.CloseAfter(zktest.Match{Op: proto.OpCreate2, Path: "/group/one", Skip: 1}) // the parent was missing the first time
		running := goCall(t.Context(), m.Run)
		member := func(when string) {
			t.Helper()
			<-time.After(5 * time.Second)
			data, st, err := srv.Get("/group/one")
			if err != nil || string(data) != "data" || st.EphemeralOwner != c.SessionID() || running.over() {
				t.Fatalf("%s: %v, owner %#x of %#x, Run: %v", when, err, st.EphemeralOwner, c.SessionID(), running.err)
			}
		}
		member("at first")
		for range 3 {
			srv.ExpireSession(c.SessionID())
			member("after an expiry")
			srv.DropConnections()
			member("after a lost connection")
			if err := srv.Delete("/group/one"); err != nil {
				t.Fatal(err)
			}
			srv.CloseBefore(zktest.Match{Op: proto.OpCreate2, Path: "/group/one"})
			member("after a deletion")
			if err := srv.Set("/group/one", []byte("data")); err != nil {
				t.Fatal(err)
			}
			member("after a change")
		}
		if n := len(m.sessions()); n != 1 {
			t.Errorf("remembers %d sessions", n)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		running.ends(t, ErrClosed)
	})
}

// A member that cannot confirm that it has left says so, and the session goes on with it.
func TestMemberLeavesLater(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMember(c, "/group", "one", nil)
		ctx, stop := context.WithCancel(t.Context())
		running := goCall(ctx, m.Run)
		synctest.Wait()
		held := srv.Hold(zktest.Match{Op: proto.OpDelete})
		stop()
		running.ends(t, ErrCleanupPending)
		held.Release()
		<-time.After(time.Second)
		if srv.Exists("/group/one") {
			t.Error("left behind")
		}
		// Of a new session nothing is deleted: the znode is somebody else's.
		goCall(t.Context(), m.Join).ends(t, nil)
		must(0, srv.Delete("/group/one"))
		other := dial(t, srv)
		defer other.Close()
		must(srv.CreateFor(other.SessionID(), "/group/one", nil, proto.ModeEphemeral))
		goCall(t.Context(), m.Leave).ends(t, nil)
		if !srv.Exists("/group/one") {
			t.Error("somebody else's znode was deleted")
		}
		final := dial(t, srv, client.FinalExpiry())
		defer final.Close()
		last := goCall(t.Context(), NewMember(final, "/group", "two", nil).Run)
		synctest.Wait()
		srv.ExpireSession(final.SessionID())
		last.ends(t, ErrSessionExpired)
	})
}
