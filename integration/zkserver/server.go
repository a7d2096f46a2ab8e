package zkserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// readyBound is how long a server may take until it serves; a start takes half a second, an election one more.
	readyBound = 60 * time.Second
	stopBound  = 10 * time.Second
	pollEvery  = 20 * time.Millisecond
	tailLines  = 40
)

// Server is one server. All methods may be called from any goroutine. Those that act on the process return ErrNotOurs for
// a server that runs elsewhere.
type Server struct {
	id        int
	addr      string
	secure    string // empty without Options.TLS
	dir       string
	log       string
	program   string
	arguments []string
	ours      bool

	mu   sync.Mutex // guards proc; not held while waiting
	proc *process   // the last run; nil before the first
}

// ID returns the server's number, from 1: the N of server.N in an ensemble.
func (s *Server) ID() int { return s.id }

// Addr returns the host:port for clients. It stays the same when the server is started again.
func (s *Server) Addr() string { return s.addr }

// SecureAddr returns the host:port for clients that speak TLS; empty without Options.TLS. It stays the same as well.
func (s *Server) SecureAddr() string { return s.secure }

// Dir returns the folder with the server's configuration and, in data, its data; empty for a server that runs elsewhere.
func (s *Server) Dir() string { return s.dir }

// Log returns the path of the server's log, which all its runs append to; empty for a server that runs elsewhere.
func (s *Server) Log() string { return s.log }

// Tail returns the last n lines of the log.
func (s *Server) Tail(n int) string {
	if !s.ours {
		return "(no log: the server was not started here)"
	}
	return tail(s.log, n)
}

// PID returns the process id, 0 when the server does not run or runs elsewhere.
func (s *Server) PID() int {
	if p := s.current(); p != nil && !p.ended() {
		return p.pid
	}
	return 0
}

// CPUTime returns how long the server's process has computed so far, in all its threads, to a hundredth of a second. A
// server that is down gives ErrNotRunning; where there is no /proc the error is errors.ErrUnsupported.
func (s *Server) CPUTime() (time.Duration, error) {
	if !s.ours {
		return 0, ErrNotOurs
	}
	p := s.current()
	if p == nil || p.ended() {
		return 0, ErrNotRunning
	}
	return cpuTime(p.pid)
}

// Start starts the process and returns without waiting; see Wait. A running server gives ErrRunning.
func (s *Server) Start() error {
	if !s.ours {
		return ErrNotOurs
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil && !s.proc.ended() {
		return fmt.Errorf("zkserver: start server %d: %w", s.id, ErrRunning)
	}
	p, err := launch(s.program, s.arguments, s.dir, s.log)
	if err != nil {
		return fmt.Errorf("zkserver: start server %d: %w", s.id, err)
	}
	s.proc = p
	return nil
}

// Stop asks the process to end, as an operator would (SIGTERM), and waits for it. When ctx ends first, or after ten
// seconds, it is killed and the error says so. A server that does not run is no error. A paused one is continued.
func (s *Server) Stop(ctx context.Context) error {
	p, err := s.signal(syscall.SIGTERM)
	if errors.Is(err, ErrNotRunning) {
		return nil
	}
	if err == nil {
		err = p.signal(syscall.SIGCONT)
	}
	if err != nil && !errors.Is(err, ErrNotRunning) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stopBound)
	defer cancel()
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("zkserver: server %d had to be killed: %w", s.id, ctx.Err()), s.Kill())
	}
}

// Kill ends the process at once (SIGKILL) and waits until it is gone: its memory and connections are lost, its data stays.
// A server that does not run is no error.
func (s *Server) Kill() error {
	p, err := s.signal(syscall.SIGKILL)
	if errors.Is(err, ErrNotRunning) {
		return nil
	}
	if err != nil {
		return err
	}
	<-p.exited
	return nil
}

// Pause stops the process without ending it (SIGSTOP): the kernel goes on accepting connections, and nobody answers.
func (s *Server) Pause() error {
	_, err := s.signal(syscall.SIGSTOP)
	return err
}

// Continue ends a Pause (SIGCONT).
func (s *Server) Continue() error {
	_, err := s.signal(syscall.SIGCONT)
	return err
}

// Restart stops the server, starts it again with its data and waits until it serves.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.Stop(ctx); err != nil {
		return err
	}
	if err := s.Start(); err != nil {
		return err
	}
	return s.Wait(ctx)
}

// Ask sends a four-letter word and returns the answer; see the function Ask.
func (s *Server) Ask(ctx context.Context, word string) (string, error) { return Ask(ctx, s.addr, word) }

// Status asks the server how it is (srvr). A server that is up and does not serve gives ErrNotServing.
func (s *Server) Status(ctx context.Context) (Status, error) {
	answer, err := s.Ask(ctx, "srvr")
	if err != nil {
		return Status{}, err
	}
	return parseStatus(answer)
}

// Wait returns when the server serves clients, ctx ends, its process ends (ExitError), or a minute has passed.
func (s *Server) Wait(ctx context.Context) error {
	return s.WaitFor(ctx, func(Status) bool { return true })
}

// WaitFor returns when the server serves and its status satisfies ok, or as Wait does.
func (s *Server) WaitFor(ctx context.Context, ok func(Status) bool) error {
	return s.poll(ctx, func(st Status, err error) bool { return err == nil && ok(st) })
}

// WaitNotServing returns when the server no longer serves, whether it is up or down. It ends as Wait does otherwise.
func (s *Server) WaitNotServing(ctx context.Context) error {
	return s.poll(ctx, func(_ Status, err error) bool { return err != nil })
}

// poll asks for the status until done says that it is the one waited for.
func (s *Server) poll(ctx context.Context, done func(Status, error) bool) error {
	ctx, cancel := context.WithTimeout(ctx, readyBound)
	defer cancel()
	var ended <-chan struct{} // nil, never ready, for a server that runs elsewhere
	p := s.current()
	if p != nil {
		ended = p.exited
	}
	every := time.NewTicker(pollEvery)
	defer every.Stop()
	for {
		st, err := s.Status(ctx)
		if err == nil {
			err = s.secureUp(ctx)
		}
		if ctx.Err() == nil && done(st, err) {
			return nil
		}
		select {
		case <-ended:
			return s.exit(p)
		case <-ctx.Done():
			return fmt.Errorf("zkserver: waiting for server %d at %s: %w (last answer: %v)\n%s", s.id, s.addr, ctx.Err(), err, s.Tail(tailLines))
		case <-every.C:
		}
	}
}

// secureUp reports an error while the server does not listen for TLS, which it begins to do after it serves plain clients.
func (s *Server) secureUp(ctx context.Context) error {
	if s.secure == "" {
		return nil
	}
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", s.secure)
	if err != nil {
		return err
	}
	return nc.Close()
}

// exit describes the end of a process.
func (s *Server) exit(p *process) error {
	text := s.Tail(tailLines)
	taken := strings.Contains(text, "BindException") || strings.Contains(text, "Address already in use")
	return &ExitError{Server: s.id, Status: p.status, Tail: text, taken: taken}
}

// current returns the last run of the server, nil if there is none.
func (s *Server) current() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc
}

// signal sends sig to the running process and returns it.
func (s *Server) signal(sig syscall.Signal) (*process, error) {
	if !s.ours {
		return nil, ErrNotOurs
	}
	p := s.current()
	if p == nil {
		return nil, ErrNotRunning
	}
	return p, p.signal(sig)
}
