package zktest_test

import (
	"os"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/internal/conformance"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// TestCaptures has the conversations with real servers once more, and gets the same answers: from frame to frame, for
// every opcode that a client may send and every error that it can provoke.
func TestCaptures(t *testing.T) {
	for _, version := range []zktest.Version{zktest.Version380, zktest.Version393} {
		t.Run(version.String(), func(t *testing.T) {
			text, err := os.ReadFile("../proto/testdata/captures/" + version.String() + ".txt")
			require.NoError(t, err)
			want, err := conformance.ParseCapture(string(text))
			require.NoError(t, err)
			require.Greater(t, len(want), 100)
			synctest.Test(t, func(t *testing.T) {
				srv := server(t, zktest.Imitate(version))
				tg := conformanceTarget(srv, version, "zktest", member, zktest.DefaultTickTime)
				tg.Dial = srv.Dial
				if diff := conformance.DiffCaptures(conformance.Capture(t, tg), want); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}
