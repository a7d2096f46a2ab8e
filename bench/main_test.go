package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/leakcheck"
	"github.com/lockkeeper/lockkeeper/internal/load"
	"github.com/lockkeeper/lockkeeper/internal/load/embedded"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// TestMain is also the main function of the embedded server.
func TestMain(m *testing.M) {
	embedded.Divert()
	leakcheck.Main(m)
}

// parsed returns the flags of args on a run that is bounded by numbers.
func parsed(t *testing.T, args ...string) *options {
	t.Helper()
	o, err := parse(args, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	o.Ops, o.WarmupOps = 200, 20
	return o
}

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

// keys are those that -json is promised to have.
var keys = []string{
	"client", "workload", "ops_per_sec", "p50_us", "p99_us", "requests_per_op", "flights_per_op", "allocs_per_op", "bytes_per_op",
	"errors", "violations",
}

func TestJSONOfEveryWorkload(t *testing.T) {
	for _, w := range load.Workloads() {
		srv, addr := serve(t)
		var out, errs bytes.Buffer
		o := parsed(t, "-workload", string(w), "-sessions", "2", "-goroutines", "2", "-locks", "2", "-servers", addr, "-json")
		if err := measure(t.Context(), o, &out, &errs); err != nil {
			t.Fatal(w, err)
		}
		var got map[string]any
		d := json.NewDecoder(&out)
		if err := d.Decode(&got); err != nil {
			t.Fatal(w, err)
		}
		if d.More() {
			t.Errorf("%s: more than one object", w)
		}
		for _, key := range keys {
			if _, ok := got[key]; !ok {
				t.Errorf("%s: no key %q", w, key)
			}
		}
		if got["client"] != "lockkeeper" || got["workload"] != string(w) || got["errors"] != 0.0 || got["violations"] != 0.0 {
			t.Errorf("%s: %v", w, got)
		}
		if got["ops_per_sec"].(float64) <= 0 || got["requests_per_op"].(float64) <= 0 {
			t.Errorf("%s: %v", w, got)
		}
		if errs.Len() > 0 {
			t.Errorf("%s: stderr has %q", w, &errs)
		}
		if left := srv.Children("/"); !slices.Equal(left, []string{"zookeeper"}) {
			t.Errorf("%s: left on the server: %v", w, left)
		}
	}
}

// Without -servers a child serves, with -rtt from behind a proxy.
func TestTheEmbeddedServer(t *testing.T) {
	for _, args := range [][]string{nil, {"-rtt", "10us"}} {
		var out, errs bytes.Buffer
		o := parsed(t, args...)
		if err := measure(t.Context(), o, &out, &errs); err != nil {
			t.Fatal(args, err)
		}
		for _, word := range []string{"workload lock: 10 sessions", "ops/s", "p99.9", "fairness", "holds checked: none overlapped"} {
			if !strings.Contains(out.String(), word) {
				t.Errorf("no %q in\n%s", word, &out)
			}
		}
	}
}

func TestUsageErrors(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"-workload dig", `-workload "dig" is none of lock, get, set, group`},
		{"-workload exists", "-workload exists"},
		{"-sessions 0", "-sessions is 0"},
		{"-sessions x", "-sessions"},
		{"-locks -3", "-locks is -3"},
		{"-rtt -1s", "-rtt is -1s"},
		{"-duration 0", "-duration is 0s"},
		{"-hold 1ms -workload get", "-hold is for -workload lock"},
		{"-nix", "-nix"},
		{"-scale nix", `-scale "nix" is none of contenders, locks, sessions, watches, payload, depth, all`},
		{"-scale locks -points 0", "-points 0 is not for -scale locks"},
		{"-scale locks -rounds 0", "-rounds is 0"},
		{"-scale locks -json", "-scale prints no JSON"},
		{"-svg dir", "-svg and -points are for -scale"},
		{"lock", `unexpected argument "lock"`},
	} {
		var out, errs bytes.Buffer
		if status := run(t.Context(), strings.Fields(tc.args), &out, &errs); status != 2 {
			t.Errorf("%s: status %d", tc.args, status)
		}
		if lines := strings.Count(errs.String(), "\n"); lines != 2 || !strings.Contains(errs.String(), tc.want) || out.Len() > 0 {
			t.Errorf("%s: stdout %q, stderr %q", tc.args, &out, &errs)
		}
	}
	var out, errs bytes.Buffer
	if status := run(t.Context(), []string{"-h"}, &out, &errs); status != 0 || !strings.Contains(errs.String(), "-workload") {
		t.Errorf("-h: status %d, stderr %q", status, &errs)
	}
}

// broken is our client with locks that exclude nobody: grants are held back until two contenders have one.
type broken struct {
	load.Lockkeeper
	both func()
}

func (b *broken) Open(ctx context.Context, servers string) (load.Session, error) {
	ss, err := b.Lockkeeper.Open(ctx, servers)
	return brokenSession{ss, b}, err
}

type brokenSession struct {
	load.Session
	b *broken
}

func (s brokenSession) Locker(string, load.LockOptions) load.Locker { return s }

func (s brokenSession) Lock(context.Context) (load.Token, error) { return load.Token{Zxid: 1}, nil }

func (s brokenSession) Lost() <-chan struct{} {
	s.b.both()
	lost := make(chan struct{})
	close(lost)
	return lost
}

func (s brokenSession) Unlock(context.Context) error { return nil }

func TestAViolationFailsTheRunAndLeavesNothing(t *testing.T) {
	srv, addr := serve(t)
	o := parsed(t, "-servers", addr, "-sessions", "2", "-hold", "1h")
	o.WarmupOps, o.Ops = 0, 2
	arrived, all := make(chan struct{}, 2), make(chan struct{})
	o.Driver = &broken{both: func() {
		arrived <- struct{}{}
		if len(arrived) == 2 {
			close(all)
		}
		<-all
	}}
	var out, errs bytes.Buffer
	if err := measure(t.Context(), o, &out, &errs); !errors.Is(err, load.ErrViolation) {
		t.Errorf("the run ended with %v", err)
	}
	if !strings.Contains(out.String(), "was granted the lock") {
		t.Errorf("the violation is not shown:\n%s", &out)
	}
	if left := srv.Children("/"); !slices.Equal(left, []string{"zookeeper"}) {
		t.Errorf("left on the server: %v", left)
	}
}

func TestAnInterruptIsAFailureAndLeavesNothing(t *testing.T) {
	srv, addr := serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := parsed(t, "-servers", addr)
	o.Ops = 1 << 40
	o.Settled = cancel
	var out, errs bytes.Buffer
	if err := measure(ctx, o, &out, &errs); !errors.Is(err, load.ErrInterrupted) {
		t.Errorf("the run ended with %v", err)
	}
	if out.Len() > 0 {
		t.Errorf("figures of a run that was still in its warm-up: %s", &out)
	}
	if left := srv.Children("/"); !slices.Equal(left, []string{"zookeeper"}) {
		t.Errorf("left on the server: %v", left)
	}
}

// The curves run on the embedded server, or on one that is named.
func TestCurves(t *testing.T) {
	srv, addr := serve(t)
	for _, args := range [][]string{{"-servers", addr}, {"-rtt", "10us"}, {"-servers", addr, "-rtt", "10us"}} {
		o := parsed(t, append(args, "-scale", "depth", "-points", "1,2", "-rounds", "1", "-svg", t.TempDir())...)
		o.scale.Ops = 10
		var out, errs bytes.Buffer
		if err := curves(t.Context(), o, &out, &errs); err != nil {
			t.Fatal(args, err)
		}
		for _, word := range []string{"waiters", "lockkeeper", "exponent"} {
			if !strings.Contains(out.String(), word) {
				t.Errorf("%v: no %q in\n%s", args, word, &out)
			}
		}
		if _, err := os.Stat(filepath.Join(o.scale.Dir, "depth.svg")); err != nil {
			t.Error(args, err)
		}
		if !strings.Contains(errs.String(), "depth, round 1 of 1, 2 waiters, lockkeeper") {
			t.Errorf("%v: stderr has %q", args, &errs)
		}
	}
	if left := srv.Children("/"); !slices.Equal(left, []string{"zookeeper"}) {
		t.Errorf("left on the server: %v", left)
	}
}

func TestAnInterruptOfACurve(t *testing.T) {
	srv, addr := serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	if status := run(ctx, []string{"-servers", addr, "-scale", "locks"}, &out, &errs); status != 1 {
		t.Errorf("status %d", status)
	}
	if strings.Contains(out.String(), "exponent") || !strings.Contains(errs.String(), "locks: interrupted") {
		t.Errorf("stdout %q, stderr %q", &out, &errs)
	}
	if left := srv.Children("/"); !slices.Equal(left, []string{"zookeeper"}) {
		t.Errorf("left on the server: %v", left)
	}
}

// No server at all: in virtual time, so that giving up takes none.
func TestNoServer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close() // now nobody listens there
	synctest.Test(t, func(t *testing.T) {
		var out, errs bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		status := run(ctx, []string{"-servers", addr}, &out, &errs)
		if status != 1 || !strings.Contains(errs.String(), "bench: ") || out.Len() > 0 {
			t.Errorf("status %d, stdout %q, stderr %q", status, &out, &errs)
		}
	})
}

func TestProgressGoesToTerminalsOnly(t *testing.T) {
	var b bytes.Buffer
	if newProgress(&b) != nil {
		t.Error("a buffer is taken for a terminal")
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if newProgress(null) != nil {
		t.Error("the null device is taken for a terminal")
	}
	p := &progress{w: &b}
	p.show(load.Progress{Elapsed: time.Second, Total: 2 * time.Second, Operations: 1234, PerSec: 1234})
	p.show(load.Progress{Elapsed: time.Second, Total: 2 * time.Second, Operations: 1, PerSec: 1})
	p.clear()
	if !strings.Contains(b.String(), "\r1s of 2s, 1234 operations, 1234/s") || !strings.HasSuffix(b.String(), " \r") {
		t.Errorf("%q", b.String())
	}
}
