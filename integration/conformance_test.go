package integration_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/internal/conformance"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// tick makes sessions that end soon possible, and leaves a slow machine time.
const tick = 500 * time.Millisecond

// TestConformance runs the suite that package zktest runs on itself on a real server.
func TestConformance(t *testing.T) {
	tg := realTarget(t)
	conformance.Run(t, func(t *testing.T, f func(*testing.T, *conformance.Target)) { f(t, tg) })
}

// realTarget starts a server for the suite, or takes one that runs already and does what can be done to it.
func realTarget(t *testing.T) *conformance.Target {
	t.Helper()
	elsewhere := os.Getenv("ZK_SERVERS") != ""
	options := zkserver.Options{}
	if !elsewhere {
		options = zkserver.Options{
			TickTime: tick,
			// How often it looks for containers to remove; once a minute is the default.
			Properties: map[string]string{"znode.container.checkIntervalMs": "200"},
		}
	}
	s := zkserver.Require(t, options).Server(1)
	st, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tg := &conformance.Target{
		Name: "ZooKeeper " + st.Version, Addr: s.Addr(), Version: conformance.ParseVersion(st.Version), Tick: tick,
		Watches: func(ctx context.Context) (map[string][]int64, error) { return watches(ctx, s) },
		Restart: s.Restart,
		Sweep:   func(context.Context) error { return nil }, // by itself, soon
		Without: make(map[conformance.Ability]string),
	}
	if elsewhere {
		const why = "the server was not started here"
		tg.Tick, tg.Restart, tg.Sweep = tickOf(t, s), nil, nil
		tg.Without[conformance.Restart], tg.Without[conformance.Sweep] = why, why
		tg.Without[conformance.Alone] = "others may write to it"
	}
	if _, err := watches(t.Context(), s); err != nil {
		tg.Watches = nil
		tg.Without[conformance.Watches] = err.Error()
	}
	return tg
}

// TestSameAnswers has zktest and a real server of the version that it stands for answer the same random requests.
func TestSameAnswers(t *testing.T) {
	const requests = 800
	for _, seed := range []uint64{1, 2, uint64(time.Now().UnixNano())} {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			s := zkserver.Require(t, zkserver.Options{
				Own: true, Properties: map[string]string{"znode.container.checkIntervalMs": "3600000"},
			}).Server(1)
			st, err := s.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if st.Version != imitated {
				t.Skipf("SKIPPED: zktest stands for %s, and this is %s", imitated, st.Version)
			}
			real := &conformance.Target{Name: "real", Addr: s.Addr(), Version: conformance.ParseVersion(st.Version), Tick: zktest.DefaultTickTime}
			double := *real
			srv := zktest.New()
			t.Cleanup(func() { _ = srv.Close() }) // always nil
			double.Dial = srv.Dial
			want := conformance.Transcript(t, real, seed, requests)
			for i, got := range conformance.Transcript(t, &double, seed, requests) {
				if got != want[i] {
					t.Fatalf("request %d\nreal   %s\nzktest %s\nbefore it\n%s", i, want[i], got, strings.Join(want[max(0, i-20):i], "\n"))
				}
			}
		})
	}
}

// imitated is the version whose behaviour zktest has.
const imitated = "3.8.0"

// tickOf asks a running server for its tickTime.
func tickOf(t *testing.T, s *zkserver.Server) time.Duration {
	t.Helper()
	text, err := s.Ask(t.Context(), "conf")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "tickTime="); ok {
			if ms, err := strconv.Atoi(value); err == nil {
				return time.Duration(ms) * time.Millisecond
			}
		}
	}
	return 2 * time.Second // the default; conf may be forbidden
}

// watches reads the answer to wchp: a line with a path, then one with each session that watches its data or existence.
func watches(ctx context.Context, s *zkserver.Server) (map[string][]int64, error) {
	text, err := s.Ask(ctx, "wchp")
	if err != nil {
		return nil, err
	}
	if strings.Contains(text, "not in the whitelist") {
		return nil, errors.New("wchp is not allowed")
	}
	out := map[string][]int64{}
	path := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		id, session := strings.CutPrefix(line, "\t0x")
		if !session {
			path = line
			continue
		}
		n, err := strconv.ParseUint(id, 16, 64)
		if err != nil {
			return nil, fmt.Errorf("wchp: %q: %w", line, err)
		}
		out[path] = append(out[path], int64(n))
	}
	return out, nil
}
