package integration

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// TestReadOnly is fault 6: C136, C137 and C139.
func TestReadOnly(t *testing.T) {
	for _, version := range zkserver.Versions() {
		t.Run("local sessions "+version, func(t *testing.T) {
			ens := readOnlyEnsemble(t, version, true)
			prepareReadOnly(t, ens)
			t.Run("cut off", func(t *testing.T) { cutOffAndFound(t, ens) })
			t.Run("others stopped", func(t *testing.T) { othersStopped(t, ens) })
		})
		t.Run("without "+version, func(t *testing.T) {
			ens := readOnlyEnsemble(t, version, false)
			prepareReadOnly(t, ens)
			withoutLocalSessions(t, ens)
		})
	}
}

func prepareReadOnly(t *testing.T, ens *zkserver.Ensemble) {
	t.Helper()
	c := connect(t, ens.ConnectString())
	if _, _, err := c.CreateAll(patient(t), "/ro/lock", nil, client.ModePersistent, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Set(patient(t), "/ro", []byte("1"), -1); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// servesReads checks what a read-only server does and what it does not, and leaves two watches.
func servesReads(t *testing.T, c *client.Client) (*client.Watch, *client.Watcher) {
	t.Helper()
	ctx := patient(t)
	node, one, err := c.GetWatch(ctx, "/ro")
	if err != nil || string(node.Data) != "1" {
		t.Fatalf("get: %q, %v", node.Data, err)
	}
	all, err := c.Watch(ctx, "/ro", client.Recursive)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(all.Close)
	if kids, _, err := c.Children(ctx, "/ro"); err != nil || len(kids) != 1 {
		t.Errorf("children: %v, %v", kids, err)
	}
	_, setErr := c.Set(ctx, "/ro", nil, -1)
	_, _, createErr := c.Create(ctx, "/ro/e", nil, client.ModeEphemeral, nil)
	_, multiErr := c.Multi(ctx, client.SetOp("/ro", nil, -1))
	for what, err := range map[string]error{"set": setErr, "create": createErr, "multi": multiErr,
		"delete": c.Delete(ctx, "/ro/lock", -1), "sync": c.Sync(ctx, "/ro")} {
		var e *client.Error
		if !errors.Is(err, client.ErrNotReadOnly) || !errors.As(err, &e) || e.Outcome != client.OutcomeRejected || client.MaybeApplied(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := recipes.NewMutex(c, "/ro/lock").Lock(ctx); !errors.Is(err, recipes.ErrReadOnly) {
		t.Errorf("lock: %v", err)
	}
	return one, all
}

// cutOffAndFound: the client reaches only a member that is cut off from the others, and then these too. It finds them by
// asking, since nothing happens to its connection.
func cutOffAndFound(t *testing.T, ens *zkserver.Ensemble) {
	alone := ens.Server(aloneID)
	for _, link := range ens.Links(aloneID) {
		if err := link.Cut(); err != nil {
			t.Fatal(err)
		}
	}
	untilReadOnly(t, alone)
	g := &gate{only: alone.Addr()}
	c := connect(t, ens.ConnectString(), client.ReadOnly(), client.Dialer(g.dial))
	if c.State() != client.StateConnectedReadOnly {
		t.Fatalf("state: %v", c.State())
	}
	temporary := c.SessionID()
	one, all := servesReads(t, c)
	// The quorum goes on meanwhile.
	writer := connect(t, ens.Server(1).Addr()+","+ens.Server(2).Addr())
	if _, err := writer.Set(patient(t), "/ro", []byte("2"), -1); err != nil {
		t.Fatal(err)
	}
	states := changesOf(t, c)
	g.restrict("")
	last := states(client.StateConnected)
	for _, change := range last {
		if change.Generation != 1 || change.State == client.StateExpired {
			t.Errorf("%+v", change)
		}
	}
	if now := last[len(last)-1]; now.SessionID == temporary || now.Server == alone.Addr() {
		t.Errorf("connected to %s with session %#x after %#x", now.Server, now.SessionID, temporary)
	}
	if ev, err := one.Wait(patient(t)); err != nil || ev.Type != client.EventNodeDataChanged {
		t.Errorf("watch: %v, %v", ev, err)
	}
	if ev, err := all.Next(patient(t)); err != nil || ev.Type != client.EventGap {
		t.Errorf("watcher: %v, %v", ev, err)
	}
	if _, err := c.Set(patient(t), "/ro", []byte("1"), -1); err != nil {
		t.Error(err)
	}
	ids, asks := g.seen()
	if slices.Contains(ids, temporary) {
		t.Errorf("the temporary id %#x was sent: %#x", temporary, ids)
	}
	if asks == 0 {
		t.Error("nobody was asked")
	}
	for _, link := range ens.Links(aloneID) {
		if err := link.Heal(); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "the member to be back", func() bool {
		st, err := alone.Status(patient(t))
		return err == nil && st.Mode != zkserver.ModeReadOnly
	})
	if err := ens.Wait(patient(t)); err != nil {
		t.Fatal(err)
	}
}

// othersStopped: no quorum at all, for a client with a session of it, a new one, and one that has not asked for this.
func othersStopped(t *testing.T, ens *zkserver.Ensemble) {
	realGate := &gate{}
	real := connect(t, ens.ConnectString(), client.ReadOnly(), client.Dialer(realGate.dial), client.SessionTimeout(4*time.Second))
	if _, _, err := real.Create(patient(t), "/real", nil, client.ModeEphemeral, nil); err != nil { // not a local session any more
		t.Fatal(err)
	}
	realID, ofReal := real.SessionID(), changesOf(t, real)
	start := stopOthers(t, ens)

	g := &gate{}
	c := connect(t, ens.ConnectString(), client.ReadOnly(), client.Dialer(g.dial))
	temporary := c.SessionID()
	if st := c.State(); st != client.StateConnectedReadOnly {
		t.Errorf("state: %v", st)
	}
	one, all := servesReads(t, c)
	threeAttempts(t, ens.Server(aloneID).Addr(), func(err error) bool { return errors.Is(err, conn.ErrRefused) })

	steps := ofReal(client.StateConnectedReadOnly)
	var states []client.State
	for _, s := range steps {
		if s.State != client.StateConnected || len(states) > 0 { // it may have had to move once more while the ensemble went
			states = append(states, s.State)
		}
		if s.State == client.StateConnectedReadOnly && (s.Generation != 2 || s.SessionID == realID) {
			t.Errorf("%+v", s)
		}
	}
	if want := []client.State{client.StateDisconnected, client.StateExpired, client.StateConnecting, client.StateConnectedReadOnly}; !slices.Equal(states[max(0, len(states)-4):], want) {
		t.Errorf("the session of the ensemble: %v", states)
	}
	temporaries := []int64{temporary, real.SessionID()}

	back, backReal := changesOf(t, c), changesOf(t, real)
	start()
	back(client.StateConnected)
	backReal(client.StateConnected)
	for _, g := range []*gate{g, realGate} {
		ids, _ := g.seen()
		for _, id := range temporaries {
			if slices.Contains(ids, id) {
				t.Errorf("the temporary id %#x was sent: %#x", id, ids)
			}
		}
	}
	if _, err := c.Set(patient(t), "/ro", []byte("2"), -1); err != nil {
		t.Error(err)
	}
	if ev, err := one.Wait(patient(t)); err != nil || ev.Type != client.EventNodeDataChanged {
		t.Errorf("watch: %v, %v", ev, err)
	}
	if ev, err := all.Next(patient(t)); err != nil || ev.Type != client.EventGap {
		t.Errorf("watcher: %v, %v", ev, err)
	}
	if _, _, err := c.Create(patient(t), "/ro/mine", nil, client.ModeEphemeral, nil); err != nil {
		t.Error(err)
	}
}

// withoutLocalSessions: a read-only server as it is by default serves nobody, and says so in an odd way.
func withoutLocalSessions(t *testing.T, ens *zkserver.Ensemble) {
	real := connect(t, ens.ConnectString(), client.ReadOnly(), client.SessionTimeout(4*time.Second))
	ofReal := changesOf(t, real)
	start := stopOthers(t, ens)
	c := threeAttempts(t, ens.Server(aloneID).Addr(), func(err error) bool {
		var odd *conn.RefusedError // the reply header in place of an answer
		return errors.As(err, &odd) && odd.Code == client.ErrNotReadOnly
	}, client.ReadOnly())
	steps := ofReal(client.StateExpired)
	if slices.ContainsFunc(steps, func(s client.Change) bool { return s.State == client.StateConnectedReadOnly }) {
		t.Errorf("the session of the ensemble: %v", steps)
	}
	back, backReal := changesOf(t, c), changesOf(t, real)
	start()
	back(client.StateConnected)
	backReal(client.StateConnected)
}
