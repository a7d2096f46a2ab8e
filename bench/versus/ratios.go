package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/internal/load"
)

// The length of the runs behind -ratios: long enough for the medians to settle, short enough for all to take some minutes.
const (
	ratioDuration = time.Second
	ratioWarmup   = 300 * time.Millisecond
	// jvmWarmup is the load that a freshly started server gets before anything is measured: its compiler needs that.
	jvmWarmup = 5 * time.Second
	// distance is the round trip of the last comparison, and tolerance what is allowed beside whole round trips.
	distance  = 2 * time.Millisecond
	tolerance = 0.05
)

// promise is one line of the table: a comparison and what must come out.
type promise struct {
	what       string
	workload   load.Workload
	sessions   int
	goroutines int
	behind     int     // on the peer
	handOver   int     // ours passes a znode on so often
	batch      int     // of the hand-made loop to compare with; 0 for none
	ratio      float64 // of ours to the incumbent's operations per second; 0 for no demand
	perSec     float64
	allocs     float64 // at most; negative for no demand
	bytes      float64
	flights    float64
	pipelined  bool // ours does not wait for the confirmation of a release
}

// handOvers bounds how many of one process's goroutines have the lock before others get a turn.
const handOvers = 1000

// none demands nothing.
const none = -1

// onPeer are the comparisons on canned replies, onReal those on a real server: docs/benchmarks.md says why these.
func onPeer() []promise {
	return []promise{
		{"exists, 1 goroutine", load.Exists, 1, 1, 0, 0, 1, 1.6, 0, 0, none, none, false},
		{"exists, 100 goroutines", load.Exists, 1, 100, 0, 0, 14, 8, 0, 0, none, none, false},
		{"group of 100, 1 goroutine", load.Group, 1, 1, 0, 0, 100, 0, 1e6, none, none, none, false},
		{"lock + release, free", load.Lock, 1, 1, 0, 0, 0, 0, 0, 6, 600, 2, false},
		{"the same, 1,000 behind", load.Lock, 1, 1, 1000, 0, 0, 0, 0, 6, 600, 2, false},
	}
}

func onReal() []promise {
	return []promise{
		{"lock, 1 session", load.Lock, 1, 1, 0, 0, 0, 1.3, 0, none, none, none, false},
		{"the same, release pipelined", load.Lock, 1, 1, 0, 0, 0, 0, 0, none, none, none, true},
		{"lock, 10 sessions, 1 lock", load.Lock, 10, 1, 0, 0, 0, 1.5, 0, none, none, none, false},
		{"the same, release pipelined", load.Lock, 10, 1, 0, 0, 0, 0, 0, none, none, none, true},
		{"lock, 100 goroutines, handed on", load.Lock, 1, 100, 0, handOvers, 0, 50, 0, none, none, none, false},
	}
}

// rounding is how far what is counted per operation may be above its limit: requests and allocations of a session's own,
// such as pings and timers, fall into the window too.
const rounding = 0.05

// missed lists what ours falls short of.
func (p *promise) missed(theirs, ours load.Report) (text string) {
	if ratio := ours.OpsPerSec / theirs.OpsPerSec; ratio < p.ratio {
		text += fmt.Sprintf(" below %.1fx;", p.ratio)
	}
	if ours.OpsPerSec < p.perSec {
		text += fmt.Sprintf(" below %.0f/s;", p.perSec)
	}
	for _, limit := range []struct {
		got, most float64
		unit      string
	}{{ours.AllocsPerOp, p.allocs, "allocs"}, {ours.BytesPerOp, p.bytes, "bytes"}, {ours.FlightsPerOp, p.flights, "flights"}} {
		if limit.most >= 0 && limit.got > limit.most*(1+rounding)+rounding {
			text += fmt.Sprintf(" over %.0f %s;", limit.most, limit.unit)
		}
	}
	return text
}

// demand puts the promise in words.
func (p *promise) demand() (text string) {
	if p.ratio > 0 {
		text += fmt.Sprintf(" %.1fx", p.ratio)
	}
	if p.perSec > 0 {
		text += fmt.Sprintf(" %.0f/s", p.perSec)
	}
	for _, limit := range []struct {
		most float64
		unit string
	}{{p.allocs, "allocs"}, {p.bytes, "B"}, {p.flights, "flights"}} {
		if limit.most >= 0 {
			text += fmt.Sprintf(" %.0f %s", limit.most, limit.unit)
		}
	}
	return text
}

// table is the output of -ratios under way.
type table struct {
	ctx    context.Context
	rounds int
	out    io.Writer
	note   func(format string, args ...any)

	kept, missed, skipped int // promises so far
}

// summary is the last line: how many promises were kept in this run.
func (t *table) summary() error {
	_, err := fmt.Fprintf(t.out, "\n%d promises: %d kept, %d MISSED, %d SKIPPED\n",
		t.kept+t.missed+t.skipped, t.kept, t.missed, t.skipped)
	return err
}

// ratios prints the comparisons that the project promises, and how many of the promises were kept. A promise that was
// missed is no error: what a machine that does other things at the same time measures proves nothing.
func ratios(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	t := &table{ctx: ctx, rounds: o.rounds, out: stdout}
	t.note = func(format string, args ...any) { fmt.Fprintf(stderr, format+"\n", args...) }
	fmt.Fprintf(stdout, "medians of %d alternating runs of %v; left go-zookeeper/zk 1.0.4, right lockkeeper\n", t.rounds, ratioDuration)
	if err := t.peer(); err != nil {
		return err
	}
	if err := t.real(); err != nil {
		return err
	}
	if err := t.distance(); err != nil {
		return err
	}
	return t.summary()
}

const lineFormat = "%-32s %20s %14s %14s %12s %7s  %s\n"

func (t *table) head(title string) {
	fmt.Fprintf(t.out, "\n"+lineFormat, title, "ops/s", "allocs/op", "bytes/op", "flights/op", "ratio", "must")
}

// line prints one comparison.
func (t *table) line(p *promise, theirs, ours load.Report, floor float64) {
	verdict := p.demand()
	if missed := p.missed(theirs, ours); missed != "" {
		verdict += "  MISSED:" + missed
		t.missed++
	} else {
		t.kept++
	}
	if floor > 0 {
		verdict += fmt.Sprintf("  (%.2f of a hand-made loop's %.0f/s)", ours.OpsPerSec/floor, floor)
	}
	pair := func(format string, a, b float64) string { return fmt.Sprintf(format+" "+format, a, b) }
	fmt.Fprintf(t.out, lineFormat, p.what, pair("%.0f", theirs.OpsPerSec, ours.OpsPerSec),
		pair("%.1f", theirs.AllocsPerOp, ours.AllocsPerOp), pair("%.0f", theirs.BytesPerOp, ours.BytesPerOp),
		pair("%.2f", theirs.FlightsPerOp, ours.FlightsPerOp), quotient(ours.OpsPerSec, theirs.OpsPerSec)+"x", verdict)
}

// config is the run of a promise on a site.
func (p *promise) config(s *site) load.Config {
	return load.Config{
		Servers: s.addr, Bare: s.bare, Workload: p.workload, Sessions: p.sessions, Goroutines: p.goroutines, Locks: 1,
		Warmup: ratioWarmup, Duration: ratioDuration, HandOver: p.handOver, Pipelined: p.pipelined,
	}
}

// peer prints what needs canned replies.
func (t *table) peer() error {
	t.head("on the peer")
	for _, p := range onPeer() {
		if err := t.onPeer(&p); err != nil {
			return fmt.Errorf("%s: %w", p.what, err)
		}
	}
	return nil
}

func (t *table) onPeer(p *promise) error {
	s, err := startPeer(p.behind)
	if err != nil {
		return err
	}
	defer func() { _ = s.close() }() // of the peer: cannot fail
	medians, err := compareOn(t.ctx, p.config(s), t.rounds, t.note)
	if err != nil {
		return err
	}
	best := 0.0
	if p.batch > 0 {
		if best, err = t.medianOf(func() (float64, error) { return floor(t.ctx, s.addr, p.batch, ratioDuration/2) }); err != nil {
			return err
		}
	}
	t.line(p, medians[0], medians[1], best)
	return nil
}

// real prints what needs a real server; without one it says so.
func (t *table) real() (err error) {
	t.head("on a real server")
	s, err := startReal(t.ctx)
	if errors.Is(err, zkserver.ErrNotFound) {
		t.skipped += len(onReal())
		_, err = fmt.Fprintf(t.out, "SKIPPED: %v\n", err)
		return err
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := warmUp(t.ctx, s); err != nil {
		return err
	}
	for _, p := range onReal() {
		medians, err := compareOn(t.ctx, p.config(s), t.rounds, t.note)
		if err != nil {
			return fmt.Errorf("%s: %w", p.what, err)
		}
		loop := 0.0
		if p.sessions*p.goroutines == 1 && !p.pipelined {
			if loop, err = t.medianOf(func() (float64, error) { return floorLock(t.ctx, s.addr, ratioDuration/2) }); err != nil {
				return err
			}
		}
		t.line(&p, medians[0], medians[1], loop)
	}
	return nil
}

// medianOf measures a hand-made loop once per round.
func (t *table) medianOf(measure func() (float64, error)) (float64, error) {
	var all []float64
	for range t.rounds {
		f, err := measure()
		if err != nil {
			return 0, err
		}
		all = append(all, f)
	}
	return median(all), nil
}

// distance prints how many round trips a lock and its release take, on a server that is far away.
func (t *table) distance() (err error) {
	s, err := startEmbedded(t.ctx, distance)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	lock := promise{workload: load.Lock, sessions: 1, goroutines: 1}
	look := promise{workload: load.Exists, sessions: 1, goroutines: 1}
	// One after the other in each round, so that what else the machine does concerns both.
	both, err := alternate(t.ctx, []load.Config{lock.config(s), look.config(s)}, t.rounds, t.note)
	if err != nil {
		return err
	}
	locks, looks := both[0], both[1]
	fmt.Fprintf(t.out, "\nembedded server, %v away: p50 of acquire + release by the p50 of exists, the same way and run\n", distance)
	for i := range locks {
		trips := locks[i].PairP50 / looks[i].P50
		fmt.Fprintf(t.out, "%-32s %.0f µs / %.0f µs = %.3f round trips", locks[i].Client, locks[i].PairP50, looks[i].P50, trips)
		if locks[i].Client == (load.Lockkeeper{}).Name() {
			fmt.Fprintf(t.out, ", must be 2 within %.0f %%", 100*tolerance)
			if math.Abs(trips-2) > 2*tolerance {
				fmt.Fprint(t.out, "  MISSED")
				t.missed++
			} else {
				t.kept++
			}
		}
		fmt.Fprintln(t.out)
	}
	return nil
}
