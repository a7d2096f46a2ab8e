package integration_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// A follower that has lost its leader answers pings as if nothing had happened, and no sync: the reason why a lease takes a
// sync, not a ping, as its proof (C152).
func TestAFollowerWithoutItsLeaderAnswersPingsAndNoSync(t *testing.T) {
	ens := zkserver.Require(t, zkserver.Options{Members: 3, QuorumProxies: true, TickTime: time.Second})
	leader, err := ens.Leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	follower := ens.Followers(t.Context())[0]
	fc, _, err := opened(t, follower.Addr(), newSession())
	if err != nil {
		t.Fatal(err)
	}
	send(t, fc, 1, proto.OpSync, &proto.SyncRequest{Path: "/"})
	if h, _ := receive(t, fc); h.Xid != 1 || h.Err != 0 {
		t.Fatalf("sync through a sound follower: %+v", h)
	}

	ens.Link(leader.ID(), follower.ID()).Stall()
	send(t, fc, proto.XidPing, proto.OpPing, nil)
	if h, _ := receive(t, fc); h.Xid != proto.XidPing || h.Err != 0 {
		t.Fatalf("ping: %+v", h)
	}
	send(t, fc, 2, proto.OpSync, &proto.SyncRequest{Path: "/"})
	for {
		frame, err := fc.ReadFrame()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("the follower serves on without a leader")
		}
		if err != nil {
			return // after its five ticks the follower gave up and closed the connection
		}
		r := jute.NewReader(frame)
		var h proto.ReplyHeader
		h.ReadFrom(&r)
		if h.Xid == 2 && h.Err == 0 {
			t.Fatal("a sync was answered without the leader")
		}
	}
}
