package zkserver

import "syscall"

// dieWithUs makes the kernel kill the child when this process ends, however it ends. The child gets a process group of its
// own, so that an interrupt from the terminal reaches only us.
func dieWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
