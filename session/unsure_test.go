package session

import (
	"testing"
	"testing/synctest"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
)

// watchful notes the state of its session whenever its hold changes.
type watchful struct {
	k    *Keeper
	seen map[HoldState]State
}

func (w *watchful) HoldChanged(s HoldState, _ error) { w.seen[s] = w.k.State().State }

// Whoever sees that the session is disconnected and looks at a hold must not find it certain.
func TestHoldsAreUnsureBeforeTheStateIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, nil)
		w := &watchful{k, make(map[HoldState]State)}
		require.NoError(t, k.Current().Hold(&Hold{Holder: w}, 1))
		_ = l.fc.Close()
		l, _ = s.serve(0x77, testTimeout)
		defer finishWith(k, l)
		synctest.Wait()
		assert.Equal(t, StateConnected, w.seen[Unsure], "not yet disconnected")
	})
}
