package zkserver_test

import (
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

// three starts an ensemble whose members lose patience with each other after two seconds.
func three(t *testing.T) *zkserver.Ensemble {
	return zkserver.Require(t, zkserver.Options{Members: 3, QuorumProxies: true, TickTime: time.Second, SyncLimit: 2})
}

func leads(st zkserver.Status) bool   { return st.Mode == zkserver.ModeLeader }
func follows(st zkserver.Status) bool { return st.Mode == zkserver.ModeFollower }

func TestAFollowerCutFromItsLeader(t *testing.T) {
	ens := three(t)
	leader, err := ens.Leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	followers := ens.Followers(t.Context())
	if len(followers) != 2 {
		t.Fatalf("%d followers, want 2", len(followers))
	}
	cut, other := followers[0], followers[1]
	link := ens.Link(leader.ID(), cut.ID())
	if link.Bytes() == 0 {
		t.Error("leader and follower do not talk through their proxies")
	}

	if err := link.Cut(); err != nil {
		t.Fatal(err)
	}
	if err := cut.WaitNotServing(t.Context()); err != nil {
		t.Fatalf("the follower without a leader goes on serving: %v", err)
	}
	for s, ok := range map[*zkserver.Server]func(zkserver.Status) bool{leader: leads, other: follows} {
		if err := s.WaitFor(t.Context(), ok); err != nil {
			t.Errorf("the majority does not go on: %v", err)
		}
	}
	handshake(t, other.Addr())

	if err := link.Heal(); err != nil {
		t.Fatal(err)
	}
	if err := cut.WaitFor(t.Context(), follows); err != nil {
		t.Fatalf("the follower does not come back: %v", err)
	}
}

func TestAStalledLeaderIsReplaced(t *testing.T) {
	ens := three(t)
	old, err := ens.Leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range ens.Links(old.ID()) {
		link.Stall()
	}
	// Until it notices, the old leader says that it leads; nobody can tell two leaders apart but by asking each.
	if err := old.WaitNotServing(t.Context()); err != nil {
		t.Fatalf("a leader without followers goes on leading: %v", err)
	}
	next, err := ens.Leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if next == old {
		t.Fatal("the leader that nobody reaches was elected")
	}
	for _, link := range ens.Links(old.ID()) {
		if err := link.Heal(); err != nil {
			t.Fatal(err)
		}
	}
	if err := old.WaitFor(t.Context(), follows); err != nil {
		t.Fatalf("the old leader does not follow the new one: %v", err)
	}
}

func TestAKilledLeaderIsReplaced(t *testing.T) {
	ens := zkserver.Require(t, zkserver.Options{Members: 3, Own: true, TickTime: time.Second})
	old, err := ens.Leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := old.Kill(); err != nil {
		t.Fatal(err)
	}
	next, err := ens.Leader(t.Context())
	if err != nil || next == old {
		t.Fatalf("new leader %v, %v", next, err)
	}
	if err := old.Start(); err != nil {
		t.Fatal(err)
	}
	if err := old.WaitFor(t.Context(), follows); err != nil {
		t.Fatal(err)
	}
}
