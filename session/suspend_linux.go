package session

import (
	"syscall"
	"time"
	"unsafe"
)

// The clocks of clock_gettime(2): both run at the same rate, and only the first goes on while the machine is suspended.
const (
	clockMonotonic = 1
	clockBoottime  = 7
)

// suspended returns how long the machine has been suspended since it was started.
func suspended() time.Duration {
	boot, ok := read(clockBoottime)
	mono, ok2 := read(clockMonotonic)
	if !ok || !ok2 {
		return 0
	}
	return max(0, boot-mono)
}

func read(clock uintptr) (time.Duration, bool) {
	var ts syscall.Timespec
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano()), errno == 0
}
