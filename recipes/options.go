package recipes

import (
	"errors"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
)

// CleanupGrace is how long a Lock that failed waits for the confirmation that its znode is gone, after its context ended.
const CleanupGrace = time.Second

// Option changes how a recipe behaves. The zero configuration is what most users want.
type Option interface{ apply(*settings) error }

type settings struct {
	data     []byte
	ownData  bool // data is the caller's
	acl      []client.ACL
	strict   bool
	failGone bool
	noOwn    bool
	relist   bool
	watchOwn bool
	maxHold  time.Duration
}

type option func(*settings) error

func (o option) apply(s *settings) error { return o(s) }

// Data sets the data of the lock's znode, which by default names the host, the process and the session for whoever looks
// at the queue. The slice is copied.
func Data(data []byte) Option {
	return option(func(s *settings) error {
		s.data, s.ownData = append([]byte{}, data...), true
		return nil
	})
}

// ACL sets the access control list of the lock's znodes; by default it is the client's. Every contender must be able to
// read them all, or a waiter would not notice that the one ahead has gone.
func ACL(acl []client.ACL) Option {
	return option(func(s *settings) error {
		if len(acl) == 0 {
			return errors.New("empty ACL")
		}
		s.acl = append([]client.ACL{}, acl...)
		return nil
	})
}

// Strict ends a lease as soon as the connection is lost, instead of keeping it as Unsure until its deadline.
func Strict() Option { return option(func(s *settings) error { s.strict = true; return nil }) }

// FailIfNodeGone makes a waiting Lock fail with ErrNodeGone, or ErrSessionExpired, when its znode disappears, instead of
// going to the end of the queue once more.
func FailIfNodeGone() Option {
	return option(func(s *settings) error { s.failGone = true; return nil })
}

// NoOwnWatch makes a waiter watch only the znode ahead of it, not its own as well. It saves a watch, and is safe only
// where nobody ever deletes another's lock znode (docs/locks.md A10 rule 2).
func NoOwnWatch() Option { return option(func(s *settings) error { s.noOwn = true; return nil }) }

// AlwaysList makes a waiter look at the whole queue before each grant, for a flight more per hand-over. It is for paths on
// which somebody deletes a waiter's znode and the one ahead of it in one transaction (docs/locks.md A10 rule 7).
func AlwaysList() Option { return option(func(s *settings) error { s.relist = true; return nil }) }

// WatchOwnNode makes a lease end with ErrNodeGone when its znode disappears while the session lives, which only an
// operator, or a program gone wrong, can bring about. It costs one more request per grant, which nobody waits for.
func WatchOwnNode() Option { return option(func(s *settings) error { s.watchOwn = true; return nil }) }

// MaxHold ends each lease with ErrMaxHold after d at the latest and deletes its znode, so that one holder cannot block the
// lock for ever. It is safe only for work that stops when the lease's context ends.
func MaxHold(d time.Duration) Option {
	return option(func(s *settings) error {
		if d <= 0 {
			return errors.New("MaxHold is not positive")
		}
		s.maxHold = d
		return nil
	})
}
