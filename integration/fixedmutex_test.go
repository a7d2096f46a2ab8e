package integration

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// createOrWait is how locks are often written by hand: whoever can create the znode has the lock, the others wait for its end.
type createOrWait struct {
	c    *client.Client
	path string
}

func (l createOrWait) lock(ctx context.Context) error {
	for {
		_, _, err := l.c.Create(ctx, l.path, nil, client.ModeEphemeral, nil)
		if !errors.Is(err, client.ErrNodeExists) {
			return err
		}
		node, w, err := l.c.ExistsWatch(ctx, l.path)
		if err != nil {
			return err
		}
		if node.Exists {
			_, err = w.Wait(ctx)
		}
		w.Close()
		if err != nil {
			return err
		}
	}
}

func (l createOrWait) unlock(ctx context.Context) error {
	return l.c.Delete(ctx, l.path, client.AnyVersion)
}

// TestFixedMutex: FixedMutexes and hand-written clients, three of each, on one path of a real server.
func TestFixedMutex(t *testing.T) { // docs/locks.md A9
	ens := zkserver.Require(t, zkserver.Options{})
	ctx := patient(t)
	const path, rounds = "/fixed/deep/lock", 25
	warm := connect(t, ens.ConnectString())
	l, err := recipes.NewFixedMutex(warm, path).Lock(ctx) // makes the path, for those who do not
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(ctx); err != nil {
		t.Fatal(err)
	}
	var inside, switches atomic.Int32
	var last recipes.Token // guarded by the lock
	var ours bool          // likewise: who had it last
	turn := func(mine bool) {
		if n := inside.Add(1); n != 1 {
			t.Errorf("%d holders", n)
		}
		if mine != ours {
			switches.Add(1)
		}
		ours = mine
		inside.Add(-1)
	}
	recipe := func(m *recipes.FixedMutex) error {
		for range rounds {
			l, err := m.Lock(ctx)
			if err != nil {
				return err
			}
			if l.Token().Compare(last) <= 0 {
				t.Errorf("token %v after %v", l.Token(), last)
			}
			last = l.Token()
			turn(true)
			if err := l.Release(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	byHand := func(l createOrWait) error {
		for range rounds {
			if err := l.lock(ctx); err != nil {
				return err
			}
			turn(false)
			if err := l.unlock(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	done := make(chan error, 6)
	for range 3 {
		m, foreign := recipes.NewFixedMutex(connect(t, ens.ConnectString()), path), createOrWait{connect(t, ens.ConnectString()), path}
		// Contenders; owned by the test, which waits for them; they end after their rounds, or with ctx.
		go func() { done <- recipe(m) }()
		go func() { done <- byHand(foreign) }()
	}
	for range 6 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d holds of each kind, %d changes between the two", 3*rounds, switches.Load())
	if _, there, err := warm.Exists(ctx, path); there || err != nil {
		t.Errorf("left behind: %v %v", there, err)
	}
}

// TestFixedMutexOnServer: what the znodes look like, and how the guards and the release take what others do, is not zktest's opinion alone.
func TestFixedMutexOnServer(t *testing.T) { // docs/locks.md A9
	ens := zkserver.Require(t, zkserver.Options{})
	a, b, ctx := connect(t, ens.ConnectString()), connect(t, ens.ConnectString()), patient(t)
	m := recipes.NewFixedMutex(a, "/fixed-lock")
	l, err := m.Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	st, _, err := a.Exists(ctx, "/fixed-lock")
	if err != nil || st.Czxid != l.Token().Zxid || st.Version != client.FixedVersion || st.EphemeralOwner != a.SessionID() {
		t.Errorf("%+v %v, token %v", st, err, l.Token())
	}
	if counter, _, err := a.Exists(ctx, "/fixed-lock-counter"); err != nil || counter.Mzxid != l.Token().Zxid {
		t.Errorf("%+v %v, token %v", counter, err, l.Token())
	}
	if _, err := a.Multi(ctx, l.Guards()...); err != nil {
		t.Errorf("guards: %v", err)
	}
	if _, err := recipes.NewFixedMutex(b, "/fixed-lock").TryLock(ctx); !errors.Is(err, recipes.ErrNotAcquired) {
		t.Errorf("%v", err)
	}
	// Somebody writes the znode: the release deletes it all the same.
	if err := recipes.Revoke(ctx, b, l.Node()); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(ctx); err != nil {
		t.Error(err)
	}
	if _, err := a.Multi(ctx, l.Guard()); !errors.Is(err, client.ErrBadVersion) {
		t.Errorf("guard after the release: %v", err)
	}
	// Somebody deletes it, and makes his own: the release spares that.
	if l, err = m.Lock(ctx); err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(ctx, "/fixed-lock", client.AnyVersion); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Create(ctx, "/fixed-lock", nil, client.ModeEphemeral, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Multi(ctx, l.Guards()...); !errors.Is(err, client.ErrBadVersion) {
		t.Errorf("guards without the znode: %v", err)
	}
	if err := l.Release(ctx); !errors.Is(err, recipes.ErrNodeGone) {
		t.Errorf("%v", err)
	}
	if _, there, err := b.Exists(ctx, "/fixed-lock"); err != nil || !there {
		t.Errorf("the other's znode was deleted: %v", err)
	}
}
