package zktest

import "github.com/lockkeeper/lockkeeper/proto"

// Manual makes requests wait, in the order they arrive, until Step; Manual(false) executes those that wait and goes back to
// answering at once. Handshakes, auth and sasl requests are answered at once in any case.
func (s *Server) Manual(on bool) {
	s.mu.Lock()
	s.manual = on
	if !on {
		s.stepLocked()
	}
	s.releaseLocked(nil)
}

// Step executes the requests that have arrived and returns how many there were, pings not counted. It does not wait: under
// synctest, call synctest.Wait first, so that everybody has sent what there is to send. That is what a flight is: wait
// until nothing moves, answer all that arrived, count one.
func (s *Server) Step() int {
	s.mu.Lock()
	n := s.stepLocked()
	s.releaseLocked(nil)
	return n
}

func (s *Server) stepLocked() int {
	batch := s.arrived
	s.arrived = nil
	n := 0
	for _, a := range batch {
		if a.c.gone {
			continue
		}
		if opOf(a.frame) != proto.OpPing {
			n++
		}
		a.c.queue = append(a.c.queue, a)
		a.c.drainLocked()
	}
	if n > 0 {
		s.stats.flights++
	}
	return n
}

// Flights runs f in a goroutine, answers what it sends in steps, and returns the number of steps it took until f returned
// and everything it sent was answered. Steps in which only pings arrived do not count. The wait function must return when
// nothing moves any more; inside a bubble it is synctest.Wait:
//
//	n := srv.Flights(synctest.Wait, func() { lease, err = m.Lock(ctx) })
//
// Time passes in the bubble only while f waits for something else than an answer.
func (s *Server) Flights(wait, f func()) int {
	s.Manual(true)
	defer s.Manual(false)
	returned := false // guarded by s.mu
	// Flights' worker: owned by this call; ends with f.
	go func() {
		f()
		s.mu.Lock()
		returned = true
		s.cond.Broadcast()
		s.mu.Unlock()
	}()
	for flights := 0; ; {
		wait()
		if s.Step() > 0 {
			flights++
			continue
		}
		s.mu.Lock()
		over := returned // before the wait above, or what was sent last might still be on its way
		for len(s.arrived) == 0 && !returned {
			s.cond.Wait()
		}
		s.mu.Unlock()
		if over {
			return flights
		}
	}
}
