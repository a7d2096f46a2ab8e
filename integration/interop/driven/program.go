package driven

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// closeBound is how long a program may take to end after its input has.
const closeBound = time.Minute

var (
	// ErrMissing says that something is not installed.
	ErrMissing = errors.New("not installed")
	// ErrNone means that a Program was not made by Start, or is told to do nothing.
	ErrNone = errors.New("driven: no program, or no command")
)

// Program is a program that runs. Its methods may be called from any goroutine; the zero Program is none.
type Program struct {
	Name     string   // for errors
	Greeting []string // what it says first about itself

	cmd   *exec.Cmd
	in    io.WriteCloser
	log   bytes.Buffer  // what it writes to its standard error; read only after its end
	ended chan struct{} // closed when it says no more

	mu      sync.Mutex // guards what follows
	waiting map[string]chan string
	said    []string // what nobody waited for
	closed  bool
	killed  bool
}

// Start starts a program, and returns when it says that it is ready. The caller owns it until Close. ctx bounds the start only.
func Start(ctx context.Context, name, path string, args ...string) (*Program, error) {
	p := &Program{Name: name, cmd: exec.Command(path, args...), ended: make(chan struct{}), waiting: make(map[string]chan string)}
	p.cmd.Stderr = &p.log
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	ready := make(chan string, 1)
	p.waiting["ready"] = ready
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	// Reader; owned by p, whose Close waits for it; ends with the program.
	go p.read(out)
	select {
	case line := <-ready:
		p.Greeting = strings.Fields(line)
		return p, nil
	case <-p.ended:
		return nil, errors.Join(fmt.Errorf("%s ended at once", name), p.Close())
	case <-ctx.Done():
		return nil, errors.Join(fmt.Errorf("%s: %w", name, ctx.Err()), p.Close())
	}
}

// Close ends the program by ending its input, and after a minute by force. The error says what was wrong with its end, and what
// it has said that nobody asked for. Later calls do nothing, and neither does that of a nil Program.
func (p *Program) Close() error {
	if p == nil || p.cmd == nil {
		return nil
	}
	p.mu.Lock()
	again := p.closed
	p.closed = true
	p.mu.Unlock()
	if again {
		return nil
	}
	_ = p.in.Close() // it may have ended
	stuck := time.AfterFunc(closeBound, func() { _ = p.cmd.Process.Kill() })
	<-p.ended
	err := p.cmd.Wait()
	stuck.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", p.Name, err)
	}
	if len(p.said) > 0 {
		err = errors.Join(err, fmt.Errorf("%s says what nobody asked for: %q", p.Name, p.said))
	}
	return err
}

// Kill ends the program as a crash does: it says good-bye to nobody. Close waits for the end.
func (p *Program) Kill() error {
	if p == nil || p.cmd == nil {
		return ErrNone
	}
	p.mu.Lock()
	p.killed = true
	p.mu.Unlock()
	return p.cmd.Process.Kill()
}

// Ended is closed when the program has ended, or at least says no more. It is nil for a nil Program.
func (p *Program) Ended() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.ended
}

// Log returns what the program has written to its standard error; empty before Close has returned.
func (p *Program) Log() string {
	if p == nil || p.cmd == nil || p.cmd.ProcessState == nil {
		return ""
	}
	return p.log.String()
}

// read passes lines on to those who wait for them.
func (p *Program) read(out io.Reader) {
	defer close(p.ended)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		who, what, _ := strings.Cut(lines.Text(), " ")
		p.mu.Lock()
		if answer, ok := p.waiting[who]; ok {
			delete(p.waiting, who)
			answer <- what // has room for one
		} else {
			p.said = append(p.said, lines.Text())
		}
		p.mu.Unlock()
	}
}

// Send makes a contender do something, and returns where the answer will come. A contender does one thing at a time.
func (p *Program) Send(contender string, command ...string) (<-chan string, error) {
	if p == nil || p.in == nil || len(command) == 0 {
		return nil, ErrNone
	}
	answer := make(chan string, 1)
	p.mu.Lock()
	_, busy := p.waiting[contender]
	if !busy {
		p.waiting[contender] = answer
	}
	p.mu.Unlock()
	if busy {
		return nil, fmt.Errorf("%s is busy and cannot %s", contender, command[0])
	}
	_, err := io.WriteString(p.in, contender+" "+strings.Join(command, " ")+"\n")
	return answer, err
}

// Call makes a contender do something and waits until it has been done, the program ends, or ctx does. It returns the result.
func (p *Program) Call(ctx context.Context, contender string, command ...string) (string, error) {
	answer, err := p.Send(contender, command...)
	if err != nil {
		return "", err
	}
	select {
	case line := <-answer:
		if result, ok := strings.CutPrefix(line, "ok"); ok {
			return strings.TrimSpace(result), nil
		}
		return "", fmt.Errorf("%s: %s: %s", contender, command[0], line)
	case <-p.ended:
		return "", fmt.Errorf("%s ended during %s", p.Name, command[0])
	case <-ctx.Done():
		return "", fmt.Errorf("%s: %s: %w", contender, command[0], ctx.Err())
	}
}
