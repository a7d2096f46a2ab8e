package recipes

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// nodes lists the participants' znodes in short: the number alone, with a star behind whoever holds.
func nodes(ps []Participant) string {
	var parts []string
	for _, p := range ps {
		short := p.Node[strings.LastIndexAny(p.Node, "-_")+1:]
		short = strings.TrimLeft(short, "0")
		if p.Holds {
			short += "*"
		}
		parts = append(parts, short)
	}
	return strings.Join(parts, " ")
}

func TestParticipants(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, watcher := dial(t, srv), dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		defer watcher.Close()
		m := NewMutex(watcher, "/lock")
		if ps, err := m.Participants(t.Context()); err != nil || len(ps) != 0 {
			t.Errorf("missing path: %v, %v", ps, err)
		}
		began := time.Now()
		l := lock(t, NewMutex(a, "/lock", Data([]byte("holder"))))
		for _, name := range []string{"config", "lock-", "lock-x", "x-0000000000", "_c_01234567-89ab-cdef-0123-456789abcdef-__WRIT__0000000000"} {
			must(srv.Create("/lock/"+name, nil, proto.ModePersistent))
		}
		<-time.After(time.Second)
		second := goLock(t.Context(), NewMutex(b, "/lock"))
		synctest.Wait()
		third := goLock(t.Context(), NewMutex(a, "/lock", Data([]byte("third"))))
		synctest.Wait()
		var ps []Participant
		before := srv.Snapshot()
		wantFlights(t, srv, 2, func() { ps = must(m.Participants(t.Context())) })
		after := srv.Snapshot()
		for op, want := range map[proto.Op]int64{proto.OpSync: 1, proto.OpGetChildren2: 1, proto.OpGetData: 3} {
			if n := after.ByOp[op] - before.ByOp[op]; n != want {
				t.Errorf("%d requests of %v, want %d", n, op, want)
			}
		}
		if n := after.Requests - before.Requests; n != 5 {
			t.Errorf("%d requests, want 5", n)
		}
		if len(ps) != 3 || !ps[0].Holds || ps[1].Holds || ps[2].Holds {
			t.Fatalf("%v", ps)
		}
		if p := ps[0]; p.Node != l.Node() || p.Token != l.Token() || string(p.Data) != "holder" || p.Session != a.SessionID() || p.Shared || p.Err != nil || !p.Created.Equal(began) {
			t.Errorf("%+v", p)
		}
		if p := ps[1]; !strings.Contains(string(p.Data), "pid=") || p.Session != b.SessionID() || !p.Created.Equal(began.Add(time.Second)) {
			t.Errorf("%+v", p)
		}
		if p := ps[2]; string(p.Data) != "third" || p.Session != a.SessionID() || p.Token.Compare(ps[1].Token) <= 0 {
			t.Errorf("%+v", p)
		}
		release(t, l)
		if got := second.waitFor(t); got.Node() != ps[1].Node || got.Token() != ps[1].Token {
			t.Errorf("the lease is %s with %v, announced as %+v", got.Node(), got.Token(), ps[1])
		}
		release(t, second.lease)
		release(t, third.waitFor(t))
		if ps, err := m.Participants(t.Context()); err != nil || len(ps) != 0 {
			t.Errorf("nobody is there: %v, %v", ps, err)
		}
	})
}

// Readers hold together if no writer is ahead of them, and a reader behind one waits.
func TestParticipantsOfReadersAndWriters(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		rw := NewRWMutex(c, "/lock")
		must(srv.Create("/lock", nil, proto.ModePersistent))
		var ended sync.WaitGroup
		leases := make(chan *Lease, 9)
		for _, f := range []func(context.Context) (*Lease, error){rw.RLock, rw.RLock, rw.Lock, rw.RLock, rw.Lock} {
			ended.Go(func() {
				l, err := f(t.Context())
				if err != nil {
					t.Error(err)
				}
				leases <- l
			})
			synctest.Wait()
		}
		shared := func(ps []Participant) (s string) {
			for _, p := range ps {
				if p.Shared {
					s += "r"
				} else {
					s += "w"
				}
			}
			return s
		}
		check := func(who, kinds string) {
			t.Helper()
			synctest.Wait()
			ps := must(rw.Participants(t.Context()))
			if nodes(ps) != who || shared(ps) != kinds {
				t.Errorf("%s: %s, want %s: %s", nodes(ps), shared(ps), who, kinds)
			}
		}
		check("* 1* 2 3 4", "rrwrw")
		release(t, <-leases)
		release(t, <-leases)
		check("2* 3 4", "wrw")
		l := <-leases
		if err := l.Downgrade(t.Context()); err != nil {
			t.Fatal(err)
		}
		check("2* 3* 4", "rrw")
		release(t, <-leases)
		release(t, l)
		check("4*", "w")
		release(t, <-leases)
		ended.Wait()
		// A mutex's znodes are not of this lock, nor these of a mutex's.
		must(srv.Create("/lock/_c_01234567-89ab-cdef-0123-456789abcdef-lock-0000000009", nil, proto.ModePersistent))
		if n := len(must(rw.Participants(t.Context()))); n != 0 {
			t.Errorf("%d participants", n)
		}
		// While Curator turns a writer into a reader, both znodes have one number: the writer is named first.
		for _, mark := range []string{readMark, writeMark} {
			must(srv.Create("/lock/_c_01234567-89ab-cdef-0123-456789abcdef-"+mark+"0000000011", nil, proto.ModePersistent))
		}
		check("11* 11*", "wr")
	})
}

// The counter wraps: what comes after the highest number is negative and younger.
func TestParticipantsAfterTheWrap(t *testing.T) { // D1
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		must(srv.Create("/lock", nil, proto.ModePersistent))
		for _, number := range []string{"-2147483647", "2147483646", "-2147483648", "2147483647"} {
			must(srv.Create("/lock/lock-"+number, nil, proto.ModePersistent))
		}
		ps := must(NewMutex(c, "/lock").Participants(t.Context()))
		if got, want := nodes(ps), "2147483646* 2147483647 2147483648 2147483647"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// A znode that may not be read is there all the same, and in front of those behind it.
func TestParticipantsThatCannotBeRead(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv, client.Auth("digest", []byte("a:a"))), dial(t, srv)
		defer a.Close()
		defer b.Close()
		must(srv.Create("/lock", nil, proto.ModePersistent))
		secret := []client.ACL{{Perms: client.PermAll, ID: client.ID{Scheme: "digest", ID: proto.DigestID("a", "a")}}}
		l := lock(t, NewMutex(a, "/lock", ACL(secret)))
		w := goLock(t.Context(), NewMutex(a, "/lock"))
		synctest.Wait()
		ps := must(NewMutex(b, "/lock").Participants(t.Context()))
		if len(ps) != 2 || !ps[0].Holds || ps[1].Holds {
			t.Fatalf("%+v", ps)
		}
		p := ps[0]
		wantErr(t, p.Err, client.ErrNoAuth)
		if p.Node != l.Node() || p.Data != nil || p.Session != 0 || !p.Token.IsZero() || !p.Created.IsZero() {
			t.Errorf("%+v", p)
		}
		if ps[1].Err != nil || ps[1].Session != a.SessionID() {
			t.Errorf("%+v", ps[1])
		}
		if ps := must(NewMutex(a, "/lock").Participants(t.Context())); ps[0].Err != nil || ps[0].Token != l.Token() {
			t.Errorf("%+v", ps[0])
		}
		release(t, l)
		release(t, w.waitFor(t))
	})
}

// However many there are, they are read in flights of a hundred.
func TestManyParticipants(t *testing.T) {
	for n, flights := range map[int]int{1: 2, 100: 2, 101: 3, 250: 4} {
		bubble(t, func(t *testing.T, srv *zktest.Server) {
			c := dial(t, srv)
			defer c.Close()
			must(srv.Create("/lock", nil, proto.ModePersistent))
			for i := range n {
				must(srv.CreateFor(c.SessionID(), "/lock/lock-", []byte{byte(i)}, proto.ModeEphemeralSequential))
			}
			var ps []Participant
			wantFlights(t, srv, flights, func() { ps = must(NewMutex(c, "/lock").Participants(t.Context())) })
			if len(ps) != n {
				t.Fatalf("%d participants, want %d", len(ps), n)
			}
			for i, p := range ps {
				if p.Holds != (i == 0) || len(p.Data) != 1 || p.Data[0] != byte(i) || p.Session != c.SessionID() {
					t.Errorf("number %d: %+v", i, p)
				}
			}
		})
	}
}

// Whoever leaves while the queue is being read is left out, and no place is counted as taken for it.
func TestParticipantsThatLeave(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		must(srv.Create("/lock", nil, proto.ModePersistent))
		for range 4 {
			must(srv.Create("/lock/lock-", nil, proto.ModePersistentSequential))
		}
		held := srv.Hold(zktest.Match{Op: proto.OpGetData})
		go func() {
			<-held.Hit() // the list is read
			for _, name := range []string{"lock-0000000000", "lock-0000000002"} {
				_ = srv.Delete("/lock/" + name)
			}
			must(srv.Create("/lock/lock-", nil, proto.ModePersistentSequential)) // came too late
			held.Release()
		}()
		ps := must(NewMutex(c, "/lock").Participants(t.Context()))
		if got, want := nodes(ps), "1* 3"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// Paths are those of the client that asks.
func TestParticipantsBelowAChroot(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		must(srv.Create("/app", nil, proto.ModePersistent))
		c := dialTo(t, srv, "one:2181/app")
		defer c.Close()
		for _, path := range []string{"/", "/lock"} {
			m := NewMutex(c, path)
			l := lock(t, m)
			ps := must(m.Participants(t.Context()))
			if len(ps) != 1 || ps[0].Node != l.Node() || ps[0].Token != l.Token() {
				t.Errorf("%s: %+v, want %s", path, ps, l.Node())
			}
			release(t, l)
		}
	})
}

// A request that is lost or refused is the error of the call, and no znode's: nothing is known of those.
func TestParticipantsErrors(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		m := NewMutex(c, "/lock")
		l := lock(t, m)
		for _, op := range []proto.Op{proto.OpSync, proto.OpGetChildren2, proto.OpGetData} {
			srv.CloseBefore(zktest.Match{Op: op})
			ps, err := m.Participants(t.Context())
			if ps != nil || !errors.Is(err, client.ErrConnectionLoss) {
				t.Errorf("%v: %v, %v", op, ps, err)
			}
		}
		srv.Fail(zktest.Match{Op: proto.OpGetChildren2}, proto.ErrNoAuth)
		_, err := m.Participants(t.Context())
		wantErr(t, err, client.ErrNoAuth)
		dead, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = m.Participants(dead)
		wantErr(t, err, context.Canceled)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		held := srv.Hold(zktest.Match{Op: proto.OpGetData})
		_, err = m.Participants(ctx)
		wantErr(t, err, context.DeadlineExceeded)
		held.Release()
		release(t, l)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		_, err = m.Participants(t.Context())
		wantErr(t, err, client.ErrClosed)
		var none context.Context
		_, err = m.Participants(none)
		wantErr(t, err, client.ErrNilContext)
		var mutex *Mutex
		var rw *RWMutex
		for _, f := range []func(context.Context) ([]Participant, error){mutex.Participants, (&Mutex{}).Participants, rw.Participants, NewMutex(c, "x").Participants} {
			var typed *Error
			if _, err := f(t.Context()); !errors.As(err, &typed) || typed.Op != "participants" {
				t.Errorf("%v", err)
			}
		}
	})
}
