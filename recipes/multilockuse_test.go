package recipes

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// noContext is what a caller that has none may pass.
var noContext context.Context

func TestMultiLockRefuses(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		must(srv.Create("/view", nil, proto.ModePersistent))
		view := must(a.View("/view"))
		good := NewMutex(a, "/good").Part()
		before := srv.Snapshot()
		for name, tc := range map[string]struct {
			want  error // nil: any
			parts []Part
		}{
			"no parts":                    {client.ErrZeroValue, nil},
			"zero part":                   {client.ErrZeroValue, []Part{{}}},
			"zero part behind a good":     {client.ErrZeroValue, []Part{good, {}}},
			"good part behind a zero":     {client.ErrZeroValue, []Part{{}, good}},
			"nil mutex":                   {client.ErrZeroValue, []Part{good, (*Mutex)(nil).Part()}},
			"zero mutex":                  {client.ErrZeroValue, []Part{good, (&Mutex{}).Part()}},
			"nil read side":               {client.ErrZeroValue, []Part{good, (*RWMutex)(nil).RPart()}},
			"nil write side":              {client.ErrZeroValue, []Part{good, (*RWMutex)(nil).Part()}},
			"zero read side":              {client.ErrZeroValue, []Part{good, (&RWMutex{}).RPart()}},
			"nil semaphore":               {client.ErrZeroValue, []Part{good, (*Semaphore)(nil).Part(1)}},
			"zero semaphore":              {client.ErrZeroValue, []Part{good, (&Semaphore{}).Part(1)}},
			"mutex without a client":      {client.ErrZeroValue, []Part{good, NewMutex(nil, "/x").Part()}},
			"bad path":                    {nil, []Part{good, NewMutex(a, "x").Part()}},
			"bad option":                  {nil, []Part{good, NewMutex(a, "/x", MaxHold(-1)).Part()}},
			"the same twice":              {ErrDuplicate, []Part{good, NewMutex(a, "/good").Part()}},
			"both sides of a lock":        {ErrDuplicate, []Part{NewRWMutex(a, "/x").Part(), good, NewRWMutex(a, "/x").RPart()}},
			"permits twice":               {ErrDuplicate, []Part{NewSemaphore(a, "/x", 2).Part(1), NewSemaphore(a, "/x", 2).Part(1)}},
			"two clients":                 {nil, []Part{good, NewMutex(b, "/x").Part()}},
			"two chroots":                 {nil, []Part{good, NewMutex(view, "/x").Part()}},
			"LocalQueue":                  {nil, []Part{good, NewMutex(a, "/x", LocalQueue()).Part()}},
			"HandOver":                    {nil, []Part{good, NewMutex(a, "/x", HandOver(2, time.Second)).Part()}},
			"Curator's semaphore":         {nil, []Part{good, NewSemaphore(a, "/x", 2, CuratorSemaphore()).Part(1)}},
			"Curator's mutex":             {nil, []Part{good, NewMutex(a, "/x", CuratorSemaphore()).Part()}},
			"more permits than there are": {ErrCapacity, []Part{good, NewSemaphore(a, "/x", 2).Part(3)}},
			"no permit":                   {ErrCapacity, []Part{good, NewSemaphore(a, "/x", 2).Part(0)}},
			"permits below zero":          {ErrCapacity, []Part{good, NewSemaphore(a, "/x", FromZnode).Part(-1)}},
			"permits beyond all bounds":   {ErrCapacity, []Part{good, NewSemaphore(a, "/x", FromZnode).Part(MaxPermits + 1)}},
		} {
			m := NewMultiLock(tc.parts...)
			for _, f := range []func(context.Context) (*MultiLease, error){m.Lock, m.TryLock} {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				ml, err := f(ctx)
				cancel()
				var e *Error
				if ml != nil || !errors.As(err, &e) || errors.Is(err, context.DeadlineExceeded) || tc.want != nil && !errors.Is(err, tc.want) {
					t.Errorf("%s: %v, %v", name, ml, err)
				}
			}
		}
		for name, m := range map[string]*MultiLock{"nil": nil, "zero": {}} {
			if _, err := m.Lock(t.Context()); !errors.Is(err, client.ErrZeroValue) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := NewMultiLock(good).Lock(noContext); !errors.Is(err, client.ErrNilContext) {
			t.Errorf("nil context: %v", err)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := NewMultiLock(good).TryLock(over); !errors.Is(err, context.Canceled) {
			t.Errorf("a context that has ended: %v", err)
		}
		if after := srv.Snapshot(); after.Zxid != before.Zxid || after.Requests-after.Pings != before.Requests-before.Pings {
			t.Errorf("requests were sent: %v, before %v", after, before)
		}
	})
}

func TestNilMultiLease(t *testing.T) {
	for name, ml := range map[string]*MultiLease{"nil": nil, "zero": {}} {
		if ml.Leases() != nil && len(ml.Leases()) > 0 || len(ml.Guards()) > 0 {
			t.Errorf("%s: %v, %v", name, ml.Leases(), ml.Guards())
		}
		if err := ml.Release(t.Context()); !errors.Is(err, ErrNotHeld) {
			t.Errorf("%s: Release: %v", name, err)
		}
		if err := ml.Release(noContext); !errors.Is(err, ErrNotHeld) {
			t.Errorf("%s: Release: %v", name, err)
		}
		if err := ml.ReleasePipelined(); !errors.Is(err, ErrNotHeld) {
			t.Errorf("%s: ReleasePipelined: %v", name, err)
		}
	}
}

// What is promoted from Lease does not panic for a nil hold either.
func TestNilHolds(t *testing.T) {
	type hold interface {
		Node() string
		Token() Token
		Shared() bool
		Guard() client.Op
		Guards() []client.Op
		Context() context.Context
		State() State
		States(context.Context) iter.Seq[State]
		Done() <-chan struct{}
		Downgrade(context.Context) error
		Release(context.Context) error
		ReleasePipelined() error
	}
	for name, h := range map[string]hold{"nil lease": (*Lease)(nil), "lease": &Lease{}, "nil multi-lease": (*MultiLease)(nil),
		"multi-lease": &MultiLease{}, "nil leadership": (*Leadership)(nil), "leadership": &Leadership{}} {
		if h.Node() != "" || !h.Token().IsZero() || h.Shared() || len(h.Guards()) > 0 || h.State() != Lost || h.Context().Err() == nil {
			t.Errorf("%s: %q, %v, %v, %v", name, h.Node(), h.Token(), h.State(), h.Context().Err())
		}
		if op := h.Guard(); !reflect.DeepEqual(op, client.Op{}) {
			t.Errorf("%s: %v", name, op)
		}
		<-h.Done()
		for s := range h.States(t.Context()) {
			if s != Lost {
				t.Errorf("%s: %v", name, s)
			}
		}
		for _, err := range []error{h.Downgrade(t.Context()), h.Release(t.Context()), h.Release(noContext), h.ReleasePipelined()} {
			if !errors.Is(err, ErrNotHeld) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestMultiLockNested: the context of the whole, and that of each of its parts, carries the holds of all parts: who locks one of them
// with it would wait for itself.
func TestMultiLockNested(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		ma, rw, sem := NewMutex(c, "/a"), NewRWMutex(c, "/b"), NewSemaphore(c, "/c", 2)
		ml := lockAll(t, NewMultiLock(ma.Part(), rw.RPart(), sem.Part(2)))
		type key struct{}
		for i, l := range append(ml.Leases(), ml.Lease) {
			ctx, cancel := context.WithTimeout(context.WithValue(l.Context(), key{}, 1), time.Minute)
			for name, f := range map[string]func(context.Context) (*Lease, error){
				"mutex": ma.Lock, "mutex, another object": NewMutex(c, "/a").TryLock, "read side": rw.RLock,
				"permits": func(ctx context.Context) (*Lease, error) { return sem.Acquire(ctx, 1) },
			} {
				if _, err := f(ctx); !errors.Is(err, ErrNested) {
					t.Errorf("%s with the context of part %d: %v", name, i, err)
				}
			}
			if _, err := rw.Lock(ctx); !errors.Is(err, ErrUpgrade) {
				t.Errorf("write side: %v", err)
			}
			for _, m := range []*MultiLock{NewMultiLock(NewMutex(c, "/x").Part(), sem.Part(1)), NewMultiLock(NewMutex(c, "/x").Part(), ma.Part())} {
				if _, err := m.Lock(ctx); !errors.Is(err, ErrNested) {
					t.Errorf("MultiLock: %v", err)
				}
			}
			release(t, must(NewMutex(c, "/x").Lock(ctx))) // another lock
			cancel()
		}
		inner := must(NewMutex(c, "/d").Lock(ml.Context()))
		if _, err := NewMultiLock(NewMutex(c, "/x").Part(), NewMutex(c, "/d").Part()).Lock(inner.Context()); !errors.Is(err, ErrNested) {
			t.Errorf("MultiLock of what is held: %v", err)
		}
		release(t, inner)
		ctx := ml.Context()
		releaseAll(t, ml)
		release(t, must(ma.Lock(context.WithoutCancel(ctx)))) // what was released is not held
		release(t, must(rw.Lock(context.WithoutCancel(ctx))))
		nothingLeft(t, srv)
	})
}

func TestMultiLeaseContextHasTheValuesOfLock(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		type key struct{}
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
		ml := must(mutexes(c, "/a", "/b").Lock(ctx))
		cancel()
		for _, l := range append(ml.Leases(), ml.Lease) {
			if l.Context().Err() != nil || l.Context().Value(key{}) != "value" {
				t.Errorf("%v, %v", l.Context().Err(), l.Context().Value(key{}))
			}
		}
		releaseAll(t, ml)
	})
}

// TestMultiLeaseLoss: whatever ends one part ends the whole, with that part's cause; the release says the same.
func TestMultiLeaseLoss(t *testing.T) {
	for name, tc := range map[string]struct {
		opts  []Option
		end   func(t *testing.T, srv *zktest.Server, c *client.Client, node string)
		cause error
	}{
		"WatchOwnNode": {[]Option{WatchOwnNode()}, func(t *testing.T, srv *zktest.Server, _ *client.Client, node string) {
			if err := srv.Delete(node); err != nil {
				t.Fatal(err)
			}
		}, ErrNodeGone},
		"MaxHold": {[]Option{MaxHold(time.Minute)}, func(*testing.T, *zktest.Server, *client.Client, string) {
			<-time.After(time.Minute)
		}, ErrMaxHold},
		"Revocable": {[]Option{Revocable(nil)}, func(t *testing.T, _ *zktest.Server, c *client.Client, node string) {
			if err := Revoke(t.Context(), c, node); err != nil {
				t.Fatal(err)
			}
		}, ErrRevoked},
		"Strict": {[]Option{Strict()}, func(_ *testing.T, srv *zktest.Server, _ *client.Client, _ string) {
			srv.DropConnections()
		}, ErrDisconnected},
		"expiry": {nil, func(_ *testing.T, srv *zktest.Server, c *client.Client, _ string) {
			srv.ExpireSession(c.SessionID())
		}, ErrSessionExpired},
		"close": {nil, func(_ *testing.T, _ *zktest.Server, c *client.Client, _ string) {
			_ = c.Close()
		}, ErrClosed},
	} {
		for part := range 3 {
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T, srv *zktest.Server) {
					c := dial(t, srv)
					defer c.Close()
					var opts [3][]Option
					opts[part] = tc.opts
					ml := lockAll(t, NewMultiLock(NewMutex(c, "/a", opts[0]...).Part(), NewRWMutex(c, "/b", opts[1]...).RPart(),
						NewSemaphore(c, "/c", 2, opts[2]...).Part(1)))
					var states []State
					told := make(chan struct{})
					go func() {
						for s := range ml.States(t.Context()) {
							states = append(states, s)
						}
						close(told)
					}()
					ctx, cancel := context.WithCancel(ml.Context())
					defer cancel()
					synctest.Wait()
					if ml.State() != Held {
						t.Fatal(ml.State())
					}
					tc.end(t, srv, c, ml.Leases()[part].Node())
					<-ctx.Done()
					<-told
					if !errors.Is(context.Cause(ctx), tc.cause) || !errors.Is(ml.Context().Err(), tc.cause) || ml.State() != Lost {
						t.Errorf("part %d: %v, %v, %v", part, context.Cause(ctx), ml.Context().Err(), ml.State())
					}
					if n := len(states); n == 0 || states[n-1] != Lost {
						t.Errorf("part %d: states %v", part, states)
					}
					if err := ml.Release(t.Context()); !errors.Is(err, ErrLost) || !errors.Is(err, tc.cause) {
						t.Errorf("part %d: Release: %v", part, err)
					}
					nothingLeft(t, srv)
				})
			})
		}
	}
}
