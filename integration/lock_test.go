package integration

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/internal/leakcheck"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// patience bounds every wait for something that must happen.
const patience = time.Minute

func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func connect(t *testing.T, servers string, opts ...client.Option) *client.Client {
	t.Helper()
	c, err := client.Connect(patient(t), servers, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // some tests leave nothing that could confirm
	return c
}

// These variables make the test binary one of the programs below, for tests that need another process.
const (
	programName    = "LOCKKEEPER_TEST_PROGRAM"
	programServers = "LOCKKEEPER_TEST_SERVERS"
)

func programs() map[string]func(servers string) error {
	return map[string]func(string) error{"contend": contend, "detach": detachProgram, "stopped": stoppedProgram}
}

func TestMain(m *testing.M) {
	if program := programs()[os.Getenv(programName)]; program != nil {
		if err := program(os.Getenv(programServers)); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		return
	}
	leakcheck.Main(m)
}

// contend locks the mutex, says so, and holds it until its input ends.
func contend(servers string) error {
	ctx := context.Background()
	c, err := client.Connect(ctx, servers, client.SessionTimeout(4*time.Second))
	if err != nil {
		return err
	}
	defer c.Close()
	l, err := recipes.NewMutex(c, "/kill/lock").Lock(ctx)
	if err != nil {
		return err
	}
	fmt.Println("held", l.Token().Zxid)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return l.Release(ctx)
}

// program is a running contender.
type program struct {
	cmd *exec.Cmd
	out *bufio.Scanner
	in  io.Closer
}

func startProgram(t *testing.T, name, servers string) *program {
	t.Helper()
	cmd := exec.CommandContext(patient(t), os.Args[0])
	cmd.Env = append(os.Environ(), programName+"="+name, programServers+"="+servers)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &program{cmd, bufio.NewScanner(out), in}
}

// says waits for a line that begins with word and reads what follows it.
func (p *program) says(t *testing.T, word string, into ...any) {
	t.Helper()
	if !p.out.Scan() {
		t.Fatalf("the program ended without %q", word)
	}
	rest, ok := strings.CutPrefix(p.out.Text(), word)
	if _, err := fmt.Sscan(rest, into...); !ok || err != nil && len(into) > 0 {
		t.Fatalf("the program says %q, want %q: %v", p.out.Text(), word, err)
	}
}

// held waits for a contender's word and returns the token.
func (p *program) held(t *testing.T) (token int64) {
	t.Helper()
	p.says(t, "held", &token)
	return token
}

// waitFor waits until path has n children.
func waitFor(t *testing.T, c *client.Client, path string, n int) {
	t.Helper()
	ctx := patient(t)
	for {
		list, w, err := c.ChildrenWatch(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Names) == n {
			w.Close()
			return
		}
		if _, err := w.Wait(ctx); err != nil {
			t.Fatalf("%s has the children %v, want %d: %v", path, list.Names, n, err)
		}
	}
}

// Two programs contend for one mutex. The holder is killed; the other gets the lock when the ensemble has expired the
// session of the first, not earlier.
func TestKilledHolder(t *testing.T) {
	ens := zkserver.Require(t, zkserver.Options{TickTime: time.Second})
	c := connect(t, ens.ConnectString())
	first := startProgram(t, "contend", ens.ConnectString())
	old := first.held(t)
	second := startProgram(t, "contend", ens.ConnectString())
	waitFor(t, c, "/kill/lock", 2)
	killed := time.Now()
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.cmd.Wait()
	next := second.held(t)
	waited := time.Since(killed)
	t.Logf("session timeout 4 s: the lock passed on %v after the kill", waited.Round(time.Millisecond))
	if next <= old {
		t.Errorf("token %d after %d", next, old)
	}
	// The heartbeat of a holder is a sync every T/4, and the server adds up to a tick: earlier the first holder could not
	// have known; much later something else has passed the lock on.
	if waited < 3*time.Second-50*time.Millisecond || waited > 15*time.Second {
		t.Errorf("the lock passed on after %v", waited)
	}
	_ = second.in.Close()
	if err := second.cmd.Wait(); err != nil {
		t.Errorf("the second contender: %v", err)
	}
	waitFor(t, c, "/kill/lock", 0)
}

func TestCancelledLockLeavesNoNode(t *testing.T) { // C147
	ens := zkserver.Require(t, zkserver.Options{})
	a, b := connect(t, ens.ConnectString()), connect(t, ens.ConnectString())
	if _, err := recipes.NewMutex(a, "/cancel").TryLock(patient(t)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(patient(t))
	done := make(chan error, 1)
	go func() {
		_, err := recipes.NewMutex(b, "/cancel").Lock(ctx)
		done <- err
	}()
	waitFor(t, a, "/cancel", 2)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || errors.Is(err, recipes.ErrCleanupPending) {
		t.Errorf("%v", err)
	}
	if names, _, err := a.Children(patient(t), "/cancel"); err != nil || len(names) != 1 {
		t.Errorf("children %v, %v", names, err)
	}
}
