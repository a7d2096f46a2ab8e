package session

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"time"

	"github.com/lockkeeper/lockkeeper/conn"
)

// A server that is cut off from its ensemble can be configured to go on with reads (docs/protocol.md section 18). With
// Config.ReadOnly a session may begin there. What it gets is temporary: an id that no other server knows, and nothing in the
// tree that could depend on it. So it is never shown to another server, and not to the same one again either: when the
// connection ends the session is as it was before its first handshake, but for what it has seen. Its generation stays, and
// with it the calls that wait and the watches, which are set again on the next server.
//
// A session that a server with quorum has given is another matter: locks and ephemeral znodes depend on it. It does not ask for
// read-only service, so servers without quorum close the connection, of all versions, and it goes on trying until it is
// served or its clock ends it. Only the next generation may begin read-only.

// ErrTemporarySession says that the session is that of a read-only server, which nobody else knows: there is nothing to go on
// with elsewhere.
var ErrTemporarySession = errors.New("session is known to one read-only server only")

// Reasons for which a server is not used, or left.
var (
	errReadOnlyServer  = errors.New("server is read-only, which was not asked for")
	errReadWriteServer = errors.New("another server serves writes")
)

// The pauses between rounds of the search for a server with quorum, as the Java client makes them
// (ClientCnxn.SendThread.pingRwServer). They go on growing while the session does not get to such a server: one that says it
// serves writes and refuses the session must not be the cause of a loop.
const (
	minSearch = 100 * time.Millisecond
	maxSearch = time.Minute
)

// forgetTemporaryLocked takes the session of a read-only server away, when the connection to it has ended.
func (s *Session) forgetTemporaryLocked() {
	if s.temporary {
		s.temporary = false
		s.id, s.passwd, s.clock = 0, nil, clock{}
	}
}

// beginsLocked says whether the session has no id that is worth anything: what cannot run out does not expire.
func (s *Session) beginsLocked() bool { return s.temporary || s.clock.timeout == 0 }

// searchLoop asks the other servers whether they serve writes, round after round. The first that does is where the session
// goes from here.
func (cx *connection) searchLoop(ctx context.Context) {
	defer cx.wg.Done()
	replaced := cx.s.keep.hosts.replacement()
	for {
		t := time.NewTimer(cx.s.searchPause())
		select {
		case <-t.C:
		case <-replaced: // the new servers are worth a look at once
			t.Stop()
		case <-ctx.Done():
			t.Stop()
			return
		}
		replaced = cx.s.keep.hosts.replacement() // before the round reads the list
		if cx.search(ctx) {
			cx.fail(errReadWriteServer)
			return
		}
	}
}

// searchPause returns how long to wait before the next round, and makes the one after it longer.
func (s *Session) searchPause() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := maxSearch
	if s.searches < 10 {
		d = min(d, minSearch<<s.searches)
	}
	s.searches++
	return jittered(d, s.cfg.Env.Rand)
}

// search makes one round through every address of every server but the one in use, each within the time that an attempt to
// connect would get. It says whether a server serves writes, and has it tried next.
func (cx *connection) search(ctx context.Context) bool {
	s := cx.s
	servers := s.keep.hosts.all()
	bound := max(s.wanted()/time.Duration(len(servers)), minAttempt)
	for _, server := range servers {
		for _, addr := range s.resolveWithin(ctx, server, bound) {
			if addr != cx.addr && ctx.Err() == nil && readWrite(ctx, addr, s.connConfig(server), bound) {
				s.keep.hosts.prefer(server)
				s.mu.Lock()
				s.foundAddr = addr
				s.mu.Unlock()
				return true
			}
		}
	}
	return false
}

// resolveWithin is resolve with a bound. A name that is not known has no addresses to ask.
func (s *Session) resolveWithin(ctx context.Context, server string, bound time.Duration) []string {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	addrs, err := s.resolve(ctx, server)
	if err != nil {
		return nil
	}
	return addrs
}

// readWrite asks the server at addr, on a connection of its own, whether it serves writes: isro is answered by rw then, by ro
// or null otherwise, and by a sentence where it is not allowed (docs/protocol.md section 19).
func readWrite(ctx context.Context, addr string, cc *conn.Config, bound time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	nc, err := conn.DialRaw(ctx, addr, cc)
	if err != nil {
		return false
	}
	raw := nc
	if enc, ok := nc.(*tls.Conn); ok {
		raw = enc.NetConn() // closed without a good-bye, which could block
	}
	defer raw.Close()
	stop := context.AfterFunc(ctx, func() {
		// isro watcher: started by context.AfterFunc when ctx ends, and over when this one call has returned.
		_ = raw.SetDeadline(time.Unix(1, 0)) // fails only on a closed connection, whose calls have returned anyway
	})
	defer stop()
	if _, err := io.WriteString(nc, "isro"); err != nil {
		return false
	}
	answer := make([]byte, 2)
	_, err = io.ReadFull(nc, answer)
	return err == nil && string(answer) == "rw"
}

// connConfig tells how to connect to the addresses of a server.
func (s *Session) connConfig(server string) *conn.Config {
	cc := &conn.Config{TLS: s.cfg.TLS, Dial: s.cfg.Env.Dial, ReceiveLimit: s.cfg.ReceiveLimit}
	if host, _, err := net.SplitHostPort(server); err == nil {
		cc.ServerName = host
	}
	return cc
}

// foundFirst puts the address that the search has found ahead of the others of its server, once: a name can stand for servers
// with and without quorum.
func (s *Session) foundFirst(addrs []string) []string {
	s.mu.Lock()
	found := s.foundAddr
	s.foundAddr = ""
	s.mu.Unlock()
	i := slices.Index(addrs, found)
	if i <= 0 {
		return addrs
	}
	first := append(make([]string, 0, len(addrs)), found)
	return append(append(first, addrs[:i]...), addrs[i+1:]...)
}

// all returns the servers, not to be changed.
func (h *hosts) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.list
}

// prefer makes server the next one to be tried, if it is still in the list.
func (h *hosts) prefer(server string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.Index(h.list, server); i >= 0 {
		h.next = i
	}
}
