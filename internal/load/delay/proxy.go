package delay

import (
	"net"
	"sync"
	"time"
)

// Proxy delays what passes through it. Its methods may be called from any goroutine.
type Proxy struct {
	target string
	clock  *clock
	ln     net.Listener
	wg     sync.WaitGroup // every goroutine of the proxy

	mu     sync.Mutex // guards what follows
	closed bool
	open   map[net.Conn]struct{}
}

// Listen begins to accept on a free port of the loopback interface. Each direction is delayed by d.
func Listen(target string, d time.Duration) (*Proxy, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{target: target, clock: newClock(d), ln: ln, open: make(map[net.Conn]struct{})}
	// clock, owned by p, ends by Close.
	p.wg.Go(p.clock.run)
	// accept, owned by p, ends by Close.
	p.wg.Go(p.accept)
	return p, nil
}

// Addr returns the address to connect to.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// Close ends all connections, without delay, and waits until every goroutine has ended.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	_ = p.ln.Close() // accept ends in any case
	for nc := range p.open {
		_ = nc.Close()
	}
	p.mu.Unlock()
	p.clock.stop()
	p.wg.Wait()
}

func (p *Proxy) accept() {
	for {
		nc, err := p.ln.Accept()
		if err != nil {
			return
		}
		// serve, owned by p, ends with the connection.
		p.wg.Go(func() { p.serve(nc) })
	}
}

// keep enters nc for Close; after that it closes nc and returns false.
func (p *Proxy) keep(nc net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = nc.Close()
		return false
	}
	p.open[nc] = struct{}{}
	return true
}

func (p *Proxy) drop(nc net.Conn) {
	p.mu.Lock()
	delete(p.open, nc)
	p.mu.Unlock()
	_ = nc.Close()
}

// serve connects a client with the target until one of them ends.
func (p *Proxy) serve(near net.Conn) {
	if !p.keep(near) {
		return
	}
	defer p.drop(near)
	far, err := net.Dial("tcp", p.target)
	if err != nil || !p.keep(far) {
		return
	}
	defer p.drop(far)
	var lines sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		l := newLine()
		// intake, owned by serve, ends when its source does.
		lines.Go(func() { l.intake(way[0], p.clock) })
		// delay line, owned by serve, ends when all that its source sent has been handed on, or cannot be.
		lines.Go(func() {
			if l.handOn(way[1]) {
				endWriting(way[1])
				return
			}
			_, _ = near.Close(), far.Close() // what is still sent has nowhere to go
		})
	}
	lines.Wait()
}

// endWriting passes on that nothing follows; the other direction is not concerned.
func endWriting(nc net.Conn) {
	if tcp, ok := nc.(*net.TCPConn); ok {
		_ = tcp.CloseWrite() // fails when nc is closed already
	}
}
