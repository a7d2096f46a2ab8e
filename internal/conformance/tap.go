package conformance

import (
	"context"
	"net"
	"slices"
	"sync"
	"syscall"

	"github.com/lockkeeper/lockkeeper/internal/memnet"
)

// tap stands between one client and its server: it is the client's dial function. It logs every frame and breaks what
// passes when it is told to. All methods may be called from any goroutine.
type tap struct {
	dialServer func(ctx context.Context, network, addr string) (net.Conn, error)
	trickle    bool // set before its use: the client reads one byte at a time
	wg         sync.WaitGroup

	mu      sync.Mutex // guards what follows; not held over the network's I/O
	log     []frame
	changed chan struct{} // closed, and replaced, when log grows
	rules   []*rule
	conns   []*link // that are open
	dials   int     // attempts, refused ones included
	number  int     // of the newest connection, from 1
	refused bool
	held    bool // what goes to the client is kept back
	closed  bool
}

func newTap(dial func(ctx context.Context, network, addr string) (net.Conn, error)) *tap {
	return &tap{dialServer: dial, changed: make(chan struct{})}
}

// action says what happens to a frame, beside its being logged.
type action uint8

const (
	pass action = 0
	drop action = 1 << iota // it does not arrive
	cut                     // the connection ends behind it
)

// rule acts on the first frame that matches.
type rule struct {
	match func(*frame) bool
	do    action
	// change, if set, returns what is sent in place of the frame, which it may change.
	change func(frame []byte) []byte
	hit    chan struct{} // closed when it has acted
}

// on adds a rule for one frame; the oldest of several counts.
func (tp *tap) on(match func(*frame) bool, do action) *rule {
	return tp.add(&rule{match: match, do: do, hit: make(chan struct{})})
}

// rewrite has f change the first matching frame, which it gets with its length.
func (tp *tap) rewrite(match func(*frame) bool, f func([]byte) []byte) *rule {
	return tp.add(&rule{match: match, change: f, hit: make(chan struct{})})
}

func (tp *tap) add(r *rule) *rule {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	tp.rules = append(tp.rules, r)
	return r
}

// dial is the client's dial function.
func (tp *tap) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	tp.mu.Lock()
	tp.dials++
	refused := tp.refused || tp.closed
	tp.mu.Unlock()
	if refused {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: memnet.Addr(addr), Err: syscall.ECONNREFUSED}
	}
	server, err := tp.dialServer(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	near, far := memnet.Pipe()
	l := &link{tp: tp, far: far, server: server, ops: make(map[int32][]request)}
	tp.mu.Lock()
	defer tp.mu.Unlock()
	if tp.refused || tp.closed {
		_ = server.Close() // never used
		return nil, &net.OpError{Op: "dial", Net: network, Addr: memnet.Addr(addr), Err: syscall.ECONNREFUSED}
	}
	tp.number++
	l.number = tp.number
	tp.conns = append(tp.conns, l)
	tp.wg.Add(2)
	// The two directions of a connection; owned by the tap, whose close waits for them; each ends with the connection.
	go l.up()
	// As above.
	go l.down()
	if tp.trickle {
		return trickler{near}, nil
	}
	return near, nil
}

// trickler delivers one byte per read.
type trickler struct{ net.Conn }

func (c trickler) Read(b []byte) (int, error) { return c.Conn.Read(b[:min(1, len(b))]) }

// cut ends all connections at once; what is under way is lost.
func (tp *tap) cut() {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	for _, l := range slices.Clone(tp.conns) {
		l.endLocked()
	}
}

// refuse says whether new connections are refused.
func (tp *tap) refuse(on bool) {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	tp.refused = on
}

// part is cut for good: nothing gets through until refuse(false).
func (tp *tap) part() {
	tp.refuse(true)
	tp.cut()
}

// hold keeps back what goes to the client, which is logged all the same, until release.
func (tp *tap) hold() {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	tp.held = true
}

// release sends on, in one piece for each connection, what was held back.
func (tp *tap) release() {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	tp.held = false
	for _, l := range tp.conns {
		l.deliverLocked(nil)
	}
}

// inject sends bytes to the server on the newest connection, between two writes of the client.
func (tp *tap) inject(b []byte) error {
	tp.mu.Lock()
	if len(tp.conns) == 0 {
		tp.mu.Unlock()
		return net.ErrClosed
	}
	l := tp.conns[len(tp.conns)-1]
	tp.mu.Unlock()
	return l.write(b)
}

// close ends everything and waits for it.
func (tp *tap) close() {
	tp.mu.Lock()
	tp.closed = true
	tp.mu.Unlock()
	tp.cut()
	tp.wg.Wait()
}

// counts returns how often the client has dialled, and how many connections there were.
func (tp *tap) counts() (dials, conns int) {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	return tp.dials, tp.number
}

// open returns how many connections are open.
func (tp *tap) open() int {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	return len(tp.conns)
}

// frames returns what has passed so far and matches.
func (tp *tap) frames(match func(*frame) bool) []frame {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	return tp.framesLocked(match)
}

func (tp *tap) framesLocked(match func(*frame) bool) []frame {
	var out []frame
	for i := range tp.log {
		if match(&tp.log[i]) {
			out = append(out, tp.log[i])
		}
	}
	return out
}

// await waits until n frames have passed that match, and returns them.
func (tp *tap) await(e *env, n int, match func(*frame) bool) []frame {
	e.Helper()
	for {
		tp.mu.Lock()
		found, changed := tp.framesLocked(match), tp.changed
		tp.mu.Unlock()
		if len(found) >= n {
			return found
		}
		e.wait(changed, "frames on the wire")
	}
}

// noteLocked logs a frame and returns what is to be done with it and what to send.
func (tp *tap) noteLocked(f frame, raw []byte) (action, []byte) {
	do := pass
	for i, r := range tp.rules {
		if !r.match(&f) {
			continue
		}
		tp.rules = slices.Delete(tp.rules, i, i+1)
		do = r.do
		if r.change != nil {
			raw = r.change(slices.Clone(raw))
		}
		close(r.hit)
		break
	}
	tp.log = append(tp.log, f)
	close(tp.changed)
	tp.changed = make(chan struct{})
	if do&drop != 0 {
		raw = nil
	}
	return do, raw
}
