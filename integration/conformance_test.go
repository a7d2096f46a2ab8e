package integration_test

import (
	"flag"
	"strconv"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/internal/conformance"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// TestConformance runs the suite that package zktest runs on itself on real servers: one of each version, and an ensemble.
// Where only certain servers are wanted, by ZK_SERVERS, ZK_HOME or ZK_VERSION, it runs on these.
func TestConformance(t *testing.T) {
	for _, c := range configs() {
		t.Run(c.name, func(t *testing.T) {
			tg := c.target(t)
			onlyWithout(t, c.excused(), conformance.Run(t, func(t *testing.T, f func(*testing.T, *conformance.Target)) { f(t, tg) }))
		})
	}
}

// TestSameAnswers has zktest and a real server answer the same random requests, for each version that zktest stands for.
func TestSameAnswers(t *testing.T) {
	for _, version := range []zktest.Version{zktest.Version380, zktest.Version393} {
		for _, seed := range sameSeeds() {
			t.Run(version.String()+"/"+strconv.FormatUint(seed, 10), func(t *testing.T) { sameAnswers(t, version, seed) })
		}
	}
}

// sameSeed adds a script to those that are always compared; any number will do, and the time of day is a good one.
var sameSeed = flag.Uint64("same.seed", 0, "seed of one more script for TestSameAnswers")

func sameSeeds() []uint64 {
	seeds := []uint64{1, 2, 3, 1796057196966791899}
	if *sameSeed != 0 {
		seeds = append(seeds, *sameSeed)
	}
	return seeds
}

func sameAnswers(t *testing.T, version zktest.Version, seed uint64) {
	const requests = 1500
	s := zkserver.Require(t, zkserver.Options{
		Own: true, Version: version.String(), Properties: map[string]string{"znode.container.checkIntervalMs": "3600000"},
	}).Server(1)
	st, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if st.Version != version.String() {
		otherVersion(t, version.String(), st.Version)
	}
	real := &conformance.Target{Name: "real", Addr: s.Addr(), Version: conformance.ParseVersion(st.Version), Tick: zktest.DefaultTickTime}
	double := *real
	srv := zktest.New(zktest.Imitate(version))
	t.Cleanup(func() { _ = srv.Close() }) // always nil
	double.Dial = srv.Dial
	want := conformance.Transcript(t, real, seed, requests)
	for i, got := range conformance.Transcript(t, &double, seed, requests) {
		if got != want[i] {
			t.Fatalf("request %d\nreal   %s\nzktest %s\nbefore it\n%s", i, want[i], got, strings.Join(want[max(0, i-20):i], "\n"))
		}
	}
}
