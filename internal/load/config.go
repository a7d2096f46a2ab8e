package load

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Config says what to run. Register makes flags of most fields.
type Config struct {
	Driver  Driver
	Servers string // "host:port,host:port"

	Workload   Workload
	Sessions   int
	Goroutines int           // per session
	Locks      int           // number of lock paths, or of znodes; goroutines are spread over them
	Hold       time.Duration // of a lock
	HandOver   int           // how many holders of one session may pass on one znode; 0: each has its own
	Pipelined  bool          // a release is not waited for
	Warmup     time.Duration
	Duration   time.Duration // of the window

	// Ops, when it is not zero, bounds the run by numbers instead of times: WarmupOps rounds of warm-up, then Ops rounds in
	// the window.
	Ops, WarmupOps int64

	// Bare says that the server keeps no tree, as internal/peer does: nothing is created before and removed after.
	Bare bool

	// Progress, if set, is called twice a second.
	Progress func(Progress)
	// Planted, if set, is called when the znodes of the run are there, before its sessions open. Its error ends the run. It is not
	// called of a run that is Bare.
	Planted func(ctx context.Context, t *Tree) error
	// Settled, if set, is called once all sessions are open, before the first operation.
	Settled func()
}

// Progress is a look at a run.
type Progress struct {
	Elapsed, Total time.Duration // Total is zero when the run is bounded by numbers
	Operations     int64         // so far, warm-up included
	PerSec         float64       // since the look before
}

// ErrConfig is matched by the errors of Validate.
var ErrConfig = errors.New("bad configuration")

// Validate reports the first thing that is wrong, in words that name the flags.
func (c *Config) Validate() error {
	switch {
	case c.Driver == nil:
		return fmt.Errorf("%w: no driver", ErrConfig)
	case !c.Workload.known():
		return fmt.Errorf("%w: -workload %q is none of %s", ErrConfig, c.Workload, workloadNames())
	case c.Sessions < 1:
		return fmt.Errorf("%w: -sessions is %d, at least 1 is needed", ErrConfig, c.Sessions)
	case c.Goroutines < 1:
		return fmt.Errorf("%w: -goroutines is %d, at least 1 is needed", ErrConfig, c.Goroutines)
	case c.Locks < 1:
		return fmt.Errorf("%w: -locks is %d, at least 1 is needed", ErrConfig, c.Locks)
	case c.Hold < 0:
		return fmt.Errorf("%w: -hold is %v, it cannot be negative", ErrConfig, c.Hold)
	case c.Hold > 0 && c.Workload != Lock:
		return fmt.Errorf("%w: -hold is for -workload lock", ErrConfig)
	case c.HandOver != 0 && c.Workload != Lock:
		return fmt.Errorf("%w: -handover is for -workload lock", ErrConfig)
	case c.Pipelined && c.Workload != Lock:
		return fmt.Errorf("%w: -pipelined is for -workload lock", ErrConfig)
	case c.HandOver < 0 || c.HandOver == 1:
		return fmt.Errorf("%w: -handover is %d, it must be 0 or at least 2", ErrConfig, c.HandOver)
	case c.Warmup < 0:
		return fmt.Errorf("%w: -warmup is %v, it cannot be negative", ErrConfig, c.Warmup)
	case c.Ops < 0 || c.WarmupOps < 0:
		return fmt.Errorf("%w: a number of operations cannot be negative", ErrConfig)
	case c.Ops == 0 && c.Duration <= 0:
		return fmt.Errorf("%w: -duration is %v, it must be positive", ErrConfig, c.Duration)
	}
	return nil
}
