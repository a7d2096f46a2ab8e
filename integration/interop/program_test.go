package interop

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds every wait for something that must happen.
const patience = time.Minute

// program runs contenders in another language. Its methods may be called from any goroutine.
type program struct {
	name     string
	greeting []string // what it says first about itself
	in       io.WriteCloser
	process  *os.Process
	ended    chan struct{} // closed when it says no more

	mu      sync.Mutex // guards what follows
	killed  bool
	waiting map[string]chan string
	said    []string // what nobody waited for
}

// startProgram starts a program that lives until the end of the test.
func startProgram(t *testing.T, name, path string, args ...string) *program {
	t.Helper()
	cmd := exec.Command(path, args...)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() // the program has its own
	cmd.Stderr = log
	p := &program{name: name, ended: make(chan struct{}), waiting: make(map[string]chan string)}
	if p.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	ready := make(chan string, 1)
	p.waiting["ready"] = ready
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.process = cmd.Process
	// Reader; owned by the test, whose end waits for it; ends with the program.
	go p.read(out)
	t.Cleanup(func() { p.stop(t, cmd, log.Name()) })
	select {
	case line := <-ready:
		p.greeting = strings.Fields(line)
	case <-p.ended:
		t.Fatalf("%s ended at once", name)
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
	return p
}

// stop ends the program by ending its input.
func (p *program) stop(t *testing.T, cmd *exec.Cmd, log string) {
	_ = p.in.Close() // it may have ended
	stuck := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	<-p.ended
	err := cmd.Wait()
	if stuck.Stop(); err != nil && !p.killed {
		t.Errorf("%s: %v", p.name, err)
	}
	if len(p.said) > 0 {
		t.Errorf("%s says what nobody asked for: %q", p.name, p.said)
	}
	if text, err := os.ReadFile(log); t.Failed() && len(text) > 0 {
		t.Logf("log of %s (%v):\n%s", p.name, err, text)
	}
}

// kill ends the program as a crash does: nobody says good-bye to the server.
func (p *program) kill() error {
	p.mu.Lock()
	p.killed = true
	p.mu.Unlock()
	return p.process.Kill()
}

// read passes lines on to those who wait for them.
func (p *program) read(out io.Reader) {
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

// send makes a contender do something, and returns where the answer will come. A contender does one thing at a time.
func (p *program) send(contender string, command ...string) (<-chan string, error) {
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

// call makes a contender do something and waits until it has been done.
func (p *program) call(ctx context.Context, contender string, command ...string) (string, error) {
	answer, err := p.send(contender, command...)
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
		return "", fmt.Errorf("%s ended during %s", p.name, command[0])
	case <-ctx.Done():
		return "", fmt.Errorf("%s: %s: %w", contender, command[0], ctx.Err())
	}
}

// curator starts a Java virtual machine with a version of Curator.
func curator(t *testing.T, classes, version string) *program {
	t.Helper()
	path, err := curatorJars(version)
	need(t, err)
	java, err := jdk("java")
	need(t, err)
	p := startProgram(t, "Curator "+version, java, "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", classes+string(filepath.ListSeparator)+path, "Contenders")
	for _, is := range p.greeting[:2] {
		if !strings.HasPrefix(is, version+".") {
			t.Fatalf("Curator %s says that it is %q", version, p.greeting)
		}
	}
	return p
}

// compile compiles the Java program and returns the folder of its classes.
func compile(t *testing.T) string {
	t.Helper()
	path, err := curatorJars("5.4")
	need(t, err)
	javac, err := jdk("javac")
	need(t, err)
	sources, err := filepath.Glob(filepath.Join("java", "*.java"))
	if err != nil || len(sources) == 0 {
		t.Fatal("no sources:", err)
	}
	classes := t.TempDir()
	args := append([]string{"-Xlint:all,-path", "-Werror", "-J-XX:TieredStopAtLevel=1", "-d", classes, "-cp", path}, sources...)
	if text, err := exec.CommandContext(t.Context(), javac, args...).CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, text)
	}
	return classes
}

// kazoo starts Python with kazoo.
func kazoo(t *testing.T, interpreter string) *program {
	t.Helper()
	return startProgram(t, "kazoo", interpreter, filepath.Join("python", "contenders.py"))
}
