package delay

import (
	"syscall"
	"time"
)

// wait blocks for d, to within about 60 µs: the kernel sleeps, instead of the Go runtime, whose idle threads wait in whole
// milliseconds. An early return by a signal does no harm, since the caller looks at the time again.
func wait(d time.Duration) {
	ts := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&ts, nil)
}
