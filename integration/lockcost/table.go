package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/lockkeeper/lockkeeper/integration/wirecount"
	"github.com/lockkeeper/lockkeeper/proto"
)

// column is one figure of a cost. value gives it for all that was measured, or NaN when it is not known; it is divided by the
// number of holds or seconds.
type column struct {
	title, key string
	value      func(cost) float64
}

// columns are those of the tables, in their order.
var columns = []column{
	{"reads", "reads", requests(wirecount.Read)},
	{"writes", "writes", requests(wirecount.Write)},
	{"syncs", "syncs", requests(wirecount.Sync)},
	{"pings", "pings", requests(wirecount.Ping)},
	{"others", "others", requests(wirecount.Other)},
	{"watches", "watches", func(c cost) float64 { return float64(c.wire.Watches) }},
	{"notifications", "notifications", func(c cost) float64 { return float64(c.wire.Notifications) }},
	{"bytes in", "bytes_in", func(c cost) float64 { return float64(c.wire.BytesIn) }},
	{"bytes out", "bytes_out", func(c cost) float64 { return float64(c.wire.BytesOut) }},
	{"txns", "txns", func(c cost) float64 { return float64(c.servers.txns) }},
	{"fsyncs", "fsyncs", func(c cost) float64 { return float64(c.servers.fsyncs) }},
	{"leader ms", "leader_cpu_ms", func(c cost) float64 { return millis(c.cpu.known, c.cpu.leader.Seconds()) }},
	{"followers ms", "followers_cpu_ms", func(c cost) float64 { return millis(c.cpu.known, c.cpu.followers.Seconds()) }},
}

func requests(k wirecount.Kind) func(cost) float64 {
	return func(c cost) float64 { return float64(c.wire.Requests(k)) }
}

func millis(known bool, seconds float64) float64 {
	if !known {
		return math.NaN()
	}
	return 1000 * seconds
}

// row is what is printed of a client: medians over the rounds.
type row struct {
	Site     string             `json:"site"`
	Load     string             `json:"load"`
	Client   string             `json:"client"`
	Server   string             `json:"server"` // version of ZooKeeper
	Per      string             `json:"per"`    // what the figures are given for
	Measured float64            `json:"measured"`
	Figures  map[string]float64 `json:"figures"`
	Requests map[string]float64 `json:"requests"` // by operation
}

// newRow takes the medians of a client's rounds.
func newRow(s site, l workload, version string, k kind, rounds []cost) row {
	r := row{Site: s.key(), Load: l.key(), Client: k.name, Server: version, Per: l.per,
		Figures: make(map[string]float64), Requests: make(map[string]float64)}
	r.Measured = median(rounds, func(c cost) float64 { return c.units })
	for _, col := range columns {
		if v := median(rounds, func(c cost) float64 { return col.value(c) / c.units }); !math.IsNaN(v) {
			r.Figures[col.key] = v
		}
	}
	ops := make(map[proto.Op]bool)
	for _, c := range rounds {
		for op := range c.wire.Ops {
			ops[op] = true
		}
	}
	for op := range ops {
		r.Requests[op.String()] = median(rounds, func(c cost) float64 { return float64(c.wire.Ops[op]) / c.units })
	}
	return r
}

// median returns that of a figure; of an even number of rounds the greater of the middle two.
func median(rounds []cost, figure func(cost) float64) float64 {
	values := make([]float64, len(rounds))
	for i, c := range rounds {
		values[i] = figure(c)
	}
	slices.Sort(values)
	if len(values) == 0 {
		return math.NaN()
	}
	return values[len(values)/2]
}

// print prints what all clients cost on a site under a load.
func (o *options) print(w io.Writer, s site, l workload, version string, clients []kind, costs [][]cost) error {
	var rows []row
	for i, k := range clients {
		rows = append(rows, newRow(s, l, version, k, costs[i]))
	}
	if o.json {
		for _, r := range rows {
			if err := json.NewEncoder(w).Encode(r); err != nil {
				return err
			}
		}
		return nil
	}
	return writeTable(w, s, l, version, rows)
}

// writeTable prints a table, and below it the requests by operation.
func writeTable(w io.Writer, s site, l workload, version string, rows []row) error {
	fmt.Fprintf(w, "%s (ZooKeeper %s): %s; per %s, of %.0f\n", s.name, version, l.name, l.per, rows[0].Measured)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "client\t")
	for _, col := range columns {
		fmt.Fprintf(t, "%s\t", col.title)
	}
	fmt.Fprintln(t)
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t", r.Client)
		for _, col := range columns {
			fmt.Fprintf(t, "%s\t", shown(r.Figures, col.key))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range rows {
		if ops := r.operations(); len(ops) > 0 {
			fmt.Fprintf(w, "%s: %s\n", r.Client, strings.Join(ops, ", "))
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

// shown prints a figure with three digits that say something, and a hyphen for what is not known.
func shown(figures map[string]float64, key string) string {
	v, ok := figures[key]
	switch {
	case !ok:
		return "-"
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// operations returns the requests by operation, the most frequent first.
func (r row) operations() (texts []string) {
	names := slices.Sorted(maps.Keys(r.Requests))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(r.Requests[b], r.Requests[a]) })
	for _, name := range names {
		texts = append(texts, fmt.Sprintf("%s %.2f", name, r.Requests[name]))
	}
	return texts
}
