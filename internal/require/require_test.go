package require_test

import (
	"io"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
)

// record is a test that keeps which function each report is laid to: the innermost one that is no helper, as testing does it.
type record struct {
	helpers map[string]bool
	reports []string
	stopped bool
}

func (r *record) Helper() { r.helpers[callers()[0]] = true }

func (r *record) Errorf(string, ...any) {
	all := callers()
	r.reports = append(r.reports, all[slices.IndexFunc(all, func(name string) bool { return !r.helpers[name] })])
}

func (r *record) FailNow() {
	r.stopped = true
	runtime.Goexit()
}

// callers returns the functions that led to the method of record that calls it.
func callers() (names []string) {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		frame, more := frames.Next()
		names = append(names, path.Base(frame.Function))
		if !more {
			return names
		}
	}
}

// run runs a part of a test on a goroutine of its own, which FailNow ends, and waits for it.
func run(part func(t require.T)) *record {
	r := &record{helpers: map[string]bool{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		part(r)
	}()
	<-done
	return r
}

// functions are all that the package has, in calls that hold and in calls that fail.
var functions = []struct{ holds, fails func(t require.T) }{
	{func(t require.T) { require.Contains(t, "ab", "b") }, func(t require.T) { require.Contains(t, "ab", "c") }},
	{func(t require.T) { require.Equal(t, 1, 1) }, func(t require.T) { require.Equal(t, 1, 2) }},
	{func(t require.T) { require.Error(t, io.EOF) }, func(t require.T) { require.Error(t, nil) }},
	{func(t require.T) { require.ErrorAs(t, &fs.PathError{}, new(*fs.PathError)) }, func(t require.T) { require.ErrorAs(t, io.EOF, new(*fs.PathError)) }},
	{func(t require.T) { require.ErrorIs(t, io.EOF, io.EOF) }, func(t require.T) { require.ErrorIs(t, io.EOF, fs.ErrNotExist) }},
	{nil, func(t require.T) { require.Fail(t, "why") }},
	{func(t require.T) { require.Greater(t, 2, 1) }, func(t require.T) { require.Greater(t, 2, 2) }},
	{func(t require.T) { require.GreaterOrEqual(t, 2, 2) }, func(t require.T) { require.GreaterOrEqual(t, 1, 2) }},
	{func(t require.T) { require.IsType(t, 1, 2) }, func(t require.T) { require.IsType(t, 1, "") }},
	{func(t require.T) { require.Len(t, "ab", 2) }, func(t require.T) { require.Len(t, "ab", 1) }},
	{func(t require.T) { require.LessOrEqual(t, 2, 2) }, func(t require.T) { require.LessOrEqual(t, 3, 2) }},
	{func(t require.T) { require.NoError(t, nil) }, func(t require.T) { require.NoError(t, io.EOF) }},
	{func(t require.T) { require.NotContains(t, "ab", "c") }, func(t require.T) { require.NotContains(t, "ab", "b") }},
	{func(t require.T) { require.NotEmpty(t, "a") }, func(t require.T) { require.NotEmpty(t, "") }},
	{func(t require.T) { require.NotErrorIs(t, io.EOF, fs.ErrNotExist) }, func(t require.T) { require.NotErrorIs(t, io.EOF, io.EOF) }},
	{func(t require.T) { require.NotNil(t, t) }, func(t require.T) { require.NotNil(t, nil) }},
	{func(t require.T) { require.Positive(t, 1) }, func(t require.T) { require.Positive(t, 0) }},
	{func(t require.T) { require.True(t, true) }, func(t require.T) { require.True(t, false) }},
	{func(t require.T) { require.Zero(t, 0) }, func(t require.T) { require.Zero(t, 1) }},
}

// others are the functions of package assert that have no counterpart here, in calls that fail.
var others = []func(t require.T){
	func(t require.T) { assert.ElementsMatch(t, []int{1}, []int{2}) },
	func(t require.T) { assert.Empty(t, "a") },
	func(t require.T) { assert.EqualError(t, io.EOF, "") },
	func(t require.T) { assert.EqualValues(t, 1, 2) },
	func(t require.T) { assert.ErrorContains(t, io.EOF, "x") },
	func(t require.T) { assert.False(t, true) },
	func(t require.T) { assert.FileExists(t, "absent") },
	func(t require.T) { assert.InDelta(t, 1, 5, 2) },
	func(t require.T) { assert.Less(t, 2, 1) },
	func(t require.T) { assert.Nil(t, 1) },
	func(t require.T) { assert.NotZero(t, 0) },
	func(t require.T) { assert.Same(t, new(int), new(int)) },
}

func TestWhatHoldsGoesOn(t *testing.T) {
	for i, f := range functions {
		if f.holds == nil { // Fail
			continue
		}
		ended := false
		r := run(func(t require.T) { f.holds(t); ended = true })
		if len(r.reports) > 0 || r.stopped || !ended {
			t.Errorf("%d: reports in %q, stopped: %v, came to its end: %v", i, r.reports, r.stopped, ended)
		}
	}
}

// TestWhatFailsStops: with one report, at the line that calls the function.
func TestWhatFailsStops(t *testing.T) {
	for i, f := range functions {
		ended := false
		r := run(func(t require.T) { f.fails(t); ended = true })
		if !here(r.reports) || !r.stopped || ended {
			t.Errorf("%d: reports in %q, stopped: %v, came to its end: %v", i, r.reports, r.stopped, ended)
		}
	}
}

// TestAssertGoesOn: after one report, at the line that calls the function.
func TestAssertGoesOn(t *testing.T) {
	for i, fails := range others {
		if r := run(fails); !here(r.reports) || r.stopped {
			t.Errorf("%d: reports in %q, stopped: %v", i, r.reports, r.stopped)
		}
	}
}

// here reports whether there is one report, in a function of this file.
func here(reports []string) bool {
	return len(reports) == 1 && strings.HasPrefix(reports[0], "require_test.")
}
