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

// call is a blocking method that runs in its own goroutine.
type call struct {
	err  error
	done chan struct{}
}

func goCall(ctx context.Context, f func(context.Context) error) *call {
	w := &call{done: make(chan struct{})}
	go func() {
		w.err = f(ctx)
		close(w.done)
	}()
	return w
}

// over says whether the call has returned once nothing moves any more.
func (w *call) over() bool {
	synctest.Wait()
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// ends waits for the call and wants this error.
func (w *call) ends(t *testing.T, want error) {
	t.Helper()
	select {
	case <-w.done:
	case <-time.After(time.Hour): // of virtual time
		t.Fatal("does not return")
	}
	if !errors.Is(w.err, want) || want == nil && w.err != nil {
		t.Fatalf("%v, want %v", w.err, want)
	}
}

func TestBarrier(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		gate := NewBarrier(a, "/gates/one")
		if gate.Path() != "/gates/one" {
			t.Error(gate.Path())
		}
		goCall(t.Context(), gate.Wait).ends(t, nil) // not set
		for range 2 {
			goCall(t.Context(), gate.Set).ends(t, nil)
		}
		waiting := goCall(t.Context(), NewBarrier(b, "/gates/one").Wait)
		if waiting.over() {
			t.Fatal("passed a barrier that is set")
		}
		if err := srv.Set("/gates/one", []byte("news")); err != nil {
			t.Fatal(err)
		}
		if waiting.over() {
			t.Fatal("passed because of a change of the data")
		}
		for range 2 {
			goCall(t.Context(), gate.Remove).ends(t, nil)
		}
		waiting.ends(t, nil)
		synctest.Wait()
		if w := srv.Watches(); len(w) != 0 {
			t.Errorf("watches left: %v", w)
		}
	})
}

// F98: whatever wakes those who wait, they look again: lost connections, an expired session.
func TestBarrierHoldsThroughFaults(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := dial(t, srv)
		defer a.Close()
		goCall(t.Context(), NewBarrier(a, "/gate").Set).ends(t, nil)
		waiting := goCall(t.Context(), NewBarrier(a, "/gate").Wait)
		synctest.Wait()
		for range 3 {
			srv.CloseBefore(zktest.Match{Op: proto.OpSync})
			srv.DropConnections()
			<-time.After(3 * time.Second)
		}
		id := a.SessionID()
		srv.ExpireSession(id)
		<-time.After(3 * time.Second)
		if a.SessionID() == id {
			t.Fatal("the session has not expired")
		}
		if waiting.over() {
			t.Fatal("passed a barrier that is set")
		}
		if err := srv.Delete("/gate"); err != nil {
			t.Fatal(err)
		}
		waiting.ends(t, nil)
	})
}

// What the first read after a lost reply finds decides: the write is repeated and makes no difference.
func TestBarrierRepliesLost(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := dial(t, srv)
		defer a.Close()
		gate := NewBarrier(a, "/gate")
		srv.CloseAfter(zktest.Match{Op: proto.OpCreate2})
		goCall(t.Context(), gate.Set).ends(t, nil)
		srv.CloseAfter(zktest.Match{Op: proto.OpDelete})
		goCall(t.Context(), gate.Remove).ends(t, nil)
		if srv.Exists("/gate") {
			t.Error("still set")
		}
	})
}

func TestBarrierWaitEnds(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := dial(t, srv)
		goCall(t.Context(), NewBarrier(a, "/gate").Set).ends(t, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		goCall(ctx, NewBarrier(a, "/gate").Wait).ends(t, context.DeadlineExceeded)
		synctest.Wait()
		if w := srv.Watches(); len(w) != 0 {
			t.Errorf("watches left: %v", w)
		}
		final := dial(t, srv, client.FinalExpiry())
		waiting := goCall(t.Context(), NewBarrier(final, "/gate").Wait)
		closed := goCall(t.Context(), NewBarrier(a, "/gate").Wait)
		synctest.Wait()
		srv.ExpireSession(final.SessionID())
		waiting.ends(t, ErrSessionExpired)
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		closed.ends(t, ErrClosed)
		final.Close()
	})
}

// Small recipes that are nil, zero or of a bad path answer with errors.
func TestSmallRecipesThatAreNone(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		ctx := t.Context()
		methods := func(b *Barrier, n *Counter, d *DoubleBarrier, m *Member, j *SingletonJob) map[string]error {
			_, get := n.Get(ctx)
			_, add := n.Add(ctx, 1)
			_, cas := n.CompareAndSet(ctx, 0, 1)
			_, members := m.Members(ctx)
			_, run := j.Run(ctx, func(context.Context, *Lease) error { return nil })
			_, _, running := j.Running(ctx)
			return map[string]error{
				"set": b.Set(ctx), "remove": b.Remove(ctx), "wait": b.Wait(ctx), "get": get, "add": add, "compareandset": cas,
				"enter": d.Enter(ctx), "leave": d.Leave(ctx), "join": m.Join(ctx), "member": m.Run(ctx), "leave group": m.Leave(ctx),
				"members": members, "run": run, "running": running,
			}
		}
		for name, err := range methods(nil, nil, nil, nil, nil) {
			if !errors.Is(err, client.ErrZeroValue) {
				t.Errorf("nil, %s: %v", name, err)
			}
		}
		for name, err := range methods(&Barrier{}, &Counter{}, &DoubleBarrier{}, &Member{}, &SingletonJob{}) {
			if !errors.Is(err, client.ErrZeroValue) {
				t.Errorf("zero, %s: %v", name, err)
			}
		}
		const bad = "not/absolute"
		var path *client.PathError
		for name, err := range methods(NewBarrier(c, bad), NewCounter(c, bad), NewDoubleBarrier(c, bad, 1), NewMember(c, bad, "a", nil), NewSingletonJob(c, bad)) {
			if !errors.As(err, &path) {
				t.Errorf("bad path, %s: %v", name, err)
			}
		}
		for _, name := range []string{"", "a/b"} {
			if err := NewMember(c, "/group", name, nil).Join(ctx); err == nil {
				t.Errorf("joined as %q", name)
			}
		}
		if err := NewDoubleBarrier(c, "/double", 0).Enter(ctx); err == nil {
			t.Error("entered with nobody")
		}
		if _, err := NewSingletonJob(c, "/job").Run(ctx, nil); !errors.Is(err, client.ErrZeroValue) {
			t.Error(err)
		}
		if _, _, err := NewSingletonJob(c, "/job", nil).Running(ctx); err == nil {
			t.Error("a nil option")
		}
	})
}
