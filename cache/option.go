package cache

import (
	"math"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
)

// DefaultPatience is how long a cache waits for a subtree to be at rest, unless Patience says otherwise.
const DefaultPatience = time.Second

// Option changes a default of Open. A value that cannot be makes Open return a *client.OptionError.
type Option interface {
	apply(o *options) *client.OptionError
}

// options is what the options have made of the defaults.
type options struct {
	depth    int
	patience time.Duration
}

type option func(o *options) *client.OptionError

func (f option) apply(o *options) *client.OptionError { return f(o) }

// Depth bounds how far below the path of the cache znodes are kept: 1 is for a znode and its children, 0 for the znode alone.
// The default is to keep all. With 0 the server tells of changes of this znode only; otherwise it tells of those further down
// too, which are then ignored.
func Depth(n int) Option {
	return option(func(o *options) *client.OptionError {
		o.depth = n
		return require(n >= 0, "Depth", "negative")
	})
}

// Patience is for subtrees in which something changes all the time: how long readers are kept waiting for a state that the
// subtree had at one moment, before they are shown one that mixes moments (see Snapshot.Mixed). With a time that is very long
// such a snapshot is never shown.
func Patience(d time.Duration) Option {
	return option(func(o *options) *client.OptionError {
		o.patience = d
		return require(d >= 0, "Patience", "negative")
	})
}

func require(ok bool, name, reason string) *client.OptionError {
	if ok {
		return nil
	}
	return &client.OptionError{Option: name, Reason: reason}
}

// collect applies opts to the defaults.
func collect(opts []Option) (options, error) {
	o := options{depth: math.MaxInt, patience: DefaultPatience}
	for _, opt := range opts {
		if opt == nil {
			return o, &client.OptionError{Option: "of a cache", Reason: "nil"}
		}
		if err := opt.apply(&o); err != nil {
			return o, err
		}
	}
	return o, nil
}
