//go:build !linux

package zkserver

import (
	"errors"
	"time"
)

// cpuTime is for systems that have no /proc.
func cpuTime(int) (time.Duration, error) { return 0, errors.ErrUnsupported }
