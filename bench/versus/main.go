// The versus command runs the same load with go-zookeeper/zk 1.0.4 and with Lockkeeper, in turns on the same server, and
// prints the medians of both and their ratio. It is a module of its own, so that the other client stays out of ours.
//
//	cd bench/versus && go run .                  a real server, which integration/zkserver starts
//	go run . -servers zk1:2181                   one that runs already
//	go run . -embedded -rtt 2ms                  package zktest, made distant
//	go run . -peer -behind 1000                  a peer with canned replies: the cost of the clients alone
//	go run . -ratios                             the comparisons that the project promises, see docs/benchmarks.md
//	go run . -scale all -svg curves              how both clients scale, on a real server if there is one, else on zktest
//
// The exit status is 0 when everything was measured and no lock had two holders, 1 when not, 2 after a wrong call.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/internal/load"
	"github.com/lockkeeper/lockkeeper/internal/load/embedded"
	"github.com/lockkeeper/lockkeeper/internal/scale"
)

func main() {
	embedded.Divert()
	os.Exit(run(load.SignalContext(), os.Args[1:], os.Stdout, os.Stderr))
}

// options are the flags.
type options struct {
	load.Config
	rtt            time.Duration
	rounds, behind int
	embedded, peer bool
	ratios, json   bool
	scale          scale.Options
}

// parse reads the flags. It has printed what is wrong when it returns an error.
func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	o.Driver = load.Lockkeeper{}
	fs := flag.NewFlagSet("versus", flag.ContinueOnError)
	fs.StringVar(&o.Servers, "servers", "", "`host:port,host:port` of running servers; without it a real server is started")
	fs.BoolVar(&o.embedded, "embedded", false, "use package zktest in a child process")
	fs.BoolVar(&o.peer, "peer", false, "use a peer with canned replies; also knows -workload exists")
	fs.IntVar(&o.behind, "behind", 0, "`number` of contenders that stand behind every lock of the peer")
	fs.DurationVar(&o.rtt, "rtt", 0, "round-trip `time` that a local proxy adds on the way to the servers")
	fs.IntVar(&o.rounds, "rounds", 5, "`number` of runs of each client")
	fs.BoolVar(&o.ratios, "ratios", false, "print the promised comparisons; only -rounds counts beside it")
	fs.BoolVar(&o.json, "json", false, "print one JSON object per client instead of a table")
	o.Register(fs)
	o.scale.Register(fs)
	return o, load.Parse(fs, args, stderr, o.check)
}

// check finds what is wrong with the flags.
func (o *options) check() error {
	sites := 0
	for _, chosen := range []bool{o.Servers != "", o.embedded, o.peer} {
		if chosen {
			sites++
		}
	}
	switch {
	case sites > 1:
		return errors.New("-servers, -embedded and -peer exclude each other")
	case o.behind != 0 && !o.peer:
		return errors.New("-behind needs -peer")
	case o.behind < 0:
		return fmt.Errorf("-behind is %d, it cannot be negative", o.behind)
	case o.rtt < 0:
		return fmt.Errorf("-rtt is %v, it cannot be negative", o.rtt)
	case o.rounds < 1:
		return fmt.Errorf("-rounds is %d, at least 1 is needed", o.rounds)
	case o.scale.What != "" && (o.peer || o.ratios || o.json):
		return errors.New("-scale goes without -peer, -ratios and -json")
	}
	o.scale.Rounds = o.rounds
	return errors.Join(o.Validate(), o.scale.Validate())
}

// run is the program; it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	do := compare
	if err == nil && o.ratios {
		do = ratios
	}
	if err == nil && o.scale.What != "" {
		do = curves
	}
	return load.Status("versus", stderr, err, func() error { return do(ctx, o, stdout, stderr) })
}

// site starts what the flags say.
func (o *options) site(ctx context.Context) (s *site, err error) {
	switch {
	case o.Servers != "":
		s = &site{name: o.Servers, addr: o.Servers, close: func() error { return nil }}
	case o.embedded:
		s, err = startEmbedded(ctx, 0)
	case o.peer:
		s, err = startPeer(o.behind)
	default:
		s, err = startReal(ctx)
	}
	if err == nil && o.rtt > 0 {
		s, err = s.distant(ctx, o.rtt)
	}
	return s, err
}

// curves measures how both clients scale.
func curves(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	o.scale.Drivers = drivers()
	o.scale.Note = func(format string, args ...any) { fmt.Fprintf(stderr, format+"\n", args...) }
	o.scale.Server = func(ctx context.Context) (*scale.Site, error) {
		s, err := o.site(ctx)
		if errors.Is(err, zkserver.ErrNotFound) {
			o.scale.Note("no real server, so package zktest in a child process serves: %v", err)
			o.embedded = true
			s, err = o.site(ctx)
		}
		if err != nil {
			return nil, err
		}
		if s.java {
			o.scale.Note("warming the server up")
			if err := warmUp(ctx, s); err != nil {
				return nil, errors.Join(err, s.close())
			}
		}
		return &scale.Site{Name: s.name, Addr: s.addr, Close: s.close}, nil
	}
	return scale.Run(ctx, &o.scale, stdout)
}

// compare runs the workload with both clients and prints what came out.
func compare(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	s, err := o.site(ctx)
	if err != nil {
		return err
	}
	o.Servers, o.Bare = s.addr, s.bare
	medians, err := compareOn(ctx, o.Config, o.rounds, func(format string, args ...any) {
		fmt.Fprintf(stderr, format+"\n", args...)
	})
	if err = errors.Join(err, s.close()); err != nil {
		return err
	}
	if !o.json {
		fmt.Fprintf(stdout, "%s, on %s, medians of %d rounds\n", o.Describe(), s.name, o.rounds)
		return writeTable(stdout, medians)
	}
	for _, m := range medians {
		if err := json.NewEncoder(stdout).Encode(m); err != nil {
			return err
		}
	}
	return nil
}
