package load

import (
	"flag"
	"time"
)

// Register adds the flags that say what to run, with their defaults, which are those of `go run ./bench`: ten sessions
// that contend for one lock.
func (c *Config) Register(fs *flag.FlagSet) {
	fs.Func("workload", "`what` to do: "+workloadNames()+" (default lock)", func(s string) error {
		c.Workload = Workload(s)
		return nil
	})
	c.Workload = Lock
	fs.IntVar(&c.Sessions, "sessions", 10, "`number` of sessions, each with its own connection")
	fs.IntVar(&c.Goroutines, "goroutines", 1, "`number` of goroutines per session")
	fs.IntVar(&c.Locks, "locks", 1, "`number` of locks, or of znodes for the other workloads; goroutines are spread over them")
	fs.DurationVar(&c.Hold, "hold", 0, "`time` that a lock is held")
	fs.IntVar(&c.HandOver, "handover", 0, "`number` of holders of one session that may pass on one znode; 0: each has its own")
	fs.BoolVar(&c.Pipelined, "pipelined", false, "do not wait for the confirmation of a release")
	fs.DurationVar(&c.Duration, "duration", 5*time.Second, "`time` that is measured")
	fs.DurationVar(&c.Warmup, "warmup", time.Second, "`time` that the load runs before it is measured")
}
