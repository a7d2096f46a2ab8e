package scale

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/relay"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// tap stands between clients and a server. It passes frames on as they are, cuts connections when it is told to, and sees when a
// client's watches are set again: that is when the server has answered the requests that name them. Its methods may be called from
// any goroutine.
//
// Each connection has three goroutines, which end by close.
type tap struct {
	relay *relay.Relay

	mu    sync.Mutex // guards what follows
	want  int        // watches; 0 when nobody waits
	cutAt time.Time
	done  chan<- outage
}

// outage is when a connection was cut, when the handshake of the next one was over, and when all watches were set again.
type outage struct{ cut, shook, restored time.Time }

func newTap(target string) (p *tap, err error) {
	p = &tap{}
	if p.relay, err = relay.Listen(target, p.carry); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *tap) addr() string { return p.relay.Addr() }

// close ends everything and waits for it.
func (p *tap) close() { p.relay.Close() }

// cut ends what is connected. The channel yields once a later connection has set n watches again.
func (p *tap) cut(n int) <-chan outage {
	done := make(chan outage, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.want, p.done, p.cutAt = n, done, time.Now()
	p.relay.Cut()
	return done
}

// carry passes frames on until one of the two ends.
func (p *tap) carry(near, far net.Conn) {
	v := &view{tap: p, since: time.Now()}
	var ways sync.WaitGroup
	// ways of one connection, owned by carry; each ends with the connection, and ends it.
	ways.Go(func() { pass(far, near, v.request); _, _ = near.Close(), far.Close() })
	ways.Go(func() { pass(near, far, v.reply); _, _ = near.Close(), far.Close() })
	ways.Wait()
}

// pass hands frames on, those that arrive together in one write, and shows each body before. It returns when it cannot go on.
func pass(dst io.Writer, src io.Reader, see func(body []byte)) {
	r, w := bufio.NewReaderSize(src, passSize), bufio.NewWriterSize(dst, passSize)
	var frame []byte
	for {
		if r.Buffered() == 0 && w.Flush() != nil {
			return
		}
		var length [4]byte
		if _, err := io.ReadFull(r, length[:]); err != nil {
			return
		}
		n := binary.BigEndian.Uint32(length[:])
		if n > passMost {
			return
		}
		if frame = append(frame[:0], length[:]...); cap(frame) < int(n)+4 {
			frame = append(make([]byte, 0, n+4), length[:]...)
		}
		frame = frame[:n+4]
		if _, err := io.ReadFull(r, frame[4:]); err != nil {
			return
		}
		see(frame[4:])
		if _, err := w.Write(frame); err != nil {
			return
		}
	}
}

// passSize is how much is handed on in one write, passMost the longest frame.
const passSize, passMost = 64 << 10, 8 << 20

// view is what the tap has seen of one connection.
type view struct {
	tap   *tap
	since time.Time // when it began

	mu      sync.Mutex // guards what follows; taken before that of the tap
	asked   bool       // the client's handshake has passed
	shook   time.Time  // when the server's did
	pending []setting  // in the order of the requests, which is that of the replies
	set     int        // watches that were set again
}

// setting is a request that sets watches again.
type setting struct {
	xid     int32
	watches int
}

// request sees a frame of the client.
func (v *view) request(body []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.asked {
		v.asked = true // the first frame is the handshake
		return
	}
	r := jute.NewReader(body)
	var h proto.RequestHeader
	h.ReadFrom(&r)
	if op := proto.Op(h.Type); op != proto.OpSetWatches && op != proto.OpSetWatches2 {
		return
	}
	r.Long() // the zxid
	n := 0
	for range 3 { // data, exists and child watches come first in both requests
		paths, _ := r.Count(4)
		for range paths {
			r.StringBytes()
		}
		n += paths
	}
	if r.Err() == nil {
		v.pending = append(v.pending, setting{h.Xid, n})
	}
}

// reply sees a frame of the server.
func (v *view) reply(body []byte) {
	now := time.Now()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.shook.IsZero() {
		v.shook = now
		return
	}
	r := jute.NewReader(body)
	var h proto.ReplyHeader
	h.ReadFrom(&r)
	if len(v.pending) == 0 || h.Xid != v.pending[0].xid || h.Err != 0 {
		return
	}
	v.set += v.pending[0].watches
	v.pending = v.pending[1:]
	v.tap.look(v.set, outage{shook: v.shook, restored: now}, v.since)
}

// look tells who waits, if a connection that is younger than the cut has set enough watches again.
func (p *tap) look(set int, o outage, since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.want == 0 || set < p.want || since.Before(p.cutAt) {
		return
	}
	o.cut = p.cutAt
	p.done <- o
	p.want = 0
}
