//go:build unix

package scale

import (
	"math"
	"syscall"
)

// fileLimit returns how many files this process may have open, 0 when that is not known. The Go runtime has raised it as far as
// it goes.
func fileLimit() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return int(min(uint64(l.Cur), math.MaxInt32))
}
