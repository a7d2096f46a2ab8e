package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// endBound is how long the child may take to end once it was asked to.
const endBound = 5 * time.Second

// Server is a child process that serves. Its methods may be called from any goroutine.
type Server struct {
	servers string
	cmd     *exec.Cmd
	stdin   io.Closer
	ended   chan struct{} // closed when the child has ended
	close   sync.Once
}

// Options say what the child does.
type Options struct {
	RTT     time.Duration // added between the clients and the server
	Servers string        // that run already: the child then only delays; empty for an embedded server
}

// Start starts this program again as a child, and returns when it serves. ctx bounds the start.
func Start(ctx context.Context, o Options) (*Server, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{Flag, o.RTT.String()}
	if o.Servers != "" {
		args = append(args, o.Servers)
	}
	s := &Server{cmd: exec.Command(program, args...), ended: make(chan struct{})}
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	line := make(chan string, 1)
	// watcher of the child, owned by the Server, ends with the child, which ends with its standard input.
	go s.watch(out, line)
	select {
	case s.servers = <-line:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil && s.servers == "" {
		err = errors.New("it ended before it served")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the benchmark's server: %w", err), s.Close())
	}
	return s, nil
}

// watch passes on the child's one line, and then waits for its end.
func (s *Server) watch(out io.Reader, line chan<- string) {
	text, _ := bufio.NewReader(out).ReadString('\n') // without a line the child has failed, and has said why
	line <- strings.TrimSpace(text)
	_ = s.cmd.Wait() // how it ended matters only before it served
	close(s.ended)
}

// Servers returns the connect string.
func (s *Server) Servers() string { return s.servers }

// PID returns the process id of the child.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Ended is closed when the child has ended.
func (s *Server) Ended() <-chan struct{} { return s.ended }

// Close ends the child and waits for that. One that does not end in time is killed, and the error says so.
func (s *Server) Close() (err error) {
	s.close.Do(func() {
		_ = s.stdin.Close() // asks it to end
		t := time.NewTimer(endBound)
		defer t.Stop()
		select {
		case <-s.ended:
		case <-t.C:
			err = errors.Join(errors.New("the benchmark's server had to be killed"), s.cmd.Process.Kill())
			<-s.ended
		}
	})
	return err
}
