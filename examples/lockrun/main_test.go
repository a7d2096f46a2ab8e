package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/internal/leakcheck"
	"github.com/lockkeeper/lockkeeper/internal/lines"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestMain(m *testing.M) {
	if what := os.Getenv(helper); what != "" {
		os.Exit(program(what))
	}
	leakcheck.Main(m)
}

// serve starts a server in memory and returns its address.
func serve(t *testing.T) (*zktest.Server, string) {
	t.Helper()
	srv := zktest.New()
	t.Cleanup(func() { srv.Close() })
	addr, err := srv.Listen()
	if err != nil {
		t.Fatal(err)
	}
	return srv, addr
}

// helper makes the test binary the program that lockrun runs.
const helper = "LOCKRUN_TEST_PROGRAM"

// program prints that it runs, and ends with a code, or when its input ends, or never; stubborn programs do not heed signals.
func program(what string) int {
	if what == "stubborn" {
		signal.Ignore(syscall.SIGTERM)
	}
	fmt.Println("runs")
	switch what {
	case "seven":
		return 7
	case "input":
		n, _ := io.Copy(io.Discard, os.Stdin)
		fmt.Fprintln(os.Stderr, n, "bytes read")
		return 0
	}
	never := make(chan os.Signal, 1)
	signal.Notify(never, os.Interrupt)
	for {
		<-never // until it is killed
	}
}

// lockrun is a call of run.
type lockrun struct {
	code      int
	err       error
	out, errs lines.Writer
	done      chan struct{}
}

func start(ctx context.Context, in io.Reader, args ...string) *lockrun {
	l := &lockrun{done: make(chan struct{})}
	go func() {
		l.code, l.err = run(ctx, args, in, &l.out, &l.errs)
		close(l.done)
	}()
	return l
}

func (l *lockrun) says(t *testing.T, text string) {
	t.Helper()
	if _, err := l.out.Wait(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

func (l *lockrun) ends(t *testing.T, code int) {
	t.Helper()
	<-l.done
	if l.code != code {
		t.Fatalf("exit code %d, want %d: %v, %q", l.code, code, l.err, l.errs.All())
	}
}

func TestExitCodePassedOn(t *testing.T) {
	srv, addr := serve(t)
	t.Setenv(helper, "seven")
	l := start(t.Context(), nil, "-servers", addr, "-path", "/lock", "--", os.Args[0])
	l.says(t, "runs")
	if l.ends(t, 7); l.err != nil {
		t.Error(l.err)
	}
	start(t.Context(), nil, "-servers", addr, "-path", "/lock", "/no/such/program").ends(t, exitNoProgram)
	if left := srv.Children("/lock"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	start(t.Context(), nil, "-servers", addr, "-path", "/lock").ends(t, exitUsage)
	start(t.Context(), nil, "-servers", addr, "-path", "/lock", "-list", "true").ends(t, exitUsage)
	start(t.Context(), nil, "-no-such-flag").ends(t, exitUsage)
}

func TestOneAtATime(t *testing.T) {
	_, addr := serve(t)
	t.Setenv(helper, "input")
	in, end := io.Pipe()
	first := start(t.Context(), in, "-servers", addr, "-path", "/lock", os.Args[0], "first")
	first.says(t, "runs")
	start(t.Context(), nil, "-servers", addr, "-path", "/lock", "-wait", "20ms", os.Args[0]).ends(t, exitTimeout)
	second := start(t.Context(), strings.NewReader("abc"), "-servers", addr, "-path", "/lock", os.Args[0], "second")
	queued(t, addr, "/lock", 2)
	list := start(t.Context(), nil, "-servers", addr, "-path", "/lock", "-list")
	list.ends(t, 0)
	all := list.out.All()
	if len(all) != 2 || !strings.HasPrefix(all[0], "holds since ") || !strings.HasSuffix(all[0], " first") ||
		!strings.HasPrefix(all[1], "waits since ") || !strings.HasSuffix(all[1], " second") {
		t.Errorf("%q", all)
	}
	if len(second.out.All()) != 0 {
		t.Fatal("two at a time")
	}
	end.Close()
	first.ends(t, 0)
	second.ends(t, 0)
	if errs := second.errs.All(); len(errs) != 1 || errs[0] != "3 bytes read" {
		t.Errorf("%q", errs)
	}
}

// queued waits until so many have lined up.
func queued(t *testing.T, addr, path string, n int) {
	t.Helper()
	c, err := client.Connect(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for {
		list, w, err := c.ChildrenWatch(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Names) == n {
			w.Close()
			return
		}
		if _, err := w.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// The program is asked to end when the lock is lost, and when lockrun is asked to; if it does not heed that, it is killed.
func TestProgramIsStopped(t *testing.T) {
	srv, addr := serve(t)
	for _, c := range []struct {
		what  string
		grace string
		lost  bool
		code  int
	}{
		{"for ever", "1m", true, exitLost},
		{"for ever", "1m", false, exitSignal + int(syscall.SIGTERM)},
		{"for ever", "0s", false, exitSignal + int(syscall.SIGKILL)},
		{"stubborn", "20ms", true, exitLost},
		{"stubborn", "20ms", false, exitSignal + int(syscall.SIGKILL)},
	} {
		t.Run(fmt.Sprint(c.what, " ", c.grace, " lost ", c.lost), func(t *testing.T) {
			t.Setenv(helper, c.what)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			l := start(ctx, nil, "-servers", addr, "-path", "/lock", "-grace", c.grace, os.Args[0])
			l.says(t, "runs")
			if c.lost {
				for _, s := range srv.Sessions() {
					srv.ExpireSession(s.ID)
				}
			} else {
				cancel()
			}
			l.ends(t, c.code)
			if c.lost && l.err == nil {
				t.Error("without a reason")
			}
			if left := srv.Children("/lock"); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
