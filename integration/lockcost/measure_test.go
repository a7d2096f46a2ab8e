package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/integration/wirecount"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

// figures are what ten holds cost: how many reads, watches and notifications. Every hold takes two writes.
type figures struct{ reads, watches, notifications float64 }

// Ten sessions that come while one holds, and have the lock once each. The first looks at the queue once. Who comes second watches
// the znode ahead, and with Lockkeeper its own; the third watches the one before that as well. All others find more than two
// ahead, and look at the queue again when one that they watch is gone.
var once = map[string]figures{
	keyOurs:      {1 + 3 + 4 + 7*5, 2 + 8*3, 2 + 8*3},
	keyNoProof:   {1 + 3 + 4 + 7*5, 2 + 8*3, 2 + 8*3},
	keyPipelined: {1 + 3 + 4 + 7*5, 2 + 8*3, 2 + 8*3},
	keyNoAhead:   {1 + 3 + 8*4, 9 * 2, 9 * 2},
	keyBare:      {1 + 2 + 8*3, 9, 9}, // the second knows without a look that nobody is left
	keyGoZK:      {1 + 9*3, 9, 9},
	keyCurator:   {1 + 9*3, 9, 9},
}

// measured runs the program on servers and returns its rows, by load and client.
func measured(t *testing.T, o *options) map[string]row {
	t.Helper()
	var out, errs bytes.Buffer
	if err := measureAll(t.Context(), o, &out, &errs); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	rows := make(map[string]row)
	for d := json.NewDecoder(&out); d.More(); {
		var r row
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		rows[r.Load+" "+r.Client] = r
	}
	if strings.Contains(errs.String(), "SKIPPED") {
		if os.Getenv("ZK_REQUIRED") == "1" {
			t.Fatal(errs.String())
		}
		t.Log(errs.String())
	}
	return rows
}

// The counts of a hold are known, whatever the machine does meanwhile: see docs/benchmarks.md.
func TestWhatAHoldCosts(t *testing.T) {
	ens := zkserver.Require(t, zkserver.Options{Own: true})
	rows := measured(t, testOptions(t, ens, "-loads", "alone,contended", "-holds", "10", "-warmup", "10", "-rounds", "2"))
	names := map[string]string{keyCurator: "Curator"}
	for key, k := range goKinds {
		names[key] = k.name
	}
	for key, want := range once {
		var seen int
		for id, r := range rows {
			if r.Client != names[key] && (key != keyCurator || !strings.HasPrefix(r.Client, names[key])) {
				continue
			}
			seen++
			expected := figures{reads: r.Measured} // alone: the queue is read once
			if r.Load == "contended" {
				expected = want
			}
			check := func(figure string, want float64) {
				t.Helper()
				if got := r.Figures[figure] * r.Measured; math.Abs(got-want) > 1e-9 {
					t.Errorf("%s: %v %s, want %v", id, got, figure, want)
				}
			}
			if r.Measured != 10 {
				t.Errorf("%s: %v holds", id, r.Measured)
			}
			check("reads", expected.reads)
			check("watches", expected.watches)
			check("notifications", expected.notifications)
			check("writes", 20)
			check("txns", 20)
			check("others", 0)
			if r.Figures["fsyncs"] <= 0 || r.Figures["bytes_in"] <= 0 || r.Figures["bytes_out"] <= 0 || r.Server == "" {
				t.Errorf("%s: %+v", id, r)
			}
		}
		if seen != 2 && (key != keyCurator || os.Getenv("ZK_REQUIRED") == "1") {
			t.Errorf("%s: %d rows, want one for each load: %v", names[key], seen, rows)
		}
	}
}

// A lock that is held and waited for costs syncs, which LeaderProof(false) turns into pings.
func TestWhatAHeldLockCosts(t *testing.T) {
	ens := zkserver.Require(t, zkserver.Options{Own: true})
	// Longer than a third of the session timeout, so that all sessions have to show that they live.
	rows := measured(t, testOptions(t, ens, "-clients", "ours,ours-noproof,nobody", "-loads", "idle",
		"-idle", "1500ms", "-timeout", "4s", "-holds", "10", "-warmup", "0"))
	ours, noProof, nobody := rows["idle lockkeeper"], rows["idle lockkeeper, LeaderProof(false)"], rows["idle nobody"]
	for name, r := range map[string]row{"ours": ours, "noProof": noProof, "nobody": nobody} {
		if r.Per != "second" || r.Measured < 1.5 || r.Figures["reads"]+r.Figures["writes"]+r.Figures["notifications"] != 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if ours.Figures["syncs"] == 0 || ours.Figures["pings"] != 0 {
		t.Errorf("with syncs: %v", ours.Figures)
	}
	if noProof.Figures["syncs"] != 0 || noProof.Figures["pings"] == 0 {
		t.Errorf("without: %v", noProof.Figures)
	}
	if nobody.Figures["bytes_in"] != 0 || len(nobody.Requests) > 0 {
		t.Errorf("nobody: %+v", nobody)
	}
}

// Sessions are spread with the leader last, whose part of the cost is told apart.
func TestAnEnsemble(t *testing.T) {
	ens := zkserver.Require(t, zkserver.Options{Own: true, Members: 3})
	r, err := newRig(t.Context(), ens)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := r.leader().Status(t.Context()); err != nil || st.Mode != zkserver.ModeLeader {
		t.Fatalf("the last server: %+v, %v", st, err)
	}
	o := testOptions(t, ens, "-holds", "3", "-warmup", "0")
	spread := workload{"three sessions", "spread", 3, "hold", false}
	c, err := r.measure(t.Context(), goKinds[keyOurs], spread, o)
	if err != nil {
		t.Fatal(err)
	}
	// The first finds nobody ahead, the second one, the third two.
	if reads := c.wire.Requests(wirecount.Read); c.units != 3 || reads != 1+3+4 || c.servers.txns != 6 {
		t.Errorf("%v holds: %d reads, %d transactions", c.units, reads, c.servers.txns)
	}
	if c.cpu.known && (c.cpu.leader < 0 || c.cpu.followers < 0) {
		t.Errorf("computing time %+v", c.cpu)
	}
	for i, s := range r.servers {
		m, err := s.Ask(t.Context(), "srvr")
		if err != nil || strings.Contains(m, "Received: 0\n") {
			t.Errorf("server %d of %d had no packets: %s, %v", i+1, len(r.servers), m, err)
		}
	}
}

// What passes by the proxies shows.
func TestProxiesAndServersMustAgree(t *testing.T) {
	ens := zkserver.Require(t, zkserver.Options{Own: true})
	r, err := newRig(t.Context(), ens)
	if err != nil {
		t.Fatal(err)
	}
	counter := new(wirecount.Counter)
	addrs, stop, err := r.proxies(counter)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stop() }()
	requests := func(addr string) error {
		w, err := r.open(t.Context(), counter)
		if err != nil {
			t.Fatal(err)
		}
		c, err := client.Connect(t.Context(), addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Get(t.Context(), "/"); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		cost, err := w.close(t.Context())
		if err == nil && cost.wire.Packets() != 3 {
			t.Errorf("a session with one read had %d packets, want 3", cost.wire.Packets())
		}
		return err
	}
	if err := requests(addrs[0]); err != nil {
		t.Errorf("through the proxy: %v", err)
	}
	if err := requests(ens.ConnectString()); !errors.Is(err, errDisagree) {
		t.Errorf("past the proxy: %v", err)
	}
}
