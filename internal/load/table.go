package load

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/hist"
)

// WriteTable writes the figures for people.
func (r *Result) WriteTable(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s, %s\n\n", r.cfg.Driver.Name(), r.cfg.Describe())
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "latency\tp50\tp90\tp99\tp99.9\tmax\t\n")
	if r.cfg.Workload == Lock {
		latencyRow(t, "acquire", &r.Latency)
		latencyRow(t, "acquire + release", &r.Pair)
	} else {
		latencyRow(t, string(r.cfg.Workload), &r.Latency)
	}
	t.Flush()
	b.WriteByte('\n')
	t = tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "ops/s\t%.0f\t%d operations in %.1f s\n", r.PerSec(), r.Operations, r.Window.Seconds())
	fmt.Fprintf(t, "requests/op\t%.2f\t\n", r.PerOp(r.Counters.Requests))
	fmt.Fprintf(t, "flights/op\t%.2f\twrites to a socket\n", r.PerOp(r.Counters.Flights))
	fmt.Fprintf(t, "allocations/op\t%.2f\tof this process\n", r.PerOp(r.Allocs))
	fmt.Fprintf(t, "bytes/op\t%.0f\tallocated\n", r.PerOp(r.Bytes))
	fmt.Fprintf(t, "fairness\t%.4f\tJain's index over %d goroutines\n", r.Fairness, r.cfg.Sessions*r.cfg.Goroutines)
	fmt.Fprintf(t, "errors\t%d\t%s\n", r.ErrorCount(), r.errorText())
	if r.cfg.Workload == Lock {
		fmt.Fprintf(t, "violations\t%d\t%s\n", r.Violations, r.violationText())
	}
	t.Flush()
	_, err := w.Write(b.Bytes())
	return err
}

// Describe says in words what is run.
func (c *Config) Describe() string {
	paths := "znode"
	if c.Workload == Lock {
		paths = "lock"
	}
	what := fmt.Sprintf("workload %s: %s, %s each, %s", c.Workload,
		count(c.Sessions, "session"), count(c.Goroutines, "goroutine"), count(c.Locks, paths))
	if c.Hold > 0 {
		what += fmt.Sprintf(", held for %v", c.Hold)
	}
	if c.HandOver > 0 {
		what += fmt.Sprintf(", handed on up to %d times", c.HandOver-1)
	}
	if c.Pipelined {
		what += ", releases not waited for"
	}
	return what
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func latencyRow(w io.Writer, name string, h *hist.Histogram) {
	fmt.Fprintf(w, "%s\t", name)
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
		fmt.Fprintf(w, "%s\t", duration(h.Quantile(q)))
	}
	fmt.Fprintf(w, "%s\t\n", duration(h.Max()))
}

// duration prints three or four digits.
func duration(d time.Duration) string {
	switch {
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%.2f µs", micros(d))
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.0f µs", micros(d))
	case d < 10*time.Second:
		return fmt.Sprintf("%.0f ms", micros(d)/1e3)
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// errorText lists the errors by kind, the most frequent first, and shows one.
func (r *Result) errorText() string {
	kinds := slices.SortedFunc(maps.Keys(r.Errors), func(a, b string) int {
		if r.Errors[a] != r.Errors[b] {
			return int(r.Errors[b] - r.Errors[a])
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for _, kind := range kinds {
		parts = append(parts, fmt.Sprintf("%s: %d", kind, r.Errors[kind]))
	}
	if r.FirstError != nil {
		parts = append(parts, fmt.Sprintf("first error: %v", r.FirstError))
	}
	return strings.Join(parts, ", ")
}

func (r *Result) violationText() string {
	switch {
	case r.Violations > 0:
		return r.FirstViolation
	case r.cfg.Driver.Tokens():
		return fmt.Sprintf("%d holds checked: none overlapped, every token greater than the one before", r.Holds)
	}
	return fmt.Sprintf("%d holds checked: none overlapped; the client gives no tokens", r.Holds)
}
