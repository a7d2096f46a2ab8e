package session

import (
	"context"
	"sync"
	"testing/synctest"

	"github.com/lockkeeper/lockkeeper/proto"
)

// scheduledStream is a persistent registration and what became of it.
type scheduledStream struct {
	Stream
	ss      *Session
	cancel  context.CancelFunc
	err     error // of AddStream; valid when over
	over    bool  // set by the caller's goroutine; read when all are over
	mu      sync.Mutex
	removed bool // RemoveStream was called after AddStream had succeeded
	ends    int
	late    int // events behind the end, or behind RemoveStream
	without int // ends without an error
}

func (st *scheduledStream) StreamEvent(ev Event) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ends > 0 || st.removed {
		st.late++
	}
	if ev.Type == proto.EventNone {
		st.ends++
		st.without += b2i(ev.Err == nil)
	}
}

// stream adds or ends one, on one of few paths, which those of some calls are among.
func (s *schedule) stream(ss *Session) {
	if n := len(s.streams); n > 0 && s.rng.IntN(2) == 0 {
		st := s.streams[s.rng.IntN(n)]
		synctest.Wait() // or an event could be on its way
		if st.over && st.err == nil && !st.removed {
			st.ss.RemoveStream(&st.Stream)
			st.mu.Lock()
			st.removed = true
			st.mu.Unlock()
		} else {
			st.cancel()
		}
		return
	}
	st := &scheduledStream{ss: ss}
	st.Path, st.Mode, st.Sink = "/"+string(rune('1'+s.rng.IntN(4))), proto.AddWatchMode(s.rng.IntN(2)), st
	var ctx context.Context
	ctx, st.cancel = context.WithCancel(context.Background())
	s.streams = append(s.streams, st)
	s.wg.Go(func() {
		st.err = ss.AddStream(ctx, &st.Stream)
		st.over = true
	})
}

// checkStream checks that a stream that was added ended once, and that one that was not was never told anything.
func (s *schedule) checkStream(st *scheduledStream) {
	want := b2i(st.err == nil && !st.removed)
	given := st.removed || st.err == context.Canceled // the end may have come just before
	if !st.over || given && st.ends > 1 || !given && st.ends != want || st.late > 0 || st.without > 0 {
		s.t.Errorf("stream on %s: returned %v with %v, removed %v, ended %d times, %d of them without an error, %d events too late", st.Path,
			st.over, st.err, st.removed, st.ends, st.without, st.late)
	}
}
