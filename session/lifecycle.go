package session

import (
	"context"
	"errors"
)

// errServerRemoved ends a connection to a server that is not in the list any more.
var errServerRemoved = errors.New("server was removed from the list")

// ErrNoServers is the answer to an empty server list.
var ErrNoServers = errors.New("no servers")

// SetServers replaces the server list while the Keeper runs, shuffled. A connection to a server that is still listed stays;
// any other is given up, and the session goes on with one of the new servers at once, after an attempt that is under way. A
// pause between rounds ends. It does not block, but for what closing a TLS connection may take (conn.Conn.Close).
func (k *Keeper) SetServers(servers []string) error {
	if len(servers) == 0 {
		return ErrNoServers
	}
	k.hosts.replace(servers, k.cfg.Env.Rand)
	k.roundDone(true) // what was learned about the old ones does not count
	s := k.current.Load()
	s.mu.Lock()
	cx := s.cx
	s.mu.Unlock()
	if cx == nil {
		return nil
	}
	for _, server := range servers {
		if server == cx.server {
			return nil
		}
	}
	cx.fail(errServerRemoved)
	return nil
}

// Ticket is what it takes to go on with a session elsewhere, in another Keeper or another process. Whoever has it can take
// the session over, and end it.
type Ticket struct {
	ID     int64
	Passwd Secret
	Zxid   int64 // the highest that was seen: servers that are behind it are refused
}

// Detach ends the Keeper without ending its session: the ensemble keeps it, with its ephemeral znodes, until its timeout has
// passed or somebody goes on with it by Config.Resume. Holds end first, queued calls complete as not sent, and what is in
// flight as unknown. It fails if there is no session yet, or not any more, or only that of a read-only server
// (ErrTemporarySession), which is closed then; the Keeper has ended in any case.
func (k *Keeper) Detach() (Ticket, error) {
	s := k.current.Load()
	s.mu.Lock()
	closed := s.closing
	s.leaving = true
	s.mu.Unlock()
	err := k.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over != ErrClosed:
		return Ticket{}, s.over
	case s.temporary:
		return Ticket{}, ErrTemporarySession
	case closed, s.parted:
		return Ticket{}, ErrClosed
	case s.id == 0:
		return Ticket{}, ErrDisconnected
	case err == ErrCloseUnconfirmed:
		err = nil // nothing was to be confirmed
	}
	return Ticket{ID: s.id, Passwd: s.passwd, Zxid: s.lastZxid}, err
}

// Shutdown waits until everything that is held has been released, and then closes; no new hold is granted meanwhile. If ctx
// ends first it closes at once and returns the context's error, joined with that of Close.
func (k *Keeper) Shutdown(ctx context.Context) error {
	k.draining.Store(true)
	for {
		s := k.current.Load()
		select {
		case <-s.whenEmpty():
			if k.current.Load() == s {
				return k.Close()
			}
		case <-ctx.Done():
			return errors.Join(ctx.Err(), k.Close())
		}
	}
}

// whenEmpty is closed when nothing is held.
func (s *Session) whenEmpty() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.empty == nil {
		s.empty = make(chan struct{})
		if s.holds.n == 0 {
			close(s.empty)
		}
	}
	return s.empty
}

// emptiedLocked tells Shutdown when the last hold is gone.
func (s *Session) emptiedLocked() {
	if s.empty != nil && s.holds.n == 0 {
		select {
		case <-s.empty:
		default:
			close(s.empty)
		}
	}
}

// Context ends with the Keeper; context.Cause then says why: ErrClosed, ErrAuthFailed, or ErrSessionExpired with
// Config.FinalExpiry.
func (k *Keeper) Context() context.Context { return k.life }
