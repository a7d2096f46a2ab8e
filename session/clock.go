package session

import "time"

// clock keeps what is known about the life of the session. All times are nanoseconds since the session's base, on the
// monotonic clock; the session's mu guards it.
//
// The session clock is touched by every answered request: the server renews a session when a request enters it, so the
// session lives at least T from the send time of any request that was answered.
//
// The lease clock wants more, because a follower that is cut off from the leader goes on answering pings and reads. What
// counts for it is a touch of which the leader has heard for certain. A follower reports the touches it has seen with the
// leader's pings, every half tick, and T is at least two ticks; so an answered sync or write, which needs the leader, sent
// at p proves every touch that was sent T/4 before p or earlier. A handshake is proof by itself: the leader creates or
// revalidates the session for it.
type clock struct {
	timeout  int64 // T of the current connection; 0 before the first
	answered int64 // send time of the newest answered request
	proof    int64 // send time of the newest answered sync or write
	floor    int64 // send time of the newest touch that the leader has heard of for certain

	touches [touchSamples]int64 // ring of send times of answered requests, at least T/32 apart
	touched int                 // number of touches ever kept
}

// touchSamples times T/32 reaches back T/2, twice what a proof needs; older ones are further apart, being pings.
const touchSamples = 16

// attach starts the clock of a connection whose handshake was sent at sent.
func (c *clock) attach(sent, timeout int64) {
	c.timeout = timeout
	c.answered, c.proof, c.floor = sent, sent, sent
	c.touches[c.touched%touchSamples] = sent
	c.touched++
}

// reply notes an answered request that was sent at sent; proof says that it needed the leader.
func (c *clock) reply(sent int64, proof bool) {
	if sent > c.answered {
		c.answered = sent
	}
	if last := c.touches[(c.touched+touchSamples-1)%touchSamples]; sent-last >= c.timeout/32 {
		c.touches[c.touched%touchSamples] = sent
		c.touched++
	}
	if proof && sent > c.proof {
		c.proof = sent
		c.raise(sent - c.timeout/4)
	}
}

// raise lifts the floor to the newest touch that is not newer than bound.
func (c *clock) raise(bound int64) {
	for i := c.touched - 1; i >= 0 && i >= c.touched-touchSamples; i-- {
		if t := c.touches[i%touchSamples]; t <= bound {
			c.floor = max(c.floor, t)
			return
		}
	}
}

// sessionEnd is when the session is over for us.
func (c *clock) sessionEnd() int64 { return c.answered + c.timeout }

// leaseEnd is when leases are over.
func (c *clock) leaseEnd(noProof bool) int64 {
	if noProof {
		return c.sessionEnd()
	}
	return c.floor + c.timeout
}

// now is the time on the session's clock: nanoseconds since it began, those for which the machine was suspended included.
func (s *Session) now() int64 {
	now := time.Now()
	mono := int64(now.Sub(s.base))
	return mono + s.slept.since(now, mono)
}
