package integration

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// cutTimeout is the session timeout of the tests below. A follower that is cut off goes on answering for the ensemble's
// sync limit, which is three times as long.
const cutTimeout = 4 * time.Second

func patientEnsemble(t *testing.T) (ens *zkserver.Ensemble, leader, cut *zkserver.Server) {
	ens = zkserver.Require(t, zkserver.Options{Members: 3, QuorumProxies: true, TickTime: time.Second, SyncLimit: 12})
	leader, err := ens.Leader(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	followers := ens.Followers(patient(t))
	if len(followers) == 0 {
		t.Fatal("no follower")
	}
	return ens, leader, followers[0]
}

// isolate cuts a member off from the others without closing anything.
func isolate(ens *zkserver.Ensemble, s *zkserver.Server) {
	for _, link := range ens.Links(s.ID()) {
		link.Stall()
	}
}

// pinger is a bare connection that pings, to see how long a server goes on answering.
type pinger struct {
	fc *conn.Conn
}

func startPinger(t *testing.T, addr string) *pinger {
	t.Helper()
	fc, err := conn.Dial(patient(t), addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fc.Close() })
	req := proto.ConnectRequest{TimeOut: 20000, Passwd: make([]byte, 16)}
	if _, err := fc.Handshake(patient(t), &req); err != nil {
		t.Fatal(err)
	}
	return &pinger{fc: fc}
}

// ping asks once and waits for the answer.
func (p *pinger) ping() error {
	b, start := conn.BeginFrame(nil)
	b = jute.AppendInt(jute.AppendInt(b, proto.XidPing), int32(proto.OpPing))
	conn.EndFrame(b, start)
	if err := p.fc.WriteBatch(b); err != nil {
		return err
	}
	if err := p.fc.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, err := p.fc.ReadFrame()
	return err
}

// C152: the holder's follower is cut off from the leader. It goes on answering pings, and the lease ends all the same,
// before the others see the lock's znode gone.
func TestLeaseEndsOnAFollowerCutOffFromTheLeader(t *testing.T) {
	ens, leader, cut := patientEnsemble(t)
	holder := connect(t, cut.Addr(), client.SessionTimeout(cutTimeout))
	observer := connect(t, leader.Addr(), client.SessionTimeout(cutTimeout))
	bare := startPinger(t, cut.Addr())
	l, err := recipes.NewMutex(holder, "/cut/lock").Lock(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	_, w, err := observer.ExistsWatch(patient(t), l.Node())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	isolate(ens, cut)
	ended := make(chan time.Duration, 1)
	stop := context.AfterFunc(l.Context(), func() { ended <- time.Since(began) })
	defer stop()
	ev, err := w.Wait(patient(t))
	gone := time.Since(began)
	if err != nil || ev.Type != client.EventNodeDeleted {
		t.Fatalf("%v, %v", ev, err)
	}
	// The context must have ended by itself: asking the lease for its state would look at the clock and end it now.
	var lasted time.Duration
	select {
	case lasted = <-ended:
	default:
		t.Fatalf("the lease goes on %v after the cut, although its znode was seen gone", gone)
	}
	if err := bare.ping(); err != nil {
		t.Errorf("the follower does not answer pings any more, so this test has shown nothing: %v", err)
	}
	cause := context.Cause(l.Context())
	if !errors.Is(cause, recipes.ErrDeadline) {
		t.Errorf("cause: %v", cause)
	}
	t.Logf("session timeout %v: the lease ended after %v, the znode was gone after %v, pings were still answered",
		cutTimeout, lasted.Round(time.Millisecond), gone.Round(time.Millisecond))
}

// The same with other servers to go to: the session moves there in time and the lease lives on.
func TestSessionMovesFromAFollowerCutOffFromTheLeader(t *testing.T) {
	ens, leader, cut := patientEnsemble(t)
	var dials atomic.Int64
	holder := connect(t, ens.ConnectString(), client.SessionTimeout(cutTimeout),
		client.Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
			if dials.Add(1) == 1 {
				addr = cut.Addr() // begin where the fault will be
			}
			var d net.Dialer
			return d.DialContext(ctx, network, addr)
		}))
	observer := connect(t, leader.Addr(), client.SessionTimeout(cutTimeout))
	id := holder.SessionID()
	l, err := recipes.NewMutex(holder, "/cut/lock").Lock(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	isolate(ens, cut)
	ctx, cancel := context.WithTimeout(patient(t), 3*cutTimeout)
	defer cancel()
	for s := range l.States(ctx) {
		t.Logf("lease is %v", s)
	}
	if l.State() != recipes.Held || holder.SessionID() != id {
		t.Errorf("the lease is %v (%v), the session %#x, was %#x", l.State(), context.Cause(l.Context()), holder.SessionID(), id)
	}
	if _, ok, err := observer.Exists(patient(t), l.Node()); err != nil || !ok {
		t.Errorf("the lock's znode: %v, %v", ok, err)
	}
	if err := l.Release(patient(t)); err != nil {
		t.Error(err)
	}
}
