package recipes

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// otherFirst passes a server's frames on one by one, except that of two notifications that follow each other the one about
// a path comes last, and only when the gate is open. A server restores watches in the order of a list, so either order of
// their events is a legal one, and so is any time between them.
type otherFirst struct {
	net.Conn
	path string
	gate <-chan struct{}

	rest []byte // of the frame that is being passed on
	held []byte // the notification that waits for the gate
}

func (c *otherFirst) Read(b []byte) (int, error) {
	for len(c.rest) == 0 {
		if err := c.advance(); err != nil {
			return 0, err
		}
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *otherFirst) advance() error {
	if c.held != nil {
		<-c.gate
		c.rest, c.held = c.held, nil
		return nil
	}
	f, err := c.frame()
	if err != nil {
		return err
	}
	if !c.about(f) {
		c.rest = f
		return nil
	}
	other, err := c.frame()
	if err != nil {
		return err
	}
	c.rest, c.held = other, f
	return nil
}

// about says whether f is a notification about the path.
func (c *otherFirst) about(f []byte) bool {
	return len(f) > 8 && int32(binary.BigEndian.Uint32(f[4:])) == proto.XidNotification && strings.HasSuffix(string(f), c.path)
}

func (c *otherFirst) frame() ([]byte, error) {
	f := make([]byte, 4)
	if _, err := io.ReadFull(c.Conn, f); err != nil {
		return nil, err
	}
	f = append(f, make([]byte, binary.BigEndian.Uint32(f))...)
	_, err := io.ReadFull(c.Conn, f[4:])
	return f, err
}

// Rule 4 (C1 of the model): the known set is forgotten with the connection. While a waiter is away the one ahead goes and
// its own znode is deleted; after the reconnect it is told of the first alone, and somebody else holds the lock.
func TestKnownSetIsForgottenWithTheConnection(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, c := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer c.Close()
		var mu sync.Mutex
		own, gate := "", make(chan struct{})
		b := dialTo(t, srv, "two:2181", client.Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
			nc, err := srv.Dial(ctx, network, addr)
			mu.Lock()
			defer mu.Unlock()
			if own != "" && err == nil {
				nc = &otherFirst{Conn: nc, path: own, gate: gate}
			}
			return nc, err
		}))
		defer b.Close()
		openGate := sync.OnceFunc(func() { close(gate) })
		defer openGate() // a reader that waits at it could not end
		l := lock(t, NewMutex(a, "/lock"))
		w := goLock(t.Context(), NewMutex(b, "/lock"))
		synctest.Wait()
		mu.Lock()
		own = ownNode(t, srv, b)
		mu.Unlock()
		srv.Member("two:2181").Refuse(zktest.RefuseClose)
		srv.Member("two:2181").DropConnections()
		synctest.Wait()
		release(t, l)
		if err := srv.Delete(own); err != nil {
			t.Fatal(err)
		}
		third := lock(t, NewMutex(c, "/lock"))
		srv.Member("two:2181").Refuse(zktest.Accept)
		<-time.After(2 * time.Second)
		if w.over() {
			t.Fatal("granted by an event of the new connection and a list of the old one")
		}
		openGate()
		synctest.Wait()
		if w.over() {
			t.Fatal("granted while held by another")
		}
		release(t, third)
		<-w.done
		if w.err != nil {
			t.Fatal(w.err)
		}
		release(t, w.lease)
	})
}

// Rule 2 (A22, A23 of the model): no grant by event unless the own znode's watch is armed. A change of its data uses it up;
// then the znode is deleted, which nobody tells, and the one ahead goes. All of that arrives at once.
func TestNoGrantByEventWithoutTheOwnWatch(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, c := dial(t, srv), dialTo(t, srv, "two:2181"), dial(t, srv)
		defer a.Close()
		defer b.Close()
		defer c.Close()
		l := lock(t, NewMutex(a, "/lock"))
		w := goLock(t.Context(), NewMutex(b, "/lock"))
		synctest.Wait()
		own := ownNode(t, srv, b)
		srv.Member("two:2181").Stall(true)
		if err := srv.Set(own, []byte("touched")); err != nil {
			t.Fatal(err)
		}
		if err := srv.Delete(own); err != nil {
			t.Fatal(err)
		}
		release(t, l)
		third := lock(t, NewMutex(c, "/lock"))
		srv.Member("two:2181").Stall(false)
		synctest.Wait()
		if w.over() {
			t.Fatal("granted without a znode, while held by another")
		}
		release(t, third)
		<-w.done
		if w.err != nil {
			t.Fatal(w.err)
		}
		release(t, w.lease)
	})
}
