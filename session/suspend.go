package session

import (
	"sync/atomic"
	"time"
)

// sleep keeps the time for which the machine was suspended out of sight of the monotonic clock, which stops then on Linux:
// without it a session would look younger than it is after the machine has been asleep.
//
// Asking the system costs two calls, too much for every burst of replies. So it is asked only when the wall clock and the
// monotonic clock have moved apart, which both a suspension and somebody who sets the clock bring about; the answer
// tells the two apart.
type sleep struct {
	suspended func() time.Duration // how long the machine has been suspended since it was started
	before    time.Duration        // its answer when the session began
	wall      int64                // the wall clock's lead over the monotonic one then

	drift atomic.Int64 // publishes the lead that was last looked into
	slept atomic.Int64 // publishes the nanoseconds of suspension since the session began
}

// apart is how far the clocks must have moved apart to look into it. Corrections of the wall clock in small steps do not
// add up to it between two looks; a suspension that is shorter does not matter to a session.
const apart = int64(20 * time.Millisecond)

func (z *sleep) begin(suspended func() time.Duration, now time.Time) {
	z.suspended, z.before, z.wall = suspended, suspended(), now.UnixNano()
}

// since returns what to add to mono, the monotonic time since the session began, at now.
func (z *sleep) since(now time.Time, mono int64) int64 {
	lead := now.UnixNano() - z.wall - mono
	if d := lead - z.drift.Load(); d > apart || d < -apart {
		z.slept.Store(int64(z.suspended() - z.before))
		z.drift.Store(lead) // only now: whoever sees it need not ask, and must see the answer
	}
	return z.slept.Load()
}
