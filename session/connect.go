package session

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/proto"
)

// connect tries the servers until one takes the session, and returns the connection, or why the session is over. The first
// round of attempts begins at once, unless the connection before was of no use: a server that accepts and closes must not
// be met with a storm.
func (s *Session) connect() (*connection, error) {
	for {
		if d := s.pause(); d > 0 {
			if err := s.sleep(d); err != nil {
				return nil, err
			}
		}
		for range s.keep.hosts.size() {
			cx, err := s.attempt(s.keep.hosts.take())
			if cx != nil || err != nil {
				return cx, err
			}
		}
		s.keep.roundDone(false)
	}
}

// pause is how long to wait before the next round: what the Keeper says, but no more than a quarter of the time for which
// the session can still be resumed. Pauses that go on doubling would leave it asleep for the second half of its life, while
// servers are back; one longer than what is left would end it without another attempt.
func (s *Session) pause() time.Duration {
	d, most := s.keep.pause(), max(s.left()/4, s.cfg.MinBackoff)
	if d <= most {
		return d
	}
	return jittered(most, s.cfg.Env.Rand)
}

// sleep waits between rounds; it ends early with the session, or when the servers are replaced.
func (s *Session) sleep(d time.Duration) error {
	replaced := s.keep.hosts.replacement()
	for end := s.now() + int64(d); ; {
		rest := time.Duration(end - s.now())
		if err := s.overNow(); err != nil || rest <= 0 {
			return err
		}
		t := time.NewTimer(min(rest, s.left(), wakeful)) // a machine that was suspended looks at the clock soon
		select {
		case <-t.C:
		case <-replaced:
			t.Stop()
			return nil
		case <-s.ctx.Done():
			t.Stop()
			return ErrClosed
		}
	}
}

// left is how long the session can still be resumed; long if it has not begun.
func (s *Session) left() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.beginsLocked() { // nothing is known that could run out
		return time.Hour
	}
	return max(0, time.Duration(s.clock.sessionEnd()-s.now()))
}

// overNow is the session's end by its own clock.
func (s *Session) overNow() error {
	if s.left() == 0 {
		return ErrSessionExpired
	}
	return nil
}

// attempt tries one server. Neither a connection nor an error means: try the next one.
func (s *Session) attempt(server string) (*connection, error) {
	if err := s.overNow(); err != nil {
		return nil, err
	}
	left := s.left()
	bound := max(s.wanted()/time.Duration(s.keep.hosts.size()), minAttempt)
	ctx, cancel := context.WithTimeout(s.ctx, min(bound, left/2+1))
	defer cancel()
	sent := s.now()
	fc, req, rep, err := s.handshake(ctx, server)
	if tr := s.cfg.Trace; tr != nil && tr.Attempt != nil {
		tr.Attempt(server, time.Duration(s.now()-sent), err)
	}
	switch {
	case err == nil:
		var cx *connection
		if cx, err = s.attach(fc, server, sent, req, rep); err == nil {
			s.keep.hosts.note(server, nil)
			if !s.keep.hosts.has(server) { // the list was replaced meanwhile, by somebody who did not see this connection
				cx.fail(errServerRemoved)
			}
			return cx, nil
		}
		_ = fc.Close()
	case s.ctx.Err() != nil:
		return nil, ErrClosed
	case errors.Is(err, conn.ErrExpired):
		return nil, ErrSessionExpired
	case errors.Is(err, ErrAuthFailed):
		s.keep.hosts.note(server, err)
		return nil, err
	}
	s.keep.hosts.note(server, err)
	s.attemptFailed(server, err)
	return nil, s.overNow()
}

// refusalsToReport is how many refusals in a row make the session say what is probably wrong.
const refusalsToReport = 10

// attemptFailed logs a failed attempt. A session that has seen more than every server is refused by all of them, by a close
// without a word: an ensemble that is behind for long, or was restored from an older copy. It is said once per ten.
func (s *Session) attemptFailed(server string, err error) {
	log := s.cfg.Logger
	log.Warn("zk: connection attempt failed", "server", server, "err", err)
	if !errors.Is(err, conn.ErrRefused) {
		return
	}
	s.mu.Lock()
	s.refusals++
	n, zxid, id := s.refusals, s.lastZxid, s.id
	s.mu.Unlock()
	if id != 0 && n%refusalsToReport == 0 {
		log.Error("zk: servers refuse the session again and again: they may be behind what it has seen, or restored from an older copy",
			"session", hexID(id), "lastZxidSeen", proto.Zxid(zxid).String(), "refusals", n)
	}
}

// wanted is the timeout that the timers of an attempt start from.
func (s *Session) wanted() time.Duration {
	if t := s.Timeout(); t > 0 {
		return t
	}
	return s.cfg.Timeout
}

// handshake dials the server's addresses until one answers.
func (s *Session) handshake(ctx context.Context, server string) (*conn.Conn, *proto.ConnectRequest, proto.ConnectResponse, error) {
	var rep proto.ConnectResponse
	req := s.connectRequest()
	addrs, err := s.resolve(ctx, server)
	if err == nil && len(addrs) == 0 {
		err = &net.DNSError{Err: "no addresses", Name: server}
	}
	cc := s.connConfig(server)
	addrs = s.foundFirst(addrs)
	for i, addr := range addrs {
		var fc *conn.Conn
		s.dialled = addr
		if fc, rep, err = s.tryAddr(ctx, target{server, addr, len(addrs) - i}, cc, req); err == nil {
			return fc, req, rep, nil
		}
		if errors.Is(err, conn.ErrExpired) || errors.Is(err, ErrAuthFailed) {
			break
		}
	}
	return nil, req, rep, err
}

// target is one address of a server, and the number of those that are still to be tried, itself included.
type target struct {
	server, addr string
	share        int
}

// tryAddr dials one address, shakes hands and authenticates, within its share of what the context leaves to it and those behind it: one
// that swallows everything must not keep the others from being tried.
func (s *Session) tryAddr(ctx context.Context, to target, cc *conn.Config, req *proto.ConnectRequest) (*conn.Conn, proto.ConnectResponse, error) {
	if end, ok := ctx.Deadline(); ok && to.share > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/time.Duration(to.share))
		defer cancel()
	}
	fc, err := conn.Dial(ctx, to.addr, cc)
	if err != nil {
		return nil, proto.ConnectResponse{}, err
	}
	rep, err := fc.Handshake(ctx, req)
	if err == nil && s.cfg.SASL != nil {
		err = s.authenticate(ctx, fc, to.server)
	}
	if err != nil {
		_ = fc.Close()
		return nil, rep, err
	}
	return fc, rep, nil
}

// connectRequest asks for a new session, or for this one again.
func (s *Session) connectRequest() *proto.ConnectRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	req := &proto.ConnectRequest{
		LastZxidSeen: s.lastZxid,
		TimeOut:      int32(min(s.cfg.Timeout.Milliseconds(), 1<<31-1)),
		SessionID:    s.id,
		Passwd:       s.passwd,
		ReadOnly:     s.cfg.ReadOnly && s.id == 0, // see readonly.go
	}
	if s.id == 0 {
		req.Passwd = make([]byte, 16)
	}
	return req
}

// attach makes fc the session's connection and starts its loops. Its prelude holds what must go first: credentials, the
// watches, and a sync when something depends on the leader knowing us.
func (s *Session) attach(fc *conn.Conn, server string, sent int64, req *proto.ConnectRequest, rep proto.ConnectResponse) (*connection, error) {
	if req.SessionID != 0 && rep.SessionID != req.SessionID {
		return nil, errWrongID
	}
	if rep.ReadOnly && !req.ReadOnly {
		return nil, errReadOnlyServer
	}
	s.mu.Lock()
	s.connNo++
	cx := &connection{s: s, no: s.connNo, fc: fc, server: server, addr: s.dialled, wake: make(chan struct{}, 1), dead: make(chan struct{})}
	s.id, s.passwd = rep.SessionID, Secret(append([]byte(nil), rep.Passwd...))
	s.clock.attach(sent, int64(time.Duration(rep.TimeOut)*time.Millisecond))
	s.moveLeaseLocked()
	state := StateConnected
	var search context.Context
	if s.temporary = rep.ReadOnly; s.temporary {
		state = StateConnectedReadOnly
		search, cx.endSearch = context.WithCancel(s.ctx)
	} else {
		s.searches = 0
	}
	creds := s.keep.credentials()
	for _, c := range creds { // read here: one that comes later finds the connection, and is sent on it
		cx.preludeAdd(proto.XidAuth, proto.OpAuth, func(b []byte) []byte {
			return (&proto.AuthPacket{Scheme: c.Scheme, Auth: c.Auth}).AppendTo(b)
		})
	}
	s.rewatchLocked(cx)
	if s.needProofLocked() {
		cx.preludeAdd(s.nextXidLocked(), proto.OpSync, appendRoot)
	}
	s.cleaner.resumeLocked()
	s.counters.Connections++
	cx.before = s.counters
	now := s.now()
	cx.began = now
	cx.lastRead.Store(now)
	cx.lastWrite.Store(sent) // after a slow handshake a ping is due at once: the session is as old as its request
	s.cx = cx
	s.refusals = 0
	told := s.publishLocked(state, server, nil)
	s.mu.Unlock()
	if len(creds) > 0 {
		s.keep.warnPlain(fc, server, creds[0].Scheme)
	}
	s.tell(told)
	if s.cfg.NoProof {
		s.turnHolds(Held)
	}
	cx.wg.Add(2)
	// readLoop, owned by the connection; ends when the connection is closed.
	go cx.readLoop()
	// writeLoop, owned by the connection; ends when the connection is given up.
	go cx.writeLoop()
	if search != nil {
		cx.wg.Add(1)
		// searchLoop, owned by the connection; ends with it, or when it has found a server.
		go cx.searchLoop(search)
	}
	cx.signal()
	return cx, nil
}
