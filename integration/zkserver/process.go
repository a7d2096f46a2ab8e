package zkserver

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// process is one run of a server.
type process struct {
	pid    int
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has ended; status is set before
	status string        // how it ended; read only after exited is closed
}

// launch starts a program whose output is appended to the file at logPath.
func launch(program string, args []string, dir, logPath string) (*process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = dir, log, log, dieWithUs()
	p := &process{cmd: cmd, exited: make(chan struct{})}
	started := make(chan error)
	// Waiter of one process; owned by p; ends with the process, or at once when it cannot be started.
	go p.run(log, started)
	return p, <-started
}

// run starts the process and stays on its OS thread until it has ended: the kernel kills the child when the thread that
// started it ends, which Go may do with a thread that is not locked.
func (p *process) run(log *os.File, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer log.Close()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	p.pid = p.cmd.Process.Pid
	started <- nil
	_ = p.cmd.Wait() // its error repeats the status below
	p.status = p.cmd.ProcessState.String()
	close(p.exited)
}

// signal sends sig, or returns ErrNotRunning when the process has ended.
func (p *process) signal(sig syscall.Signal) error {
	if p.ended() {
		return ErrNotRunning
	}
	if err := p.cmd.Process.Signal(sig); err != nil {
		if p.ended() {
			return ErrNotRunning
		}
		return err
	}
	return nil
}

// ended reports whether the process has ended.
func (p *process) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}
