package integration_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/internal/conformance"
)

// tick makes sessions that end soon possible, and leaves a slow machine time.
const tick = 500 * time.Millisecond

// config is what a conformance target is made of.
type config struct {
	name    string
	version string // empty for the one that the environment names
	members int
}

// configs returns the targets of the suite: each version by itself, and an ensemble of the newest.
func configs() []config {
	if os.Getenv("ZK_SERVERS") != "" {
		return []config{{name: "running", members: 1}}
	}
	var all []config
	versions := zkserver.Versions()
	for _, version := range versions {
		all = append(all, config{strings.TrimSpace("one " + version), version, 1})
	}
	newest := versions[len(versions)-1]
	return append(all, config{strings.TrimSpace("three " + newest), newest, 3})
}

// target starts servers for the suite, or takes one that runs already and does what can be done to it.
func (c config) target(t *testing.T) *conformance.Target {
	t.Helper()
	elsewhere := os.Getenv("ZK_SERVERS") != ""
	options := zkserver.Options{}
	if !elsewhere {
		options = zkserver.Options{
			Version: c.version, Members: c.members, TickTime: tick,
			// How often it looks for containers to remove; once a minute is the default.
			Properties: map[string]string{"znode.container.checkIntervalMs": "200"},
		}
	}
	ens := zkserver.Require(t, options)
	s := ens.Server(1)
	if c.members > 1 {
		// A follower has more to get wrong than the leader: it forwards, and it has only its own clients' watches.
		followers := ens.Followers(t.Context())
		if len(followers) == 0 {
			t.Fatal("an ensemble without followers")
		}
		s = followers[0]
	}
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
	if c.members > 1 {
		tg.Name += fmt.Sprintf(", a follower of an ensemble of %d", c.members)
		tg.Members = ens.ConnectString()
		tg.Restart = func(ctx context.Context) error { return oneByOne(ctx, ens) }
		if tg.Version >= conformance.NewVersion(3, 9, 0) {
			tg.Without[conformance.Unreadable] = "it would be the end of the ensemble"
		}
	}
	if !elsewhere && c.members == 1 {
		tg.SASL = saslTarget(t, options, tg.Version)
	}
	if elsewhere {
		const why = "the server was not started here"
		tg.Tick, tg.Restart, tg.Sweep = tickOf(t, s), nil, nil
		tg.Without[conformance.Restart], tg.Without[conformance.Sweep] = why, why
		tg.Without[conformance.Alone], tg.Without[conformance.Unreadable] = "others may write to it", "others are served by it"
	}
	if _, err := watches(t.Context(), s); err != nil {
		tg.Watches = nil
		tg.Without[conformance.Watches] = err.Error()
	}
	return tg
}

// saslTarget starts a server with SASL beside that of options.
func saslTarget(t *testing.T, options zkserver.Options, version conformance.Version) *conformance.Target {
	t.Helper()
	options, err := options.WithSASL(t.TempDir(), conformance.SASLUser, conformance.SASLPassword)
	if err != nil {
		t.Fatal(err)
	}
	s := zkserver.Require(t, options).Server(1)
	return &conformance.Target{Name: "ZooKeeper with SASL", Addr: s.Addr(), Version: version, Tick: options.TickTime}
}

// oneByOne restarts all members as an operator does, who waits for each until the ensemble is whole.
func oneByOne(ctx context.Context, ens *zkserver.Ensemble) error {
	for _, s := range ens.Servers() {
		if err := s.Restart(ctx); err != nil {
			return err
		}
		if err := ens.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

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

// otherVersion ends a test that is about one version of the server and has got another: where real servers are required, that is a
// failure.
func otherVersion(t *testing.T, want, got string) {
	t.Helper()
	if os.Getenv("ZK_REQUIRED") == "1" {
		t.Fatalf("this is about ZooKeeper %s, and the server is %s", want, got)
	}
	t.Skipf("SKIPPED: this is about ZooKeeper %s, and the server is %s", want, got)
}

// excused returns the abilities whose absence is known and has its reason: servers that were started here have all others.
func (c config) excused() []conformance.Ability {
	switch {
	case os.Getenv("ZK_SERVERS") != "":
		return []conformance.Ability{conformance.Restart, conformance.Sweep, conformance.Alone, conformance.Unreadable, conformance.Watches, conformance.SASL}
	case c.members > 1:
		return []conformance.Ability{conformance.Unreadable, conformance.SASL}
	}
	return nil
}

// onlyWithout fails the test if an entry was left out for any other reason.
func onlyWithout(t *testing.T, excused []conformance.Ability, results []conformance.Result) {
	t.Helper()
	for _, r := range results {
		known := slices.ContainsFunc(excused, func(a conformance.Ability) bool { return strings.HasPrefix(r.Why, "cannot "+string(a)+": ") })
		if r.Verdict == conformance.NotHere && !known {
			t.Errorf("%s was not run: %s", r.IDs, r.Why)
		}
	}
}
