package recipes

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// TestCampaignAgain: an Election has no state that an attempt which was cancelled could leave behind.
func TestCampaignAgain(t *testing.T) { // K59, K60
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		l := must(NewElection(a, "/el", nil).Campaign(t.Context()))
		e := NewElection(b, "/el", nil)
		for range 5 {
			ctx, cancel := context.WithCancel(t.Context())
			w := campaign(ctx, e)
			again := campaign(t.Context(), e) // at the same time
			cancel()
			<-w.done
			if !errors.Is(w.err, context.Canceled) || again.over() {
				t.Fatalf("%v; the other: %v", w.err, again.over())
			}
			if n := len(srv.Children("/el")); n != 2 {
				t.Errorf("%d candidates", n)
			}
			resign(t, l)
			l = again.leads(t)
		}
		resign(t, l)
		nothingLeft(t, srv)
	})
}

func TestCampaignBeforeTheFirstConnection(t *testing.T) { // K62
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		srv.Member("one:2181").Refuse(zktest.RefuseClose)
		c := must(client.Lazy("one:2181", client.Dialer(srv.Dial), client.SessionTimeout(timeout)))
		defer c.Close()
		w := campaign(t.Context(), NewElection(c, "/el", nil))
		<-time.After(time.Minute)
		if w.over() {
			t.Fatal(w.err)
		}
		srv.Member("one:2181").Refuse(zktest.Accept)
		resign(t, w.leads(t))
		nothingLeft(t, srv)
	})
}

// TestElectionAfterALongOutage: all sessions end while the ensemble is down: nobody leads on with an old path, and one of them leads
// afterwards.
func TestElectionAfterALongOutage(t *testing.T) { // K56, K57
	for _, gone := range []bool{false, true} {
		bubble(t, func(t *testing.T, srv *zktest.Server) {
			a, b := dial(t, srv), dialTo(t, srv, "two:2181")
			defer a.Close()
			defer b.Close()
			ea, eb := NewElection(a, "/a/el", []byte("a")), NewElection(b, "/a/el", []byte("b"))
			old := must(ea.Campaign(t.Context()))
			standby := campaign(t.Context(), eb)
			srv.Refuse(zktest.RefuseClose)
			srv.DropConnections()
			<-time.After(10 * timeout)
			if old.State() != Lost || standby.over() {
				t.Errorf("%v, the standby leads: %v", old.State(), standby.over())
			}
			for _, ss := range srv.Sessions() {
				srv.ExpireSession(ss.ID)
			}
			for gone && srv.Sweep() > 0 {
			}
			srv.Refuse(zktest.Accept)
			l := standby.leads(t)
			if err := old.Resign(t.Context()); !errors.Is(err, ErrLost) {
				t.Errorf("%v", err)
			}
			second := campaign(t.Context(), ea)
			if second.over() || l.State() != Held || string(must(ea.Leader(t.Context())).Data) != "b" {
				t.Errorf("%v, the other leads: %v", l.State(), second.over())
			}
			if _, st, err := srv.Get(l.Node()); err != nil || st.Czxid != l.Token().Zxid || st.EphemeralOwner != b.SessionID() {
				t.Errorf("%+v: %v", st, err)
			}
			resign(t, l)
			resign(t, second.leads(t))
			nothingLeft(t, srv)
		})
	}
}

// TestStandbyKeepsItsPlace: through reconnects, and when the one ahead, who does not lead, goes: no new znode.
func TestStandbyKeepsItsPlace(t *testing.T) { // K55
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, c := dial(t, srv), dialTo(t, srv, "two:2181"), dialTo(t, srv, "three:2181")
		defer a.Close()
		defer b.Close()
		defer c.Close()
		l := must(NewElection(a, "/el", nil).Campaign(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		ahead := campaign(ctx, NewElection(b, "/el", nil))
		standby := campaign(t.Context(), NewElection(c, "/el", nil))
		node := ownNode(t, srv, c)
		creates := srv.Snapshot().ByOp[proto.OpCreate2]
		srv.DropConnections()
		<-time.After(time.Second)
		cancel()
		<-ahead.done
		srv.DropConnections()
		<-time.After(time.Second)
		resign(t, l)
		if l := standby.leads(t); l.Node() != node || srv.Snapshot().ByOp[proto.OpCreate2] != creates {
			t.Errorf("%s, was %s; %d creates more", l.Node(), node, srv.Snapshot().ByOp[proto.OpCreate2]-creates)
		}
		resign(t, standby.lead)
		nothingLeft(t, srv)
	})
}

// TestTokenOfAReplacedNode: an operator deletes the znode of a standby, which lines up again: its token is the new znode's.
func TestTokenOfAReplacedNode(t *testing.T) { // K61
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		l := must(NewElection(a, "/el", nil, LatchNames()).Campaign(t.Context()))
		standby := campaign(t.Context(), NewElection(b, "/el", nil, LatchNames()))
		old := ownNode(t, srv, b)
		if err := srv.Delete(old); err != nil {
			t.Fatal(err)
		}
		resign(t, l)
		next := standby.leads(t)
		if _, st, err := srv.Get(next.Node()); next.Node() == old || err != nil || st.Czxid != next.Token().Zxid {
			t.Errorf("%s with %v, made by %d: %v", next.Node(), next.Token(), st.Czxid, err)
		}
		resign(t, next)
	})
}

// TestLeaderChangesWhileItIsRead: the first of the list is gone when it is to be read.
func TestLeaderChangesWhileItIsRead(t *testing.T) { // K58
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		l := must(NewElection(a, "/el", []byte("first")).Campaign(t.Context()))
		standby := campaign(t.Context(), NewElection(b, "/el", []byte("second")))
		c := dialTo(t, srv, "three:2181")
		defer c.Close()
		held := srv.Hold(zktest.Match{Op: proto.OpGetData, Session: c.SessionID()})
		go func() {
			<-held.Hit()
			_ = l.ReleasePipelined()
			<-standby.done
			held.Release()
		}()
		if p, err := NewElection(c, "/el", nil).Leader(t.Context()); err != nil || string(p.Data) != "second" || !p.Holds {
			t.Errorf("%+v: %v", p, err)
		}
		resign(t, standby.leads(t))
		nothingLeft(t, srv)
	})
}
