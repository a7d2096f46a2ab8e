package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/lockkeeper/lockkeeper/internal/load"
)

// writeTable prints the incumbent's and our figures side by side, and ours divided by its.
func writeTable(w io.Writer, medians []load.Report) error {
	theirs, ours := medians[0], medians[1]
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\t%s\t%s\tratio\t\n", theirs.Client, ours.Client)
	row := func(name, format string, a, b float64) {
		fmt.Fprintf(t, "%s\t"+format+"\t"+format+"\t%s\t\n", name, a, b, quotient(b, a))
	}
	row("ops/s", "%.0f", theirs.OpsPerSec, ours.OpsPerSec)
	row("p50 µs", "%.1f", theirs.P50, ours.P50)
	row("p90 µs", "%.1f", theirs.P90, ours.P90)
	row("p99 µs", "%.1f", theirs.P99, ours.P99)
	row("p99.9 µs", "%.1f", theirs.P999, ours.P999)
	row("max µs", "%.1f", theirs.Max, ours.Max)
	if ours.Workload == string(load.Lock) {
		row("with release, p50 µs", "%.1f", theirs.PairP50, ours.PairP50)
		row("with release, p99 µs", "%.1f", theirs.PairP99, ours.PairP99)
	}
	row("requests/op", "%.2f", theirs.RequestsPerOp, ours.RequestsPerOp)
	row("flights/op", "%.2f", theirs.FlightsPerOp, ours.FlightsPerOp)
	row("allocations/op", "%.2f", theirs.AllocsPerOp, ours.AllocsPerOp)
	row("bytes/op", "%.0f", theirs.BytesPerOp, ours.BytesPerOp)
	row("fairness", "%.4f", theirs.Fairness, ours.Fairness)
	row("errors", "%.0f", float64(theirs.Errors), float64(ours.Errors))
	row("violations", "%.0f", float64(theirs.Violations), float64(ours.Violations))
	return t.Flush()
}

// quotient prints a/b, and nothing where that says nothing.
func quotient(a, b float64) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", a/b)
}
