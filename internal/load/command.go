package load

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// SignalContext returns the context of a program that cleans up before it ends: the first interrupt, termination or
// hangup ends the context, and a second one ends the program at once. A hangup that the program was started to ignore, as
// nohup does, stays ignored.
func SignalContext() context.Context {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop)
	return ctx
}

// Parse reads the flags of a program, which takes no other arguments, and then asks check whether they go together. It has
// printed the usage when its error is flag.ErrHelp, and what is wrong when it is another.
func Parse(fs *flag.FlagSet, args []string, stderr io.Writer, check func() error) error {
	fs.SetOutput(io.Discard)
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fs.SetOutput(stderr)
		fs.Usage()
		return err
	}
	if err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q: all options are flags", fs.Arg(0))
	}
	if err == nil {
		err = check()
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n%s: -h shows all flags\n", fs.Name(), err, fs.Name())
	}
	return err
}

// Status returns the exit status of a program: 2 when Parse has found something wrong, 0 after the usage, and otherwise 0
// or 1, by how do ends, whose error it prints.
func Status(name string, stderr io.Writer, parsed error, do func() error) int {
	if errors.Is(parsed, flag.ErrHelp) {
		return 0
	}
	if parsed != nil {
		return 2
	}
	if err := do(); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return 1
	}
	return 0
}
