package session

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"time"
)

// Keeper is the succession of sessions: when one is over by expiry it begins the next, which starts with nothing of the
// one before but the configuration and the credentials. All methods may be called from any goroutine.
type Keeper struct {
	cfg    Config // immutable
	ctx    context.Context
	cancel context.CancelFunc
	life   context.Context // ends with the Keeper
	die    context.CancelCauseFunc
	hosts  *hosts

	warned   atomic.Bool             // orders nothing: warnPlain has spoken
	draining atomic.Bool             // publishes that Shutdown was called: no hold is granted any more
	current  atomic.Pointer[Session] // publishes the session that accepts calls
	changes  *changes
	done     chan struct{} // closed when the last session is over

	mu       sync.Mutex // guards what follows
	creds    []Credential
	failures int      // rounds of attempts, or connections, in a row that were of no use
	past     Counters // of sessions that are over
	closeErr error
}

// Open starts a Keeper. It does not block; the first session is connecting when it returns, and accepts calls.
func Open(cfg Config) (*Keeper, error) {
	if len(cfg.Servers) == 0 {
		return nil, ErrNoServers
	}
	k := &Keeper{cfg: cfg.withDefaults(), done: make(chan struct{})}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	k.life, k.die = context.WithCancelCause(context.Background())
	k.hosts = newHosts(k.cfg.Servers, k.cfg.Env.Rand)
	k.creds = append([]Credential(nil), cfg.Credentials...)
	k.changes = newChanges(Change{State: StateConnecting, Generation: 1})
	first := newSession(k, 1)
	if t := k.cfg.Resume; t != nil {
		first.id, first.passwd, first.lastZxid, first.relativeZxid = t.ID, t.Passwd, t.Zxid, t.Zxid
	}
	k.current.Store(first)
	// run, owned by the Keeper; ends after Close, a refusal of the credentials, or a final expiry.
	go k.run()
	return k, nil
}

// run carries one session after another.
func (k *Keeper) run() {
	defer close(k.done)
	defer k.changes.end()
	s := k.current.Load()
	s.tell(k.changes.current().Change)
	for {
		err := s.run()
		s.finish(err)
		next := k.current.Load()
		if next == s {
			k.die(err)
			return
		}
		s = next
		begin := Change{State: StateConnecting, Generation: s.gen}
		k.changes.publish(begin)
		s.tell(begin)
	}
}

// succeed puts the successor of s in place, if there is to be one.
func (k *Keeper) succeed(s *Session, end error) {
	if k.current.Load() != s || end != ErrSessionExpired || k.cfg.FinalExpiry || k.ctx.Err() != nil {
		return
	}
	k.current.Store(newSession(k, s.gen+1))
	past := s.Counters()
	k.mu.Lock()
	k.past.add(past)
	k.mu.Unlock()
}

// Current returns the session that accepts calls now.
func (k *Keeper) Current() *Session { return k.current.Load() }

// Done is closed when the Keeper has ended.
func (k *Keeper) Done() <-chan struct{} { return k.done }

// Do is Session.Do on the current session.
func (k *Keeper) Do(ctx context.Context, g *Group) (kept bool, err error) {
	for {
		s := k.current.Load()
		kept, err = s.Do(ctx, g)
		if err == nil || k.current.Load() == s || !g.retract(err) {
			return kept, err
		}
	}
}

// retract makes a group that a session refused because it is over ready for the next session.
func (g *Group) retract(err error) bool {
	if err != ErrSessionExpired {
		return false
	}
	for i := range g.calls {
		g.calls[i].outcome, g.calls[i].err = Pending, nil
	}
	return g.stage.CompareAndSwap(complete, building)
}

// Changes yields the current state and then every change, in order and without a gap, until the context ends or the
// Keeper does. Any number of callers may follow at once.
func (k *Keeper) Changes(ctx context.Context) iter.Seq[Change] { return k.changes.follow(ctx) }

// State returns the newest change.
func (k *Keeper) State() Change { return k.changes.current().Change }

// Failures tells per server why the newest attempt at it failed: a *ServersError, or nil.
func (k *Keeper) Failures() error { return k.hosts.failures() }

// Counters returns the sums over all sessions so far. For a moment after a session has expired they may be without its own.
func (k *Keeper) Counters() Counters {
	k.mu.Lock()
	c := k.past
	k.mu.Unlock()
	c.add(k.current.Load().Counters())
	return c
}

// AddCredential adds an identity to those that every new connection begins with. On the connection that exists it becomes
// effective by an auth request, which is the caller's to send.
func (k *Keeper) AddCredential(c Credential) {
	k.addCredential(c)
	s := k.current.Load()
	s.mu.Lock()
	cx := s.cx
	s.mu.Unlock()
	if cx != nil {
		k.warnPlain(cx.fc, cx.server, c.Scheme)
	}
}

func (k *Keeper) addCredential(c Credential) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, old := range k.creds {
		if old.Scheme == c.Scheme && string(old.Auth) == string(c.Auth) {
			return
		}
	}
	k.creds = append(k.creds, c)
}

func (k *Keeper) credentials() []Credential {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.creds[:len(k.creds):len(k.creds)]
}

// Close ends the current session and the Keeper: holds first, then, if there is a connection, closeSession, whose reply is
// awaited for Config.CloseBound. Queued calls complete as not sent. It may be called any number of times, and returns
// ErrCloseUnconfirmed when the ensemble may still keep the session.
func (k *Keeper) Close() error {
	s := k.current.Load()
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.endHolds(ErrClosed)
	k.cancel()
	<-k.done
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.closeErr
}

// unconfirmed notes that closeSession was not answered.
func (k *Keeper) unconfirmed() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closeErr = ErrCloseUnconfirmed
}

// roundDone notes whether a round of attempts, or a connection, was of use.
func (k *Keeper) roundDone(useful bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if useful {
		k.failures = 0
	} else {
		k.failures++
	}
}

// pause is how long to wait before the next round of attempts: nothing after a connection that was of use, so that the
// first failover is immediate, and then longer and longer, with jitter, so that many clients do not come at once.
func (k *Keeper) pause() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failures == 0 {
		return 0
	}
	d := k.cfg.MaxBackoff
	if shift := k.failures - 1; shift < 20 {
		d = min(d, k.cfg.MinBackoff<<shift)
	}
	return jittered(d, k.cfg.Env.Rand)
}

// jittered returns a random duration between d/2 and d.
func jittered(d time.Duration, random func() uint64) time.Duration {
	half := uint64(d / 2)
	return time.Duration(half + random()%(half+1))
}
