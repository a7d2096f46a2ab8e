// The lockrun program runs another program while it holds a lock, so that of all that are started in this way one runs at a time.
//
//	go run ./examples/lockrun -servers zk1:2181 -path /locks/backup -- tar cf /backup/home.tar /home
//	go run ./examples/lockrun -servers zk1:2181 -path /locks/backup -wait 10s -- ...    gives up after ten seconds
//	go run ./examples/lockrun -servers zk1:2181 -path /locks/backup -list               who holds it, and who waits
//
// The program has lockrun's input and outputs, and its exit code is lockrun's. When the lock is lost, or lockrun is asked to end,
// the program is asked to end too (SIGTERM), and killed if it still runs after the time of -grace. The hold ends before
// the ensemble gives the lock to anybody else, but by less than a long grace: with -grace 0 the program is killed at once.
//
// Exit codes of lockrun's own: 2 for wrong flags, 124 if the lock was not acquired within the time of -wait, 125 if the lock was
// lost or the servers were of no help, 126 if the program could not be started, and 128 and the signal's number if a signal
// has ended it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// Exit codes.
const (
	exitUsage     = 2
	exitTimeout   = 124
	exitLost      = 125
	exitNoProgram = 126
	exitSignal    = 128
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "lockrun:", err)
	}
	os.Exit(code)
}

// flags are what lockrun was called with.
type flags struct {
	servers, path  string
	wait, grace    time.Duration
	sessionTimeout time.Duration
	list           bool
	program        []string
	in             io.Reader
	out, stderr    io.Writer
}

// run returns the exit code, and why it is not the program's own.
func run(ctx context.Context, args []string, in io.Reader, out, stderr io.Writer) (int, error) {
	f := &flags{in: in, out: out, stderr: stderr}
	fs := flag.NewFlagSet("lockrun", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&f.servers, "servers", "127.0.0.1:2181", "`host:port,host:port` of the ensemble")
	fs.StringVar(&f.path, "path", "/examples/lockrun", "`path` of the lock")
	fs.DurationVar(&f.wait, "wait", 0, "how long to wait for the lock; 0 is for ever")
	fs.DurationVar(&f.grace, "grace", 2*time.Second, "how long the program has to end when it is asked to")
	fs.DurationVar(&f.sessionTimeout, "session-timeout", 10*time.Second, "how long the lock outlives a lockrun that was killed")
	fs.BoolVar(&f.list, "list", false, "print who holds the lock and who waits, and end")
	if err := fs.Parse(args); err != nil {
		return exitUsage, err
	}
	f.program = fs.Args()
	if f.list == (len(f.program) > 0) {
		return exitUsage, errors.New("either -list or a program to run, please")
	}
	c, err := client.Connect(ctx, f.servers, client.SessionTimeout(f.sessionTimeout))
	if err != nil {
		return exitLost, err
	}
	defer c.Close()
	host, _ := os.Hostname() // without a name the list says less
	data := fmt.Sprintf("%s pid %d: %s", host, os.Getpid(), strings.Join(f.program, " "))
	m := recipes.NewMutex(c, f.path, recipes.Data([]byte(data)))
	if f.list {
		return list(ctx, m, out)
	}
	return f.locked(ctx, m)
}

// list prints the queue.
func list(ctx context.Context, m *recipes.Mutex, out io.Writer) (int, error) {
	ps, err := m.Participants(ctx)
	if err != nil {
		return exitLost, err
	}
	for _, p := range ps {
		what := "waits"
		if p.Holds {
			what = "holds"
		}
		fmt.Fprintf(out, "%s since %s: %s\n", what, p.Created.Format(time.DateTime), p.Data)
	}
	return 0, nil
}

// locked runs the program under the lock.
func (f *flags) locked(ctx context.Context, m *recipes.Mutex) (code int, err error) {
	wait, cancel := ctx, context.CancelFunc(func() {})
	if f.wait > 0 {
		wait, cancel = context.WithTimeout(ctx, f.wait)
	}
	lease, err := m.Lock(wait)
	cancel()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return exitTimeout, err
	case err != nil:
		return exitLost, err
	}
	code, err = f.start(ctx, lease)
	// Release waits for the server's word only as long as the session lives.
	if lost := lease.Release(context.WithoutCancel(ctx)); lost != nil {
		return exitLost, errors.Join(lost, err)
	}
	return code, err
}

// start runs the program until it ends by itself, the lock is lost, or ctx ends.
func (f *flags) start(ctx context.Context, lease *recipes.Lease) (int, error) {
	inner, cancel := context.WithCancel(lease.Context())
	defer cancel()
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	cmd := exec.CommandContext(inner, f.program[0], f.program[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = f.in, f.out, f.stderr
	if f.grace > 0 {
		cmd.WaitDelay = f.grace
		cmd.Cancel = func() error {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				return cmd.Process.Kill() // where there is no such signal
			}
			return nil
		}
	}
	if err := cmd.Start(); err != nil {
		return exitNoProgram, err
	}
	err := cmd.Wait()
	if cmd.ProcessState == nil {
		return exitLost, err
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitSignal + int(status.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}
