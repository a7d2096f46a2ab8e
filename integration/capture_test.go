package integration_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/internal/conformance"
)

var updateCaptures = flag.Bool("captures.update", false, "have TestCaptures write the frames it sees to proto/testdata/captures")

// captureTick is the default of servers, which captures show in the session timeouts that are granted.
const captureTick = 2 * time.Second

// TestCaptures has the script of captures with real servers, and compares what goes over the wire with what is stored.
func TestCaptures(t *testing.T) {
	for _, version := range []string{"3.8.0", "3.9.3"} {
		t.Run(version, func(t *testing.T) {
			s := zkserver.Require(t, zkserver.Options{
				Own: true, Version: version, TickTime: captureTick,
				Properties: map[string]string{"znode.container.checkIntervalMs": "3600000"},
			}).Server(1)
			st, err := s.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if st.Version != version {
				otherVersion(t, version, st.Version)
			}
			got := conformance.Capture(t, &conformance.Target{
				Name: "ZooKeeper " + version, Addr: s.Addr(), Version: conformance.ParseVersion(version), Tick: captureTick,
			})
			file := "../proto/testdata/captures/" + version + ".txt"
			if *updateCaptures && !t.Failed() {
				if err := os.WriteFile(file, []byte(conformance.FormatCapture(version, got)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, err := conformance.ParseCapture(string(text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := conformance.DiffCaptures(got, want); diff != "" {
				t.Error(diff)
			}
		})
	}
}
