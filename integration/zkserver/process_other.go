//go:build unix && !linux

package zkserver

import "syscall"

// dieWithUs has no means here: a server outlives a test process that is killed.
func dieWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
