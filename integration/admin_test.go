package integration

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/admin"
	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

// watched makes two clients, of which one has an ephemeral znode and the other watches it, and asks for them at a server of
// their own.
func watched(t *testing.T, ens *zkserver.Ensemble) (s admin.Server, owner, watcher *client.Client) {
	t.Helper()
	addr := ens.Server(1).Addr()
	owner, watcher = connect(t, addr), connect(t, addr, client.SessionTimeout(8*time.Second))
	if _, _, err := owner.Create(patient(t), "/asked", []byte("x"), client.ModeEphemeral, nil); err != nil {
		t.Fatal(err)
	}
	if _, w, err := watcher.GetWatch(patient(t), "/asked"); err != nil {
		t.Fatal(err)
	} else {
		t.Cleanup(w.Close)
	}
	if _, w, err := watcher.ChildrenWatch(patient(t), "/"); err != nil {
		t.Fatal(err)
	} else {
		t.Cleanup(w.Close)
	}
	return admin.Server{Addr: addr}, owner, watcher
}

func TestWordsOfARealServer(t *testing.T) {
	s, owner, watcher := watched(t, zkserver.Require(t, zkserver.Options{Own: true}))
	ctx := patient(t)

	if err := s.Ruok(ctx); err != nil {
		t.Error(err)
	}
	if readOnly, err := s.Isro(ctx); readOnly || err != nil {
		t.Errorf("isro: %v, %v", readOnly, err)
	}
	st, err := s.Srvr(ctx)
	if err != nil || st.Mode != admin.ModeStandalone || st.Zxid != 3 || st.NodeCount < 6 || st.Connections != 3 || st.Received < 6 ||
		st.Sent < 6 || st.Latency.Max < st.Latency.Min || strings.Count(st.Version, ".") != 2 || st.Build == "" || st.Extra != nil {
		t.Errorf("srvr: %+v, %v", st, err)
	}
	m, err := s.Mntr(ctx)
	if err != nil || m.Version != st.Version || m.Build != st.Build || m.ServerState != admin.ModeStandalone || m.ZnodeCount != st.NodeCount ||
		m.WatchCount != 2 || m.EphemeralsCount != 1 || m.ApproximateDataSize < 1 || m.AliveConnections != 3 ||
		m.PacketsReceived <= st.Received || m.PacketsSent <= st.Sent || len(m.Values) < 15 {
		t.Errorf("mntr: %+v, %v", m, err)
	}
	if n, ok := m.Int("zk_znode_count"); n != st.NodeCount || !ok {
		t.Errorf("zk_znode_count is %d, %v", n, ok)
	}
	w, err := s.Wchs(ctx)
	if err != nil || w.Connections != 1 || w.Paths != 1 || w.Watches != 1 || w.Extra != nil {
		t.Errorf("wchs: %+v, %v", w, err)
	}
	connections(t, ctx, s, owner, watcher)
	if text, err := s.Word(ctx, "envi"); err != nil || !strings.Contains(text, "zookeeper.version=") {
		t.Errorf("envi: %q, %v", text, err)
	}
	if _, err := s.Word(ctx, "zzzz"); !errors.Is(err, admin.ErrNoAnswer) {
		t.Errorf("an unknown word: %v", err)
	}
}

// connections compares the answer to cons with what the clients know.
func connections(t *testing.T, ctx context.Context, s admin.Server, owner, watcher *client.Client) {
	t.Helper()
	list, err := s.Cons(ctx)
	if err != nil {
		t.Fatal(err)
	}
	found := map[int64]admin.Connection{}
	for _, c := range list {
		found[c.SessionID] = c
	}
	if asker, ok := found[0]; len(list) != 3 || !ok || asker.Received != 1 {
		t.Errorf("cons: %+v", list)
	}
	for _, c := range []*client.Client{owner, watcher} {
		got, ok := found[c.SessionID()]
		if !ok || got.Timeout != c.SessionTimeout() || got.Received < 2 || got.Sent < 2 || got.LastOp == "" || got.LastZxid < 1 ||
			!strings.HasPrefix(got.Addr, "127.0.0.1:") || got.Extra != nil || time.Since(got.Established).Abs() > time.Hour ||
			got.Latency.Max < got.Latency.Min {
			t.Errorf("session %#x: %+v", c.SessionID(), got)
		}
	}
}

func TestWordsThatARealServerDoesNotExecute(t *testing.T) {
	ens := zkserver.Require(t, zkserver.Options{Config: map[string]string{"4lw.commands.whitelist": "srvr"}})
	s, ctx := admin.Server{Addr: ens.Server(1).Addr()}, patient(t)
	if _, err := s.Srvr(ctx); err != nil {
		t.Error(err)
	}
	_, mntr := s.Mntr(ctx)
	_, isro := s.Isro(ctx)
	_, cons := s.Cons(ctx)
	_, wchs := s.Wchs(ctx)
	_, conf := s.Word(ctx, "conf")
	for word, err := range map[string]error{"ruok": s.Ruok(ctx), "mntr": mntr, "isro": isro, "cons": cons, "wchs": wchs, "conf": conf} {
		if !errors.Is(err, admin.ErrNotWhitelisted) {
			t.Errorf("%s: %v", word, err)
		}
	}
}

// A leader tells more than the others; a member without its leader runs, and does not serve; a stopped one answers nothing.
func TestWordsOfAnEnsemble(t *testing.T) {
	ens := zkserver.Require(t, zkserver.Options{Members: 3, TickTime: 500 * time.Millisecond})
	ctx := patient(t)
	leader, err := ens.Leader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cl := connect(t, ens.ConnectString())
	if _, _, err := cl.Create(ctx, "/a", nil, client.ModePersistent, nil); err != nil {
		t.Fatal(err)
	}
	s := admin.Server{Addr: leader.Addr()}
	if st, err := s.Srvr(ctx); err != nil || st.Mode != admin.ModeLeader || st.Zxid>>32 < 1 || st.Proposals.Max < 1 || st.Extra != nil {
		t.Errorf("srvr: %+v, %v", st, err)
	}
	if m, err := s.Mntr(ctx); err != nil || m.ServerState != admin.ModeLeader || m.Learners != 2 || m.SyncedFollowers != 2 {
		t.Errorf("mntr: %+v, %v", m, err)
	}
	followers := ens.Followers(ctx)
	if len(followers) != 2 {
		t.Fatalf("%d followers", len(followers))
	}
	if st, err := (admin.Server{Addr: followers[0].Addr()}).Srvr(ctx); err != nil || st.Mode != admin.ModeFollower || st.Proposals.Max != 0 {
		t.Errorf("srvr: %+v, %v", st, err)
	}
	for _, f := range followers {
		if err := f.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	if err := leader.WaitNotServing(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Ruok(ctx); err != nil {
		t.Error(err)
	}
	if _, err := s.Mntr(ctx); !errors.Is(err, admin.ErrNotServing) {
		t.Errorf("mntr: %v", err)
	}
	if _, err := s.Isro(ctx); !errors.Is(err, admin.ErrNotServing) {
		t.Errorf("isro: %v", err)
	}
	if err := leader.Pause(); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond) // nothing comes, however long it is
	defer cancel()
	if err := s.Ruok(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a stopped server: %v", err)
	}
}
