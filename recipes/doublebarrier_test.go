package recipes

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// party is members of a double barrier, each with a client of its own.
type party struct {
	clients []*client.Client
	members []*DoubleBarrier
}

func newParty(t *testing.T, srv *zktest.Server, n int) *party {
	p := &party{}
	for range n {
		c := dial(t, srv)
		p.clients, p.members = append(p.clients, c), append(p.members, NewDoubleBarrier(c, "/together/here", n))
	}
	return p
}

func (p *party) close() {
	for _, c := range p.clients {
		c.Close()
	}
}

func TestDoubleBarrier(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		p := newParty(t, srv, 3)
		defer p.close()
		if p.members[0].Path() != "/together/here" {
			t.Error(p.members[0].Path())
		}
		for range 3 { // rounds
			var in, out []*call
			for i, m := range p.members {
				in = append(in, goCall(t.Context(), m.Enter))
				if i < 2 && in[0].over() {
					t.Fatal("one has entered before all had come")
				}
			}
			for _, w := range in {
				w.ends(t, nil)
			}
			for i, m := range p.members {
				out = append(out, goCall(t.Context(), m.Leave))
				if i < 2 && out[0].over() {
					t.Fatal("one has left before all were done")
				}
			}
			for _, w := range out {
				w.ends(t, nil)
			}
			if left := srv.Children("/together/here"); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		}
		synctest.Wait()
		if w := srv.Watches(); len(w) != 0 {
			t.Errorf("watches left: %v", w)
		}
	})
}

// F98: two of three members wait; session events, expired neighbours and foreign children wake them, and nobody passes.
func TestDoubleBarrierHoldsThroughFaults(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		p := newParty(t, srv, 3)
		defer p.close()
		first, second := goCall(t.Context(), p.members[0].Enter), goCall(t.Context(), p.members[1].Enter)
		synctest.Wait()
		for range 3 {
			srv.DropConnections()
			<-time.After(3 * time.Second)
			must(srv.Create("/together/here/other-", nil, proto.ModePersistentSequential))
		}
		if err := srv.Set("/together", []byte("news")); err != nil {
			t.Fatal(err)
		}
		if first.over() || second.over() {
			t.Fatal("entered with two of three")
		}
		third := goCall(t.Context(), p.members[2].Enter)
		first.ends(t, nil)
		second.ends(t, nil)
		third.ends(t, nil)

		gone := goCall(t.Context(), p.members[0].Leave)
		synctest.Wait()
		for range 3 {
			srv.DropConnections()
			<-time.After(3 * time.Second)
		}
		if gone.over() {
			t.Fatal("left while two are working")
		}
		goCall(t.Context(), p.members[1].Leave)
		synctest.Wait()
		srv.ExpireSession(p.clients[2].SessionID()) // taken to have left
		gone.ends(t, nil)
		goCall(t.Context(), p.members[2].Leave).ends(t, nil)
	})
}

// A member that is early for the next round waits for the end of this one, also if those of this round have died in it.
func TestDoubleBarrierRounds(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		p := newParty(t, srv, 2)
		defer p.close()
		c := dial(t, srv)
		defer c.Close()
		late := NewDoubleBarrier(c, "/together/here", 2)
		goCall(t.Context(), p.members[1].Enter)
		goCall(t.Context(), p.members[0].Enter).ends(t, nil)
		early := goCall(t.Context(), late.Enter)
		if early.over() {
			t.Fatal("entered a round that had begun")
		}
		goCall(t.Context(), p.members[0].Leave)
		if early.over() {
			t.Fatal("entered while one is working")
		}
		if n := len(srv.Children("/together/here")); n != 1 {
			t.Fatalf("%d members of the round", n)
		}
		again := NewDoubleBarrier(p.clients[0], "/together/here", 2)
		next := goCall(t.Context(), again.Enter)
		srv.ExpireSession(p.clients[1].SessionID())
		early.ends(t, nil)
		next.ends(t, nil)
	})
}

// If all have died while they worked, whoever comes next opens the barrier again.
func TestDoubleBarrierAllDead(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		old, p := newParty(t, srv, 2), newParty(t, srv, 2)
		defer p.close()
		goCall(t.Context(), old.members[1].Enter)
		goCall(t.Context(), old.members[0].Enter).ends(t, nil)
		synctest.Wait()
		old.close()
		first := goCall(t.Context(), p.members[0].Enter)
		if first.over() {
			t.Fatal("entered alone")
		}
		second := goCall(t.Context(), p.members[1].Enter)
		first.ends(t, nil)
		second.ends(t, nil)
	})
}

// Who gives up is not counted; whose session expires is told.
func TestDoubleBarrierEnterFails(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		p := newParty(t, srv, 2)
		defer p.close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		goCall(ctx, p.members[0].Enter).ends(t, context.DeadlineExceeded)
		if left := srv.Children("/together/here"); len(left) != 0 {
			t.Fatalf("left behind: %v", left)
		}
		second := goCall(t.Context(), p.members[1].Enter)
		if second.over() {
			t.Fatal("entered with one who has given up")
		}
		srv.ExpireSession(p.clients[1].SessionID())
		second.ends(t, ErrSessionExpired)
		if err := p.members[1].Leave(t.Context()); !errors.Is(err, ErrNotEntered) {
			t.Error(err)
		}
		again := goCall(t.Context(), p.members[1].Enter)
		if again.over() {
			t.Fatal("entered alone")
		}
		goCall(t.Context(), p.members[0].Enter).ends(t, nil)
		again.ends(t, nil)
		if err := p.members[0].Enter(t.Context()); !errors.Is(err, ErrEntered) {
			t.Error(err)
		}
	})
}

// Lost replies: to the creation of the member's znode, to the write that begins the work, to that which ends it.
func TestDoubleBarrierRepliesLost(t *testing.T) {
	for _, op := range []proto.Op{proto.OpMulti, proto.OpSetData, proto.OpGetData, proto.OpGetChildren2, proto.OpDelete, proto.OpSync} {
		for name, fault := range map[string]func(*zktest.Server, zktest.Match) *zktest.Rule{
			"executed": (*zktest.Server).CloseAfter, "not executed": (*zktest.Server).CloseBefore,
		} {
			t.Run(op.String()+" "+name, func(t *testing.T) {
				bubble(t, func(t *testing.T, srv *zktest.Server) {
					p := newParty(t, srv, 2)
					defer p.close()
					rule := fault(srv, zktest.Match{Op: op, Under: "/together/here", Times: 3})
					for range 2 {
						first := goCall(t.Context(), p.members[0].Enter)
						if first.over() {
							t.Fatal("entered alone")
						}
						second := goCall(t.Context(), p.members[1].Enter)
						first.ends(t, nil)
						second.ends(t, nil)
						first = goCall(t.Context(), p.members[0].Leave)
						if first.over() {
							t.Fatal("left first")
						}
						second = goCall(t.Context(), p.members[1].Leave)
						first.ends(t, nil)
						second.ends(t, nil)
					}
					if rule.Hits() == 0 || len(srv.Children("/together/here")) != 0 {
						t.Errorf("%d faults, left behind: %v", rule.Hits(), srv.Children("/together/here"))
					}
				})
			})
		}
	}
}

// A member whose znode would be made after the work has begun is not let into this round.
func TestDoubleBarrierTooLate(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		p := newParty(t, srv, 2)
		defer p.close()
		c := dial(t, srv)
		defer c.Close()
		held := srv.Hold(zktest.Match{Op: proto.OpMulti, Session: c.SessionID()})
		late := goCall(t.Context(), NewDoubleBarrier(c, "/together/here", 2).Enter)
		<-held.Hit()
		first := goCall(t.Context(), p.members[0].Enter)
		goCall(t.Context(), p.members[1].Enter).ends(t, nil)
		first.ends(t, nil)
		held.Release()
		if late.over() || len(srv.Children("/together/here")) != 2 {
			t.Fatalf("came after the beginning: %v, members %v", late.over(), srv.Children("/together/here"))
		}
		first = goCall(t.Context(), p.members[0].Leave)
		goCall(t.Context(), p.members[1].Leave).ends(t, nil)
		first.ends(t, nil)
		if late.over() {
			t.Fatal("entered alone")
		}
		goCall(t.Context(), p.members[0].Enter).ends(t, nil)
		late.ends(t, nil)
	})
}

// The reply to the creation of a member's znode is lost, and the round begins before it can look.
func TestDoubleBarrierBeginsUnseen(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		p := newParty(t, srv, 2)
		defer p.close()
		c := dialTo(t, srv, "two:2181")
		defer c.Close()
		m := NewDoubleBarrier(c, "/together/here", 2)
		srv.CloseAfter(zktest.Match{Op: proto.OpMulti, Member: "two:2181"})
		srv.Member("two:2181").Refuse(zktest.RefuseDial)
		unseen := goCall(t.Context(), m.Enter)
		if unseen.over() {
			t.Fatal(unseen.err)
		}
		goCall(t.Context(), p.members[0].Enter).ends(t, nil)
		srv.Member("two:2181").Refuse(zktest.Accept)
		unseen.ends(t, nil)
		first := goCall(t.Context(), p.members[0].Leave)
		if first.over() {
			t.Fatal("left first")
		}
		goCall(t.Context(), m.Leave).ends(t, nil)
		first.ends(t, nil)
	})
}

// A member that is slow to leave does not wait for members of the next round.
func TestDoubleBarrierSlowLeaver(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		p := newParty(t, srv, 3)
		defer p.close()
		var all []*call
		for _, m := range p.members {
			all = append(all, goCall(t.Context(), m.Enter))
		}
		for _, w := range all {
			w.ends(t, nil)
		}
		held := srv.Hold(zktest.Match{Op: proto.OpGetChildren2, Session: p.clients[2].SessionID()}) // its own znode is gone by then
		slow := goCall(t.Context(), p.members[2].Leave)
		<-held.Hit()
		first := goCall(t.Context(), p.members[0].Leave)
		goCall(t.Context(), p.members[1].Leave).ends(t, nil)
		first.ends(t, nil)
		first = goCall(t.Context(), p.members[0].Enter)
		second := goCall(t.Context(), p.members[1].Enter)
		synctest.Wait()
		held.Release()
		slow.ends(t, nil)
		goCall(t.Context(), p.members[2].Enter).ends(t, nil)
		first.ends(t, nil)
		second.ends(t, nil)
	})
}
