//go:build !linux

package delay

import "time"

// wait blocks for d, as precisely as the runtime's timers are.
func wait(d time.Duration) { <-time.After(d) }
