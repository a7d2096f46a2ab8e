package zktest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/internal/conformance"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// conformanceTick is a tick for tests in real time: short, so that sessions end soon, and long enough for a slow machine.
const conformanceTick = 250 * time.Millisecond

// conformanceTarget describes srv to the suite.
func conformanceTarget(srv *zktest.Server, version zktest.Version, name, addr string, tick time.Duration) *conformance.Target {
	return &conformance.Target{
		Name: name, Addr: addr, Version: conformance.ParseVersion(version.String()), Tick: tick,
		// To clients a restart is connections that break, dials that are refused, and then a server that has kept everything.
		Restart: func(context.Context) error {
			srv.Refuse(zktest.RefuseClose)
			srv.DropConnections()
			srv.Refuse(zktest.Accept)
			return nil
		},
		Watches: func(context.Context) (map[string][]int64, error) {
			watches := map[string][]int64{}
			for _, w := range srv.Watches() {
				if w.Kind == zktest.WatchData {
					watches[w.Path] = append(watches[w.Path], w.SessionID)
				}
			}
			return watches, nil
		},
		Sweep: func(context.Context) error {
			srv.Sweep()
			return nil
		},
	}
}

// TestConformance runs the suite in memory, each entry in virtual time on a server of its own.
func TestConformance(t *testing.T) { conformanceInMemory(t, zktest.Version380) }

// TestConformance39 does the same with the behaviour of 3.9.3.
func TestConformance39(t *testing.T) { conformanceInMemory(t, zktest.Version393) }

func conformanceInMemory(t *testing.T, version zktest.Version) {
	everythingRuns(t, conformance.Run(t, func(t *testing.T, f func(*testing.T, *conformance.Target)) {
		synctest.Test(t, func(t *testing.T) {
			srv := server(t, zktest.Imitate(version))
			tg := conformanceTarget(srv, version, "zktest in memory as "+version.String(), member, zktest.DefaultTickTime)
			tg.Dial = srv.Dial
			secured := server(t, zktest.Imitate(version), zktest.SASL(conformance.SASLUser, conformance.SASLPassword))
			tg.SASL = conformanceTarget(secured, version, tg.Name+" with SASL", member, zktest.DefaultTickTime)
			tg.SASL.Dial = secured.Dial
			f(t, tg)
		})
	}))
}

// TestConformanceTCP runs the suite over TCP in real time, all entries on one server, as on a real one.
func TestConformanceTCP(t *testing.T) {
	srv := server(t, zktest.TickTime(conformanceTick))
	addr, err := srv.Listen()
	require.NoError(t, err)
	tg := conformanceTarget(srv, zktest.Version380, "zktest over TCP", addr, conformanceTick)
	secured := server(t, zktest.TickTime(conformanceTick), zktest.SASL(conformance.SASLUser, conformance.SASLPassword))
	addr, err = secured.Listen()
	require.NoError(t, err)
	tg.SASL = conformanceTarget(secured, zktest.Version380, tg.Name+" with SASL", addr, conformanceTick)
	everythingRuns(t, conformance.Run(t, func(t *testing.T, f func(*testing.T, *conformance.Target)) { f(t, tg) }))
}

// everythingRuns checks that there is no entry that zktest cannot run.
func everythingRuns(t *testing.T, results []conformance.Result) {
	t.Helper()
	for _, r := range results {
		if r.Verdict == conformance.NotHere {
			t.Errorf("%s is not run: %s", r.IDs, r.Why)
		}
	}
}
