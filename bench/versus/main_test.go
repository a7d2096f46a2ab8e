package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/load"
	"github.com/lockkeeper/lockkeeper/internal/load/embedded"
	"github.com/lockkeeper/lockkeeper/internal/scale"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// TestMain is also the main function of the embedded server.
func TestMain(m *testing.M) {
	embedded.Divert()
	os.Exit(m.Run())
}

// parsed returns the flags of args on runs that are bounded by numbers.
func parsed(t *testing.T, args ...string) *options {
	t.Helper()
	o, err := parse(args, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	o.Ops, o.WarmupOps = 100, 10
	return o
}

// reports runs a comparison and returns its JSON objects.
func reports(t *testing.T, o *options) []map[string]any {
	t.Helper()
	var out, errs bytes.Buffer
	if err := compare(t.Context(), o, &out, &errs); err != nil {
		t.Fatal(err)
	}
	var objects []map[string]any
	for d := json.NewDecoder(&out); d.More(); {
		var object map[string]any
		if err := d.Decode(&object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
	return objects
}

// keys are those that -json is promised to have.
var keys = []string{
	"client", "workload", "ops_per_sec", "p50_us", "p99_us", "requests_per_op", "flights_per_op", "allocs_per_op", "bytes_per_op",
	"errors", "violations",
}

func checkBoth(t *testing.T, objects []map[string]any) {
	t.Helper()
	if len(objects) != 2 || objects[0]["client"] != "go-zookeeper" || objects[1]["client"] != "lockkeeper" {
		t.Fatalf("clients of %v", objects)
	}
	for _, object := range objects {
		for _, key := range keys {
			if _, ok := object[key]; !ok {
				t.Errorf("%v: no key %q", object["client"], key)
			}
		}
		if object["errors"] != 0.0 || object["violations"] != 0.0 || object["ops_per_sec"].(float64) <= 0 {
			t.Errorf("%v", object)
		}
	}
}

func TestBothClientsRunEveryWorkload(t *testing.T) {
	for _, w := range append(load.Workloads(), load.Exists) {
		srv := zktest.New()
		addr, err := srv.Listen()
		if err != nil {
			t.Fatal(err)
		}
		o := parsed(t, "-servers", addr, "-workload", string(w), "-sessions", "2", "-goroutines", "2", "-rounds", "2", "-json")
		checkBoth(t, reports(t, o))
		if left := srv.Children("/"); !slices.Equal(left, []string{"zookeeper"}) {
			t.Errorf("%s: left on the server: %v", w, left)
		}
		srv.Close()
	}
}

// On the canned peer the numbers of requests are exact: they show that the clients do what they are said to do.
func TestCountsOnThePeer(t *testing.T) {
	o := parsed(t, "-peer", "-behind", "50", "-sessions", "1", "-rounds", "1", "-json")
	both := reports(t, o)
	checkBoth(t, both)
	for i, want := range [][2]float64{{3, 3}, {3, 2}} {
		if both[i]["requests_per_op"] != want[0] || both[i]["flights_per_op"] != want[1] {
			t.Errorf("%v: %v requests and %v flights for lock and release, want %v", both[i]["client"],
				both[i]["requests_per_op"], both[i]["flights_per_op"], want)
		}
	}
}

func TestTheEmbeddedServerFarAway(t *testing.T) {
	o := parsed(t, "-embedded", "-rtt", "10us", "-rounds", "1", "-sessions", "2")
	var out, errs bytes.Buffer
	if err := compare(t.Context(), o, &out, &errs); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"go-zookeeper", "lockkeeper", "ratio", "ops/s", "flights/op", "violations", "10µs away"} {
		if !strings.Contains(out.String(), word) {
			t.Errorf("no %q in\n%s", word, &out)
		}
	}
}

func TestUsageErrors(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"-workload dig", "-workload"},
		{"-rounds 0", "-rounds is 0"},
		{"-peer -embedded", "exclude each other"},
		{"-behind 3", "-behind needs -peer"},
		{"-peer -behind -3", "-behind is -3"},
		{"-rtt -1s", "-rtt is -1s"},
		{"-sessions 0", "-sessions is 0"},
		{"-scale nix", `-scale "nix"`},
		{"-scale depth -peer", "-scale goes without -peer"},
		{"-scale depth -ratios", "-scale goes without"},
		{"-scale depth -json", "-scale goes without"},
		{"-scale depth -rounds 0", "-rounds is 0"},
		{"-scale watches -points 0", "-points 0"},
		{"-points 3", "-points are for -scale"},
		{"x", `"x"`},
	} {
		var out, errs bytes.Buffer
		if status := run(t.Context(), strings.Fields(tc.args), &out, &errs); status != 2 {
			t.Errorf("%s: status %d", tc.args, status)
		}
		if !strings.Contains(errs.String(), tc.want) || out.Len() > 0 {
			t.Errorf("%s: stdout %q, stderr %q", tc.args, &out, &errs)
		}
	}
}

// Every curve with both clients. What is counted is exact.
func TestCurves(t *testing.T) {
	for _, name := range scale.Names() {
		t.Run(name, func(t *testing.T) {
			o := parsed(t, "-embedded", "-scale", name, "-points", "1,5", "-rounds", "1", "-svg", t.TempDir())
			o.scale.Ops = 10
			var out, errs bytes.Buffer
			if err := curves(t.Context(), o, &out, &errs); err != nil {
				t.Fatal(err)
			}
			words := []string{name + ": ", "go-zookeeper", "lockkeeper/go-zookeeper", "exponent", "r²"}
			if name == "contenders" {
				words = append(words, "3.00         3.00                      1.00")
			}
			for _, word := range words {
				if !strings.Contains(out.String(), word) {
					t.Errorf("no %q in\n%s", word, &out)
				}
			}
			if _, err := os.Stat(filepath.Join(o.scale.Dir, name+".svg")); err != nil {
				t.Error(err)
			}
		})
	}
}

// Without -embedded and -servers the curves want a real server, and take zktest when there is none, which they say.
func TestCurvesWithoutARealServer(t *testing.T) {
	t.Setenv("ZK_SERVERS", "")
	t.Setenv("ZK_VERSION", "1.0") // nobody has that
	o := parsed(t, "-scale", "depth", "-points", "1", "-rounds", "1")
	o.scale.Ops = 3
	var out, errs bytes.Buffer
	if err := curves(t.Context(), o, &out, &errs); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "server: embedded server") || !strings.Contains(errs.String(), "no real server") {
		t.Errorf("stdout %q, stderr %q", &out, &errs)
	}
}

func TestAnInterruptIsAFailure(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	if status := run(ctx, []string{"-peer"}, &out, &errs); status != 1 || out.Len() > 0 {
		t.Errorf("status %d, stdout %q", status, &out)
	}
}
