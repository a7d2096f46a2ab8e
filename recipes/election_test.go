package recipes

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// candidate is a Campaign that runs in its own goroutine.
type candidate struct {
	lead *Leadership
	err  error
	done chan struct{}
}

// campaign starts a Campaign and returns when it leads or stands by.
func campaign(ctx context.Context, e *Election) *candidate {
	w := &candidate{done: make(chan struct{})}
	go func() {
		w.lead, w.err = e.Campaign(ctx)
		close(w.done)
	}()
	synctest.Wait()
	return w
}

func (w *candidate) over() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// leads waits for the leadership, for an hour of virtual time at most.
func (w *candidate) leads(t *testing.T) *Leadership {
	t.Helper()
	select {
	case <-w.done:
	case <-time.After(time.Hour):
		t.Fatal("does not lead after an hour")
	}
	if w.err != nil {
		t.Fatal(w.err)
	}
	return w.lead
}

func resign(t *testing.T, l *Leadership) {
	t.Helper()
	if err := l.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// layouts are the names that an election can have.
var layouts = map[string][]Option{"as LeaderSelector": nil, "as LeaderLatch": {LatchNames()}, "plain": {PlainNames("n_")}}

func TestElectionSuccession(t *testing.T) { // A1: first come, first served; K55, K61
	for name, opts := range layouts {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b, c := dial(t, srv), dialTo(t, srv, "two:2181"), dialTo(t, srv, "three:2181")
				defer a.Close()
				defer b.Close()
				defer c.Close()
				watcher := NewElection(a, "/el", nil, opts...)
				if _, err := watcher.Leader(t.Context()); !errors.Is(err, ErrNoLeader) {
					t.Errorf("%v", err)
				}
				if ps, err := watcher.Participants(t.Context()); err != nil || len(ps) != 0 {
					t.Errorf("%v, %v", ps, err)
				}
				var line []*candidate
				for i, c := range []*client.Client{a, b, c, a} {
					data := []byte(fmt.Sprint("candidate ", i))
					e := NewElection(c, "/el", data, opts...)
					data[0] = 'X' // it is copied
					line = append(line, campaign(t.Context(), e))
				}
				if _, err := NewElection(b, "/el", nil, opts...).TryCampaign(t.Context()); !errors.Is(err, ErrNotAcquired) {
					t.Errorf("TryCampaign: %v", err)
				}
				var token Token
				for i, w := range line {
					ps := must(watcher.Participants(t.Context()))
					if len(ps) != len(line)-i {
						t.Fatalf("%v", ps)
					}
					for j, p := range ps {
						if string(p.Data) != fmt.Sprint("candidate ", i+j) || p.Holds != (j == 0) || p.Permits != 1 || p.Shared || p.Err != nil {
							t.Errorf("%d: %+v", i+j, p)
						}
						if later := line[i+j]; j > 0 && later.over() {
							t.Errorf("%d leads beside %d", i+j, i)
						}
					}
					l := w.leads(t)
					leader := must(watcher.Leader(t.Context()))
					if leader.Node != l.Node() || leader.Token != l.Token() || leader.Node != ps[0].Node || leader.Session != l.gen.SessionID() {
						t.Errorf("%+v, and the lease is %s with %v", leader, l.Node(), l.Token())
					}
					if l.Token().Compare(token) <= 0 {
						t.Errorf("token %v after %v", l.Token(), token)
					}
					token = l.Token()
					if _, st, err := srv.Get(l.Node()); err != nil || st.Czxid != token.Zxid {
						t.Errorf("made by %d: %v", st.Czxid, err)
					}
					resign(t, l)
					if err := l.Resign(t.Context()); !errors.Is(err, ErrNotHeld) {
						t.Errorf("twice: %v", err)
					}
					synctest.Wait()
				}
				resign(t, must(watcher.TryCampaign(t.Context())))
				nothingLeft(t, srv)
			})
		})
	}
}

func TestElectionFlights(t *testing.T) { // A8
	for name, opts := range layouts {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := dial(t, srv), dialTo(t, srv, "two:2181")
				defer a.Close()
				defer b.Close()
				first, standby := NewElection(a, "/deep/el", []byte("a"), opts...), NewElection(b, "/deep/el", []byte("b"), opts...)
				var l *Leadership
				flights(t, srv, "path missing", 2, func() { l = must(first.Campaign(t.Context())) })
				flights(t, srv, "resign", 1, func() { resign(t, l) })
				flights(t, srv, "free", 1, func() { l = must(first.TryCampaign(t.Context())) })
				w := campaign(t.Context(), standby)
				flights(t, srv, "a standby takes over with the event", 1, func() { resign(t, l); <-w.done })
				resign(t, w.leads(t))
				l = must(first.Campaign(t.Context()))
				w = campaign(t.Context(), standby)
				flights(t, srv, "a standby takes over from a session that ends", 0, func() { srv.ExpireSession(a.SessionID()); <-w.done })
				resign(t, w.leads(t))
				<-time.After(timeout)
				nothingLeft(t, srv)
			})
		})
	}
}

// TestElectionNames: Curator's LeaderLatch orders by what follows "latch-" and LeaderSelector, which is InterProcessMutex, by what
// follows "lock-"; the data is the id.
func TestElectionNames(t *testing.T) { // 2.1, 2.5
	for mark, opts := range map[string][]Option{"lock": nil, "latch": {LatchNames()}} {
		bubble(t, func(t *testing.T, srv *zktest.Server) {
			c := dial(t, srv)
			defer c.Close()
			e := NewElection(c, "/el", []byte("id"), opts...)
			l := must(e.Campaign(t.Context()))
			form := regexp.MustCompile(`^/el/_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-` + mark + `-\d{10}$`)
			data, st, err := srv.Get(l.Node())
			if !form.MatchString(l.Node()) || string(data) != "id" || st.EphemeralOwner != c.SessionID() || err != nil {
				t.Errorf("%s, %q, %x: %v", l.Node(), data, st.EphemeralOwner, err)
			}
			resign(t, l)
			// Those of the other kind do not count, a foreign one of the same does.
			other := map[string]string{"lock": "latch", "latch": "lock"}[mark]
			const guid = "/el/_c_01234567-89ab-cdef-0123-456789abcdef-"
			must(srv.Create(guid+other+"-0000000000", nil, proto.ModePersistent))
			resign(t, must(e.TryCampaign(t.Context())))
			must(srv.Create(guid+mark+"-0000000000", []byte("curator"), proto.ModePersistent))
			w := campaign(t.Context(), e)
			if p := must(e.Leader(t.Context())); w.over() || string(p.Data) != "curator" {
				t.Errorf("%+v; leads %v", p, w.over())
			}
			if err := srv.Delete(guid + mark + "-0000000000"); err != nil {
				t.Fatal(err)
			}
			resign(t, w.leads(t))
			nothingLeft(t, srv)
		})
	}
}

// TestElectionSharesThePathWithAMutex: without LatchNames.
func TestElectionSharesThePathWithAMutex(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		l := must(NewElection(a, "/el", nil).Campaign(t.Context()))
		w := goLock(t.Context(), NewMutex(b, "/el"))
		synctest.Wait()
		if w.over() {
			t.Fatal(w.err)
		}
		resign(t, l)
		<-w.done
		release(t, w.lease)
	})
}

func TestElectionRefuses(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		before := srv.Snapshot()
		lead := func(context.Context, *Leadership) error { t.Error("led"); return nil }
		for name, tc := range map[string]struct {
			e    *Election
			want error
		}{
			"nil":                 {nil, client.ErrZeroValue},
			"zero":                {&Election{}, client.ErrZeroValue},
			"no client":           {NewElection(nil, "/el", nil), client.ErrZeroValue},
			"no client, latch":    {NewElection(nil, "/el", nil, LatchNames()), client.ErrZeroValue},
			"bad path":            {NewElection(c, "el", nil), nil},
			"nil option":          {NewElection(c, "/el", nil, nil), errNilOption},
			"LocalQueue":          {NewElection(c, "/el", nil, LocalQueue()), nil},
			"HandOver":            {NewElection(c, "/el", nil, HandOver(2, time.Second)), nil},
			"GuardedHandover":     {NewElection(c, "/el", nil, GuardedHandover()), nil},
			"Revocable":           {NewElection(c, "/el", nil, Revocable(nil)), nil},
			"CuratorSemaphore":    {NewElection(c, "/el", nil, CuratorSemaphore()), nil},
			"KazooNames":          {NewElection(c, "/el", nil, KazooNames()), nil},
			"GoZookeeperNames":    {NewElection(c, "/el", nil, GoZookeeperNames()), nil},
			"CountForeign":        {NewElection(c, "/el", nil, CountForeign()), nil},
			"MaxHold of nothing":  {NewElection(c, "/el", nil, MaxHold(0)), nil},
			"latch with HandOver": {NewElection(c, "/el", nil, LatchNames(), HandOver(2, time.Second)), nil},
		} {
			errs := map[string]error{}
			_, errs["Campaign"] = tc.e.Campaign(t.Context())
			_, errs["TryCampaign"] = tc.e.TryCampaign(t.Context())
			_, errs["Leader"] = tc.e.Leader(t.Context())
			_, errs["Participants"] = tc.e.Participants(t.Context())
			errs["Lead"] = tc.e.Lead(t.Context(), lead)
			n := 0
			for p, err := range tc.e.Observe(t.Context()) {
				errs["Observe"] = err
				if n++; n > 1 || p.Node != "" {
					t.Errorf("%s: observed %+v", name, p)
				}
			}
			for op, err := range errs {
				var e *Error
				if !errors.As(err, &e) || tc.want != nil && !errors.Is(err, tc.want) || errors.Is(err, ErrNoLeader) {
					t.Errorf("%s: %s: %v", name, op, err)
				}
			}
			if len(errs) != 6 {
				t.Errorf("%s: %v", name, errs)
			}
			if p := tc.e.Path(); tc.want == client.ErrZeroValue && name != "no client" && name != "no client, latch" && p != "" {
				t.Errorf("%s: path %q", name, p)
			}
		}
		for _, opts := range [][]Option{{LatchNames()}} {
			if _, err := NewMutex(c, "/el", opts...).Lock(t.Context()); err == nil {
				t.Error("a mutex with the names of a latch")
			}
			if _, err := NewRWMutex(c, "/el", opts...).Lock(t.Context()); err == nil {
				t.Error("a read-write lock with the names of a latch")
			}
			if _, err := NewSemaphore(c, "/el", 1, opts...).Acquire(t.Context(), 1); err == nil {
				t.Error("a semaphore with the names of a latch")
			}
		}
		e := NewElection(c, "/el", nil)
		if _, err := e.Campaign(noContext); !errors.Is(err, client.ErrNilContext) {
			t.Errorf("%v", err)
		}
		if err := e.Lead(noContext, lead); !errors.Is(err, client.ErrNilContext) {
			t.Errorf("%v", err)
		}
		for _, err := range e.Observe(noContext) {
			if !errors.Is(err, client.ErrNilContext) {
				t.Errorf("%v", err)
			}
		}
		for name, l := range map[string]*Leadership{"nil": nil, "zero": {}, "of a zero lease": {&Lease{}}} {
			if err := l.Resign(t.Context()); !errors.Is(err, ErrNotHeld) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if after := srv.Snapshot(); after.Zxid != before.Zxid {
			t.Error("something was written")
		}
	})
}
