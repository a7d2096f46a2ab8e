package leakcheck

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Sockets returns the number of sockets that this process has open, and whether that can be known: on Linux, from /proc.
func Sockets() (n int, known bool) {
	const dir = "/proc/self/fd"
	files, err := os.ReadDir(dir)
	if err != nil {
		return 0, false
	}
	for _, f := range files {
		// One that has been closed meanwhile is no socket any more.
		if target, err := os.Readlink(filepath.Join(dir, f.Name())); err == nil && strings.HasPrefix(target, "socket:") {
			n++
		}
	}
	return n, true
}

// waitSockets returns how many sockets more than before are still open after some seconds.
func waitSockets(before int) int {
	wait := firstWait
	for range attempts {
		if n, _ := Sockets(); n <= before {
			return 0
		}
		<-time.After(wait)
		wait += firstWait
	}
	n, _ := Sockets()
	return n - before
}
