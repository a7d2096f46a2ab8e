package integration

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/internal/lines"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// examples are the programs of the folder examples, built, and the servers that they use.
type examples struct{ dir, servers string }

// example is one of them, running.
type example struct {
	name string
	out  lines.Writer
	cmd  *exec.Cmd
	in   io.WriteCloser
}

// start starts a program. What it has printed is logged when the test ends.
func (e *examples) start(t *testing.T, name string, args ...string) *example {
	t.Helper()
	p := &example{name: name}
	p.cmd = exec.CommandContext(patient(t), filepath.Join(e.dir, name), append([]string{"-servers", e.servers}, args...)...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	p.cmd.WaitDelay = patience // what it has started may have its output
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		t.Logf("$ %s %s\n%s", name, strings.Join(args, " "), strings.Join(p.out.All(), "\n"))
	})
	return p
}

// says waits for a line of the program.
func (p *example) says(t *testing.T, text string) {
	t.Helper()
	if _, err := p.out.Wait(patient(t), text); err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
}

// ends waits for the end of the program, with this code, and returns its lines.
func (p *example) ends(t *testing.T, code int) []string {
	t.Helper()
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || p.cmd.ProcessState.ExitCode() != code {
		t.Fatalf("%s: %v, want exit code %d:\n%s", p.name, err, code, strings.Join(p.out.All(), "\n"))
	}
	return p.out.All()
}

// interrupt asks the program to end.
func (p *example) interrupt(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
}

// prints runs a program to its end and wants these lines.
func (e *examples) prints(t *testing.T, name string, args []string, want ...string) {
	t.Helper()
	if got := e.start(t, name, args...).ends(t, 0); !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", name, got, want)
	}
}

// The programs of the folder examples, as processes, on a real server.
func TestExamples(t *testing.T) {
	ens := zkserver.Require(t, zkserver.Options{})
	e := &examples{t.TempDir(), ens.ConnectString()}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", e.dir, "./examples/...")
	build.Dir = ".."
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	covered := map[string]func(*testing.T, *examples){
		"lifecycle": lifecycleExample, "counter": counterExample, "tickets": ticketsExample, "stock": stockExample,
		"rwcache": rwcacheExample, "connlimit": connlimitExample, "transfer": transferExample, "leader": leaderExample,
		"config": configExample, "coordinate": coordinateExample, "job": jobExample, "lockrun": lockrunExample,
	}
	built, err := os.ReadDir(e.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range built {
		if covered[program.Name()] == nil {
			t.Errorf("nothing runs %s", program.Name())
		}
	}
	for name, f := range covered {
		t.Run(name, func(t *testing.T) { f(t, e) })
	}
}

func lifecycleExample(t *testing.T, e *examples) {
	e.prints(t, "lifecycle", []string{"-wait", "200ms"}, "first copy: has the lock, held", "second copy: waited for 200ms and gave up",
		"first copy: released it, its context says: lease released", "second copy: has the lock, with a higher token: true")
}

func counterExample(t *testing.T, e *examples) {
	got := e.start(t, "counter", "-goroutines", "10", "-rounds", "5").ends(t, 0)
	if len(got) != 2 || !strings.HasPrefix(got[0], "without the lock: ") || got[1] != "with the lock: 50 of 50" {
		t.Errorf("%q", got)
	}
}

func ticketsExample(t *testing.T, e *examples) {
	const stock = 30
	e.prints(t, "tickets", []string{"-stock", fmt.Sprint(stock)}, "on sale: 30")
	c := connect(t, e.servers)
	door, err := recipes.NewMutex(c, "/examples/tickets-lock").Lock(patient(t)) // until all sellers are there
	if err != nil {
		t.Fatal(err)
	}
	var sellers []*example
	for _, name := range []string{"a", "b", "c"} {
		sellers = append(sellers, e.start(t, "tickets", "-seller", name))
	}
	waitFor(t, c, "/examples/tickets-lock", 1+len(sellers))
	if err := door.Release(patient(t)); err != nil {
		t.Fatal(err)
	}
	sold := map[string]bool{}
	for _, s := range sellers {
		before := len(sold)
		for _, line := range s.ends(t, 0) {
			if _, ticket, ok := strings.Cut(line, ": sold ticket "); ok && sold[ticket] {
				t.Errorf("sold twice: %s", ticket)
			} else if ok {
				sold[ticket] = true
			}
		}
		s.says(t, "sold out")
		if len(sold) == before {
			t.Error("a seller has sold nothing")
		}
	}
	if len(sold) != stock {
		t.Errorf("%d tickets sold of %d", len(sold), stock)
	}
}

func stockExample(t *testing.T, e *examples) {
	e.prints(t, "stock", []string{"-pieces", "20", "-take", "3"}, "sold 18, left 2, of 20", "a write without the lock is refused")
}

func rwcacheExample(t *testing.T, e *examples) {
	e.prints(t, "rwcache", nil, "4 readers have seen 5, and never half of a change")
}

func connlimitExample(t *testing.T, e *examples) {
	got := e.start(t, "connlimit", "-limit", "2", "-clients", "6").ends(t, 0)
	if len(got) != 1 || !strings.HasPrefix(got[0], "12 connections, at most ") {
		t.Errorf("%q", got)
	}
}

func transferExample(t *testing.T, e *examples) {
	e.prints(t, "transfer", nil, "/examples/transfer/left: 120", "/examples/transfer/right: 80", "40 transfers, together still 200")
}

func leaderExample(t *testing.T, e *examples) {
	a := e.start(t, "leader", "-name", "a")
	a.says(t, "a: leads")
	watch := e.start(t, "leader", "-watch")
	watch.says(t, "leader: a")
	b := e.start(t, "leader", "-name", "b")
	b.says(t, "b: stands by, a leads")
	a.interrupt(t)
	a.ends(t, 0)
	b.says(t, "b: leads")
	watch.says(t, "leader: b")
	b.interrupt(t)
	b.ends(t, 0)
	watch.says(t, "nobody leads")
	watch.interrupt(t)
	watch.ends(t, 0)
}

func configExample(t *testing.T, e *examples) {
	e.prints(t, "config", []string{"-set", "timeout=1s"})
	p := e.start(t, "config")
	p.says(t, "timeout=1s")
	e.prints(t, "config", []string{"-set", "timeout=2s"})
	p.says(t, "timeout=2s")
	p.interrupt(t)
	p.ends(t, 0)
}

func coordinateExample(t *testing.T, e *examples) {
	p := e.start(t, "coordinate", "-wait", "loaded")
	p.says(t, "waiting for")
	e.prints(t, "coordinate", []string{"-say", "loading"})
	p.says(t, `it is "loading"`)
	e.prints(t, "coordinate", []string{"-say", "loaded"})
	p.says(t, "it is loaded")
	p.ends(t, 0)
}

func jobExample(t *testing.T, e *examples) {
	p := e.start(t, "job", "-last", "1h")
	p.says(t, "job: runs")
	e.start(t, "job").says(t, "job: is run by another instance: host=")
	p.interrupt(t)
	p.ends(t, 1)
	e.prints(t, "job", []string{"-last", "0s"}, "job: runs", "job: done")
}

func lockrunExample(t *testing.T, e *examples) {
	first := e.start(t, "lockrun", "--", "sh", "-c", "echo first; read end; exit 7")
	first.says(t, "first")
	second := e.start(t, "lockrun", "-session-timeout", "4s", "--", "sh", "-c", "echo second; exec sleep 3600")
	c := connect(t, e.servers)
	waitFor(t, c, "/examples/lockrun", 2)
	e.start(t, "lockrun", "-wait", "50ms", "true").ends(t, 124)
	list := e.start(t, "lockrun", "-list").ends(t, 0)
	if len(list) != 2 || !strings.HasPrefix(list[0], "holds since ") || !strings.HasPrefix(list[1], "waits since ") {
		t.Errorf("%q", list)
	}
	_ = first.in.Close() // read ends
	first.ends(t, 7)
	second.says(t, "second")
	// The lock is lost: lockrun is stopped for longer than its session lives, and then stops the program.
	e.lose(t, second)
	third := e.start(t, "lockrun", "--", "sh", "-c", "echo third; exec sleep 3600")
	third.says(t, "third")
	third.interrupt(t)
	third.ends(t, 128+int(syscall.SIGTERM))
	waitFor(t, c, "/examples/lockrun", 0)
}

// lose stops lockrun until its session has expired, and lets it go on.
func (e *examples) lose(t *testing.T, p *example) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waitFor(t, connect(t, e.servers), "/examples/lockrun", 0)
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	p.ends(t, 125)
}
