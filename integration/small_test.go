package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/integration/faultproxy"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// untilWatched waits until the server has n watches on a path, whoever has set them.
func untilWatched(t *testing.T, s *zkserver.Server, path string, n int) {
	t.Helper()
	ctx := patient(t)
	for {
		text, err := s.Ask(ctx, "wchp")
		if err != nil {
			t.Fatal(err)
		}
		_, below, _ := strings.Cut("\n"+text, "\n"+path+"\n")
		got := 0
		for line := range strings.SplitSeq(below, "\n") {
			if !strings.HasPrefix(line, "\t0x") {
				break
			}
			got++
		}
		if got == n {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%d watches on %s, want %d", got, path, n)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// All who wait at a barrier pass when it is removed, not earlier, and who comes then does not wait.
func TestBarrier(t *testing.T) {
	ens := zkserver.Require(t, zkserver.Options{})
	setter := recipes.NewBarrier(connect(t, ens.ConnectString()), "/gates/start")
	if err := setter.Set(patient(t)); err != nil {
		t.Fatal(err)
	}
	var removed atomic.Bool
	passed := make(chan error, 4)
	wait := func(b *recipes.Barrier) {
		err := b.Wait(patient(t))
		if err == nil && !removed.Load() {
			err = fmt.Errorf("has passed a barrier that is set")
		}
		passed <- err
	}
	for range 3 {
		b := recipes.NewBarrier(connect(t, ens.ConnectString()), "/gates/start")
		go wait(b) // ends when it has passed
	}
	untilWatched(t, ens.Server(1), "/gates/start", 3)
	removed.Store(true)
	if err := setter.Remove(patient(t)); err != nil {
		t.Fatal(err)
	}
	wait(setter)
	for range 4 {
		if err := <-passed; err != nil {
			t.Error(err)
		}
	}
}

// Members of a double barrier begin and end each round together.
func TestDoubleBarrier(t *testing.T) {
	const members, rounds = 3, 5
	ens := zkserver.Require(t, zkserver.Options{})
	var begun, ended atomic.Int32
	var all sync.WaitGroup
	for range members {
		b := recipes.NewDoubleBarrier(connect(t, ens.ConnectString()), "/rounds", members)
		// Member; owned by the test; ends after its rounds.
		all.Go(func() {
			for i := range int32(rounds) {
				begun.Add(1)
				if err := b.Enter(patient(t)); err != nil {
					t.Errorf("round %d: %v", i, err)
					return
				}
				if n := begun.Load(); n != members*(i+1) {
					t.Errorf("round %d: one is inside when %d have come, want %d", i, n, members*(i+1))
				}
				ended.Add(1)
				if err := b.Leave(patient(t)); err != nil {
					t.Errorf("round %d: %v", i, err)
					return
				}
				if n := ended.Load(); n < members*(i+1) {
					t.Errorf("round %d: one has left when %d were done, want %d", i, n, members*(i+1))
				}
			}
		})
	}
	all.Wait()
	c := connect(t, ens.ConnectString())
	waitFor(t, c, "/rounds", 0)
}

// Sums of a counter are all different and without a gap, whoever adds.
func TestCounter(t *testing.T) {
	const adders, each = 4, 25
	ens := zkserver.Require(t, zkserver.Options{})
	var mu sync.Mutex
	var sums []int64
	var all sync.WaitGroup
	for range adders {
		n := recipes.NewCounter(connect(t, ens.ConnectString()), "/numbers/next")
		// Adder; owned by the test; ends when it has added.
		all.Go(func() {
			for range each {
				sum, err := n.Add(patient(t), 1)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				sums = append(sums, sum)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.Sort(sums)
	for i, sum := range sums {
		if sum != int64(i)+1 {
			t.Fatalf("the sums are %d", sums)
		}
	}
	n := recipes.NewCounter(connect(t, ens.ConnectString()), "/numbers/next")
	wrong, err := n.CompareAndSet(patient(t), 7, 8)
	right, errRight := n.CompareAndSet(patient(t), adders*each, -1)
	if wrong || !right || err != nil || errRight != nil {
		t.Errorf("compare and set: %v, %v; %v, %v", wrong, err, right, errRight)
	}
	if value, err := n.Get(patient(t)); value != -1 || err != nil || len(sums) != adders*each {
		t.Errorf("%d, %v after %d sums", value, err, len(sums))
	}
}

// memberCase is a member that is cut off from the ensemble for as long as its session lasts.
type memberCase struct {
	c, eyes *client.Client
	proxy   *faultproxy.Proxy
}

// owner returns the session to which the member's znode belongs, 0 if there is none.
func (m *memberCase) owner(t *testing.T) int64 {
	t.Helper()
	st, _, err := m.eyes.Exists(patient(t), "/group/one") // of a znode that is not there the Stat is zero
	if err != nil {
		t.Fatal(err)
	}
	return st.EphemeralOwner
}

// untilOwned waits until the znode belongs to a session.
func (m *memberCase) untilOwned(t *testing.T, id int64) {
	t.Helper()
	for {
		node, w, err := m.eyes.ExistsWatch(patient(t), "/group/one")
		if err != nil {
			t.Fatal(err)
		}
		if node.Stat.EphemeralOwner == id {
			w.Close()
			return
		}
		if _, err := w.Wait(patient(t)); err != nil {
			t.Fatalf("the znode belongs to %#x, want %#x: %v", node.Stat.EphemeralOwner, id, err)
		}
	}
}

// loseSession cuts the member off until its client has given up the session, and says whether the ensemble still had the znode of
// that when the client had the next one.
func (m *memberCase) loseSession(t *testing.T) (leftOver bool) {
	t.Helper()
	gen, old := m.c.Generation(), m.c.SessionID()
	if err := m.proxy.Refuse(); err != nil {
		t.Fatal(err)
	}
	m.proxy.Cut()
	select {
	case <-gen.Ended():
	case <-patient(t).Done():
		t.Fatal("the session goes on without the ensemble")
	}
	if err := m.proxy.Heal(); err != nil {
		t.Fatal(err)
	}
	if err := m.c.Sync(patient(t), "/"); err != nil {
		t.Fatal(err)
	}
	leftOver = m.owner(t) == old && m.c.SessionID() != old
	m.untilOwned(t, m.c.SessionID())
	return leftOver
}

// TestMember joins, and joins again in the next session: not before the ensemble, which rounds up when a session ends, has deleted the
// znode of the former, which the member must not take for its own.
func TestMember(t *testing.T) { // F101
	ens := zkserver.Require(t, zkserver.Options{TickTime: 2 * time.Second})
	m := &memberCase{eyes: connect(t, ens.ConnectString())}
	var err error
	if m.proxy, err = faultproxy.Listen(ens.ConnectString(), faultproxy.Options{}); err != nil {
		t.Fatal(err)
	}
	defer m.proxy.Close()
	m.c = connect(t, m.proxy.Addr(), client.SessionTimeout(4*time.Second), client.Backoff(10*time.Millisecond, 100*time.Millisecond))
	one, ctx := recipes.NewMember(m.c, "/group", "one", []byte("here")), patient(t)
	running, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- one.Run(running) }() // ends when it is stopped
	m.untilOwned(t, m.c.SessionID())
	tries := 1
	for ; !m.loseSession(t); tries++ {
		if tries == 3 {
			t.Fatal("the ensemble has always been faster than the client: this is not what the test is about")
		}
	}
	t.Logf("session lost %d times until its znode was left over", tries)
	all, err := recipes.NewMember(m.eyes, "/group", "other", nil).Members(ctx)
	if err != nil || len(all) != 1 || all[0].Name != "one" || string(all[0].Data) != "here" || all[0].Session != m.c.SessionID() {
		t.Errorf("%+v, %v", all, err)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	waitFor(t, m.eyes, "/group", 0)
}
