// The lockcost command measures what a lock costs the servers: requests by kind, watches, notifications, bytes, transactions,
// and the computing time of leader and followers, per hold; and per second what it costs that a lock is held and waited for. It
// does so for Lockkeeper in several settings, for go-zookeeper's Lock and for Curator's InterProcessMutex, on one server and on
// an ensemble of three, with their data in memory and on a disk. It starts the servers, as package zkserver does.
//
//	make lockcost                                   everything, some minutes
//	go run ./lockcost -sites one-memory             from the folder integration
//	go run ./lockcost -clients ours,curator -loads contended -holds 5000 -rounds 3
//
// All clients reach their servers through the same proxies, which count (package wirecount); what the servers count themselves
// must agree. What counts the computing time is the servers' processes alone (/proc/<pid>/stat, Linux). Counts hardly depend on
// the machine; times do, and say something only on one that has nothing else to do.
//
// The exit status is 0 when everything was measured, 1 when not, 2 after a wrong call. Without Curator, or without a Java
// compiler, its lines are left out, loudly.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/lockkeeper/lockkeeper/integration/interop/driven"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/internal/load"
)

func main() {
	os.Exit(run(load.SignalContext(), os.Args[1:], os.Stdout, os.Stderr))
}

// options are the flags, and for tests how servers are started.
type options struct {
	clients, sites, loads string
	holds, warmup, rounds int
	idle, timeout         time.Duration
	version, curator      string
	memory, disk          string
	json                  bool

	start func(ctx context.Context, o zkserver.Options) (ens *zkserver.Ensemble, stop func() error, err error)
}

// parse reads the flags. It has printed what is wrong when it returns an error.
func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{start: startServers}
	fs := flag.NewFlagSet("lockcost", flag.ContinueOnError)
	fs.StringVar(&o.clients, "clients", strings.Join(clientKeys, ","), "which `clients`")
	fs.StringVar(&o.sites, "sites", keys(sites), "on which `sites`")
	fs.StringVar(&o.loads, "loads", keys(loads), "under which `loads`")
	fs.IntVar(&o.holds, "holds", 1000, "`number` of holds that are measured, of all sessions together")
	fs.IntVar(&o.warmup, "warmup", 500, "`number` of holds before that, which are not")
	fs.IntVar(&o.rounds, "rounds", 1, "`number` of times that everything is measured; the table has the medians")
	fs.DurationVar(&o.timeout, "timeout", 10*time.Second, "session `timeout` of all clients, on which their heartbeats depend")
	fs.DurationVar(&o.idle, "idle", 10*time.Second, "`time` for which a lock is held and waited for; of load idle")
	fs.StringVar(&o.version, "version", "", "`version` of the servers, such as 3.9; by default the first that is found")
	fs.StringVar(&o.curator, "curator", "", "`version` of Curator, such as 5.4; by default the newest that is found")
	fs.StringVar(&o.memory, "memory", "/dev/shm", "`folder` of a memory file system")
	fs.StringVar(&o.disk, "disk", os.TempDir(), "`folder` on a disk")
	fs.BoolVar(&o.json, "json", false, "print one JSON object per line instead of tables")
	return o, load.Parse(fs, args, stderr, o.check)
}

// check finds what is wrong with the flags.
func (o *options) check() error {
	sites, err := chosen("-sites", o.sites, sites)
	if err == nil {
		_, err = chosen("-loads", o.loads, loads)
	}
	if err == nil {
		_, err = chosen("-clients", o.clients, named(clientKeys))
	}
	switch {
	case err != nil:
		return err
	case o.holds < 1:
		return fmt.Errorf("-holds is %d, at least 1 is needed", o.holds)
	case o.warmup < 0:
		return fmt.Errorf("-warmup is %d, it cannot be negative", o.warmup)
	case o.rounds < 1:
		return fmt.Errorf("-rounds is %d, at least 1 is needed", o.rounds)
	case o.timeout < time.Second:
		return fmt.Errorf("-timeout is %v, at least a second is needed", o.timeout)
	case o.idle <= 0:
		return fmt.Errorf("-idle is %v, it must be positive", o.idle)
	}
	for _, s := range sites {
		if err := s.checkFolder(o); err != nil {
			return err
		}
	}
	return nil
}

// run is the program; it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	return load.Status("lockcost", stderr, err, func() error { return measureAll(ctx, o, stdout, stderr) })
}

// notes is told how far a measurement is.
type notes func(format string, args ...any)

// measureAll measures every client under every load on every site, and prints the tables of a site when it is done.
func measureAll(ctx context.Context, o *options, stdout, stderr io.Writer) (err error) {
	var note notes = func(format string, args ...any) { fmt.Fprintf(stderr, format+"\n", args...) }
	clients, stop, err := o.open(ctx, note)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	chosenSites, _ := chosen("-sites", o.sites, sites) // o was checked
	for _, s := range chosenSites {
		if err := o.measureSite(ctx, s, clients, stdout, note); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// open makes the clients that are wanted and can be had.
func (o *options) open(ctx context.Context, note notes) (clients []kind, stop func() error, err error) {
	stop = func() error { return nil }
	wanted, _ := chosen("-clients", o.clients, named(clientKeys)) // o was checked
	for _, w := range wanted {
		if w.key() != keyCurator {
			clients = append(clients, goKinds[w.key()])
			continue
		}
		k, end, err := startCurator(ctx, o.curator, o.timeout)
		switch {
		case errors.Is(err, driven.ErrMissing):
			note("SKIPPED, Curator: %v", err)
		case err != nil:
			return nil, nil, err
		default:
			clients, stop = append(clients, k), end
		}
	}
	if len(clients) == 0 {
		return nil, nil, errors.New("no client is left")
	}
	return clients, stop, nil
}
