package main

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/integration/wirecount"
	"github.com/lockkeeper/lockkeeper/proto"
)

// costOf is a cost in which each figure can be recognised.
func costOf(holds float64, reads int64, known bool) cost {
	return cost{
		units: holds,
		wire: wirecount.Tally{
			Ops:     map[proto.Op]int64{proto.OpGetData: reads, proto.OpCreate2: 4, proto.OpSync: 6, proto.OpPing: 8, proto.OpAddWatch: 2},
			Watches: 10, Notifications: 12, BytesIn: 1000, BytesOut: 2000,
		},
		servers: account{received: 5, fsyncs: 14, txns: 16},
		cpu:     cpu{known: known, leader: 18 * time.Millisecond, followers: 20 * time.Millisecond},
	}
}

func TestRowsAreMediansPerHold(t *testing.T) {
	rounds := []cost{costOf(2, 90, true), costOf(2, 2, true), costOf(2, 6, true)}
	r := newRow(sites[0], loads[1], "3.8.0", kind{name: "some client"}, rounds)
	want := []float64{3, 2, 3, 4, 1, 5, 6, 500, 1000, 8, 7, 9, 10}
	for i, col := range columns {
		if got := r.Figures[col.key]; math.Abs(got-want[i]) > 1e-9 {
			t.Errorf("%s: %v, want %v", col.title, got, want[i])
		}
	}
	if got := r.operations(); !slices.Equal(got, []string{"ping 4.00", "getData 3.00", "sync 3.00", "create2 2.00", "addWatch 1.00"}) {
		t.Errorf("operations %q", got)
	}
}

const table = `one server, in memory (ZooKeeper 3.8.0): ten sessions contend; per hold, of 2
       client  reads  writes  syncs  pings  others  watches  notifications  bytes in  bytes out  txns  fsyncs  leader ms  followers ms
  some client   3.00    2.00   3.00   4.00    1.00     5.00           6.00       500       1000  8.00    7.00       9.00         10.00
  another one   1.50    2.00   3.00   4.00    1.00     5.00           6.00       500       1000  8.00    7.00          -             -
some client: ping 4.00, getData 3.00, sync 3.00, create2 2.00, addWatch 1.00
another one: ping 4.00, sync 3.00, create2 2.00, getData 1.50, addWatch 1.00

`

func TestTable(t *testing.T) {
	var out bytes.Buffer
	o := &options{}
	kinds := []kind{{name: "some client"}, {name: "another one"}}
	costs := [][]cost{{costOf(2, 6, true)}, {costOf(2, 3, false)}}
	if err := o.print(&out, sites[0], loads[1], "3.8.0", kinds, costs); err != nil || out.String() != table {
		t.Errorf("%v\n%s\nwant\n%s", err, out.String(), table)
	}
	out.Reset()
	o.json = true
	if err := o.print(&out, sites[0], loads[1], "3.8.0", kinds, costs); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(&out)
	for i, k := range kinds {
		var r row
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		_, known := r.Figures["leader_cpu_ms"]
		if r.Client != k.name || r.Site != "one-memory" || r.Load != "contended" || r.Per != "hold" || r.Measured != 2 ||
			r.Requests["sync"] != 3 || known != (i == 0) {
			t.Errorf("%+v", r)
		}
	}
}
