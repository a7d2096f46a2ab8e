// Package load puts load on a ZooKeeper client and measures it. It is what `go run ./bench` and bench/versus share: the
// workloads, the measuring, the check that no two holders of a lock overlapped, the report. Which client it is, a Driver
// says; Lockkeeper is ours.
//
//	res, err := load.Run(ctx, &load.Config{Driver: load.Lockkeeper{}, Servers: addr, Workload: load.Lock, ...})
//	res.WriteTable(os.Stdout)
//
// # How it measures
//
// The loop is closed: a goroutine begins its next operation when the one before has ended, so latencies are those of a
// client that does not offer more than it gets. First comes the warm-up, which is not counted, then the window, in which
// operations that end are counted, and what the process allocated and the sessions wrote is the difference between its two
// ends. Throughput is operations completed in the window by its length; operations that fail are counted apart, by kind, and
// are in no latency. Whatever is under way when the window ends is cancelled and counts nowhere. Every goroutine records
// into histograms of its own, and the loop around an operation allocates nothing.
//
// # What is checked
//
// Each lock has a Checker, which sees every hold, those of the warm-up too: a holder that begins before the one before has
// ended is a violation, and so is a fencing token that is not greater than that of the hold before. A run without an
// operation, or with a violation, has failed: see Result.Failure.
//
// # Goroutines
//
// Run starts one per worker and one per session that opens, and returns when they have ended, except for those of a client
// that does not let go of a call after its session was closed; the result says how many. A progress goroutine runs only
// when somebody wants to see it.
package load
