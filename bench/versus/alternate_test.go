package main

import (
	"context"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/internal/load"
	"github.com/lockkeeper/lockkeeper/proto"
)

func TestMedians(t *testing.T) {
	for _, tc := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 2, 9}, 3}} {
		if got := median(tc.values); got != tc.want {
			t.Errorf("median of %v is %v", tc.values, got)
		}
	}
	m := medianOf([]load.Report{
		{Client: "c", OpsPerSec: 1, P50: 30, Errors: 2, Operations: 5, ErrorsByKind: map[string]int64{"a": 2}},
		{Client: "c", OpsPerSec: 3, P50: 10, Violations: 1, Operations: 6},
		{Client: "c", OpsPerSec: 2, P50: 20, Errors: 1, ErrorsByKind: map[string]int64{"a": 1}},
	})
	want := load.Report{
		Client: "c", OpsPerSec: 2, P50: 20, Errors: 3, Violations: 1, Operations: 11, ErrorsByKind: map[string]int64{"a": 3},
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("medians are %+v", m)
	}
}

// Every figure of a report is in the list of those that have a median, or is no measured figure.
func TestEveryFigureHasAMedian(t *testing.T) {
	var r load.Report
	listed := len(figures(&r))
	settings := map[string]bool{"HoldMicros": true}
	v := reflect.ValueOf(r)
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Float64 && !settings[v.Type().Field(i).Name] {
			listed--
		}
	}
	if listed != 0 {
		t.Errorf("figures lists %d too many", listed)
	}
}

func TestPromises(t *testing.T) {
	p := promise{ratio: 2, perSec: 100, allocs: 6, bytes: none, flights: 2}
	if got := p.demand(); got != " 2.0x 100/s 6 allocs 2 flights" {
		t.Errorf("demand is %q", got)
	}
	theirs := load.Report{OpsPerSec: 60}
	for _, tc := range []struct {
		ours load.Report
		want string
	}{
		{load.Report{OpsPerSec: 120, AllocsPerOp: 6.01, BytesPerOp: 1e9, FlightsPerOp: 2.01}, ""},
		{load.Report{OpsPerSec: 119}, "below 2.0x"},
		{load.Report{OpsPerSec: 90}, "below 100/s"},
		{load.Report{OpsPerSec: 120, AllocsPerOp: 7}, "over 6 allocs"},
		{load.Report{OpsPerSec: 120, FlightsPerOp: 3}, "over 2 flights"},
	} {
		got := p.missed(theirs, tc.ours)
		if !strings.Contains(got, tc.want) || (tc.want == "") != (got == "") {
			t.Errorf("%+v: %q", tc.ours, got)
		}
	}
}

func TestTheSummaryCountsPromises(t *testing.T) {
	var out strings.Builder
	tb := &table{out: &out, skipped: 2}
	theirs := load.Report{OpsPerSec: 60}
	for _, perSec := range []float64{120, 119, 118} {
		tb.line(&promise{ratio: 2, allocs: none, bytes: none, flights: none}, theirs, load.Report{OpsPerSec: perSec}, 0)
	}
	if err := tb.summary(); err != nil {
		t.Fatal(err)
	}
	if strings.Count(out.String(), "MISSED: below") != 2 ||
		!strings.HasSuffix(out.String(), "\n5 promises: 1 kept, 2 MISSED, 2 SKIPPED\n") {
		t.Errorf("output is\n%s", &out)
	}
}

func TestTheHandMadeLoopsCountWhatTheyDo(t *testing.T) {
	s, err := startPeer(0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	fc, err := conn.Dial(t.Context(), s.addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer fc.Close()
	if _, err := fc.Handshake(t.Context(), &proto.ConnectRequest{TimeOut: 10_000, Passwd: make([]byte, 16)}); err != nil {
		t.Fatal(err)
	}
	times := func(n int) func() bool {
		return func() bool { n--; return n >= 0 }
	}
	if n, err := oneByOne(fc, existsFrames(1), 1, times(30)); n != 30 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := inBatches(fc, existsFrames(14), 14, times(30)); n != 30*14 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	fc.Close()
	if n, err := inBatches(fc, existsFrames(14), 14, func() bool { return true }); n != 0 || err == nil {
		t.Errorf("%d, %v on a closed connection", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := floor(ctx, s.addr, 1, math.MaxInt64); err == nil {
		t.Error("no error after the end of the context")
	}
}
