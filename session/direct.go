package session

// A caller that is alone writes its request itself: nothing is queued, nothing is in flight, and the last burst was of one group
// as well. What it saves is a change of goroutines, which for a single caller is a fifth of the whole call (DESIGN.md, Non-obvious).
// There is still one writer at a time, as cx.writing and cx.direct see to; a crowd is better served by the writer, who collects.

// directBytes bounds what a caller writes itself, in bytes. Nothing is in flight then, so the server has read all that went before,
// and the kernel takes that much at once: a caller does not wait in a write, where its context could not reach it.
const directBytes = 4 << 10

// aloneLocked says whether the caller that has just queued g may write it.
func (cx *connection) aloneLocked(g *Group) bool {
	return cx.prompt && cx.fifo.n == 0 && cx.s.queue.n == 1 && !cx.writing && !cx.direct && !cx.crowd && !cx.closing &&
		len(g.buf) <= directBytes && !cx.ownDueLocked()
}

// ownDueLocked says whether the session has something of its own to write.
func (cx *connection) ownDueLocked() bool {
	return len(cx.first) > 0 || cx.closeDue || cx.pingDue && !cx.pingOut || cx.syncDue && !cx.syncOut || len(cx.asked) > 0
}

// kick gets what is queued written: by the caller if it is alone, for which g is what it has queued, else by the writer. It is
// called with the session's mu, which it unlocks.
func (cx *connection) kick(g *Group) {
	s := cx.s
	if !cx.aloneLocked(g) {
		s.mu.Unlock()
		cx.signal()
		return
	}
	cx.direct = true
	b, burst := cx.fillLocked()
	s.mu.Unlock()
	err := cx.write(b, burst)
	s.mu.Lock()
	cx.direct, cx.writing = false, false
	more := s.queue.n > 0 || cx.ownDueLocked() // the writer has kept away
	s.mu.Unlock()
	switch {
	case err != nil:
		cx.writeFailed(err)
	case more:
		cx.signal()
	}
}
