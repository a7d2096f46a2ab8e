// The bench command puts load on a ZooKeeper with Lockkeeper and prints what it measured.
//
//	go run ./bench                                  ten sessions contend for one lock, on an embedded server
//	go run ./bench -servers zk1:2181,zk2:2181       the same on a real one
//	go run ./bench -workload get -goroutines 100    another workload
//	go run ./bench -scale depth -svg curves         a curve instead of one run, see package scale
//	go run ./bench -h                               all flags
//
// The embedded server is package zktest in a child process, so that memory figures are the client's. docs/benchmarks.md
// says what the figures mean. The exit status is 0 when the run measured something and the locks excluded each other, 1
// when it did not, was interrupted or left something on the server, and 2 when it was called wrongly. The first interrupt,
// termination or hangup begins the clean-up, a second one ends the program at once.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/load"
	"github.com/lockkeeper/lockkeeper/internal/load/embedded"
	"github.com/lockkeeper/lockkeeper/internal/scale"
)

func main() {
	embedded.Divert()
	os.Exit(run(load.SignalContext(), os.Args[1:], os.Stdout, os.Stderr))
}

// options are the flags, and what tests set beside them.
type options struct {
	load.Config
	rtt   time.Duration
	json  bool
	scale scale.Options
}

// parse reads the flags. It has printed what is wrong when it returns an error.
func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	o.Driver = load.Lockkeeper{}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.StringVar(&o.Servers, "servers", "", "`host:port,host:port` of running servers; without it a server is embedded")
	fs.DurationVar(&o.rtt, "rtt", 0, "round-trip `time` that a local proxy adds on the way to the servers")
	fs.BoolVar(&o.json, "json", false, "print one JSON object instead of a table")
	o.Register(fs)
	o.scale.Register(fs)
	fs.IntVar(&o.scale.Rounds, "rounds", scale.DefaultRounds, "`number` of measurements at each point of -scale")
	return o, load.Parse(fs, args, stderr, o.check)
}

// check finds what is wrong with the flags.
func (o *options) check() error {
	switch {
	case o.Workload == load.Exists:
		return errors.New("-workload exists is only for comparisons; -workload group does it a hundred times")
	case o.rtt < 0:
		return fmt.Errorf("-rtt is %v, it cannot be negative", o.rtt)
	case o.scale.What != "" && o.json:
		return errors.New("-scale prints no JSON")
	}
	return errors.Join(o.Validate(), o.scale.Validate())
}

// run is the program; it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	do := measure
	if err == nil && o.scale.What != "" {
		do = curves
	}
	return load.Status("bench", stderr, err, func() error { return do(ctx, o, stdout, stderr) })
}

// curves measures how our client scales.
func curves(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	o.scale.Drivers = []load.Driver{o.Driver}
	o.scale.Server = o.site
	o.scale.Note = func(format string, args ...any) { fmt.Fprintf(stderr, format+"\n", args...) }
	return scale.Run(ctx, &o.scale, stdout)
}

// site starts what the flags say.
func (o *options) site(ctx context.Context) (*scale.Site, error) {
	if o.Servers != "" && o.rtt == 0 {
		return &scale.Site{Name: o.Servers, Addr: o.Servers, Close: func() error { return nil }}, nil
	}
	srv, err := embedded.Start(ctx, embedded.Options{RTT: o.rtt, Servers: o.Servers})
	if err != nil {
		return nil, err
	}
	name := o.Servers
	if name == "" {
		name = "embedded"
	}
	if o.rtt > 0 {
		name += fmt.Sprintf(", %v away", o.rtt)
	}
	return &scale.Site{Name: name, Addr: srv.Servers(), Close: srv.Close}, nil
}

// measure makes one run and prints the result.
func measure(ctx context.Context, o *options, stdout, stderr io.Writer) (err error) {
	if o.Servers == "" || o.rtt > 0 {
		srv, err := embedded.Start(ctx, embedded.Options{RTT: o.rtt, Servers: o.Servers})
		if err != nil {
			return err
		}
		// Whatever happens the child ends: at the latest its standard input does, with this process.
		defer func() { _ = srv.Close() }()
		o.Servers = srv.Servers()
	}
	return report(ctx, o, stdout, stderr)
}

// report makes a run on servers that are there, and prints the result unless there are no figures.
func report(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	p := newProgress(stderr)
	if p != nil {
		p.write("connecting...")
		o.Progress = p.show
	}
	res, err := load.Run(ctx, &o.Config)
	p.clear()
	if res == nil {
		return err
	}
	if !res.Measured() {
		return errors.Join(res.Failure(), err)
	}
	write := res.WriteTable
	if o.json {
		write = res.WriteJSON
	}
	return errors.Join(write(stdout), res.Failure(), err)
}
