package faultproxy

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockkeeper/lockkeeper/integration/loopback"
)

// Direction is the way a chunk travels.
type Direction int

// The two directions: from the side that dialled the proxy to the target, and back.
const (
	ToServer Direction = iota
	ToClient
)

// Options of a proxy. The zero value forwards on a port of its own.
type Options struct {
	// Port is where the proxy listens. The proxy does not close it. Nil borrows one for the proxy's life.
	Port *loopback.Port
	// Filter is called once for each direction of each connection and returns the function that sees its chunks, in order,
	// from one goroutine. What that returns is sent on in place of the chunk; it may be the chunk itself, changed in
	// place. An empty result sends nothing.
	Filter func(d Direction) func(chunk []byte) []byte
	// Conn, when set, stands in for Filter: it is called once for each connection, and what it returns is that connection's
	// Filter, which is called for either direction in turn. It is for what has to know which request a reply answers. The
	// two functions for chunks run at the same time.
	Conn func() (filter func(d Direction) func(chunk []byte) []byte)
}

// conn returns what makes the filter of a connection.
func (o Options) conn() func() func(d Direction) func(chunk []byte) []byte {
	switch {
	case o.Conn != nil:
		return o.Conn
	case o.Filter != nil:
		return func() func(Direction) func([]byte) []byte { return o.Filter }
	}
	return func() func(Direction) func([]byte) []byte { return unchanged }
}

// unchanged is the filter of a proxy that only forwards.
func unchanged(Direction) func(chunk []byte) []byte {
	return func(chunk []byte) []byte { return chunk }
}

// Proxy forwards connections to one target. All methods may be called from any goroutine.
type Proxy struct {
	target string
	conn   func() func(d Direction) func(chunk []byte) []byte
	port   *loopback.Port
	owned  bool // the port is given back by Close
	gate   gate
	bytes  [2]atomic.Int64 // published for Bytes only; orders nothing
	wg     sync.WaitGroup  // all goroutines of this proxy

	mu     sync.Mutex // guards what follows; a leaf: the gate is never locked under it
	ln     net.Listener
	links  map[*link]struct{}
	total  int
	closed bool
}

// Listen starts a proxy that forwards to target, a host:port that need not be reachable yet.
func Listen(target string, opts Options) (*Proxy, error) {
	p := &Proxy{target: target, conn: opts.conn(), port: opts.Port, links: make(map[*link]struct{})}
	p.gate.changed = make(chan struct{})
	if p.port == nil {
		port, err := loopback.Reserve()
		if err != nil {
			return nil, err
		}
		p.port, p.owned = port, true
	}
	p.mu.Lock()
	err := p.listenLocked()
	p.mu.Unlock()
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Addr returns the host:port to dial in place of the target's. It stays the same for the proxy's life.
func (p *Proxy) Addr() string { return p.port.Addr() }

// Target returns the host:port behind the proxy.
func (p *Proxy) Target() string { return p.target }

// Bytes returns how many bytes were sent on in one direction, over all connections.
func (p *Proxy) Bytes(d Direction) int64 { return p.bytes[d].Load() }

// Conns returns how many connections pass through the proxy now, and how many were accepted in its life.
func (p *Proxy) Conns() (open, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links), p.total
}

// Cut closes all connections that pass now, on both sides, losing what is under way. New ones are accepted.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close()
	}
}

// Stall holds back all that travels in the given directions, in both when none is given, until Heal: bytes, ends of
// streams, and with ToServer new connections, which the kernel accepts and nobody answers.
func (p *Proxy) Stall(directions ...Direction) {
	if len(directions) == 0 {
		directions = []Direction{ToServer, ToClient}
	}
	p.gate.change(func(g *gate) {
		for _, d := range directions {
			g.stalled[d] = true
		}
	})
}

// Delay makes each chunk that arrives from now on leave d later. It bounds no throughput.
func (p *Proxy) Delay(d time.Duration) { p.gate.change(func(g *gate) { g.delay = d }) }

// Refuse makes the kernel refuse new connections until Heal. With Cut it is a server that is not there.
func (p *Proxy) Refuse() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refuseLocked()
}

// Heal ends Stall, Refuse and Delay. An error means that the port could not be listened on again.
func (p *Proxy) Heal() error {
	p.gate.change(func(g *gate) { g.stalled, g.delay = [2]bool{}, 0 })
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.ln != nil {
		return nil
	}
	return p.listenLocked()
}

// Close cuts everything, stops listening and waits for the proxy's goroutines. Later calls do nothing.
func (p *Proxy) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	err := p.refuseLocked()
	for l := range p.links {
		l.close()
	}
	p.mu.Unlock()
	p.wg.Wait()
	if p.owned {
		err = errors.Join(err, p.port.Close())
	}
	return err
}

// refuseLocked closes the listener, if there is one; mu is held.
func (p *Proxy) refuseLocked() error {
	if p.ln == nil {
		return nil
	}
	err := p.ln.Close()
	p.ln = nil
	return err
}

// listenLocked opens the listener and starts its acceptor; mu is held.
func (p *Proxy) listenLocked() error {
	ln, err := net.Listen("tcp4", p.port.Addr())
	if err != nil {
		return err
	}
	p.ln = ln
	p.wg.Add(1)
	// Acceptor; owned by p; ends when its listener is closed by Refuse or Close.
	go p.accept(ln)
	return nil
}

func (p *Proxy) accept(ln net.Listener) {
	defer p.wg.Done()
	for {
		nc, err := ln.Accept()
		if err != nil {
			return
		}
		if l := p.admit(nc); l != nil {
			// Carrier of one connection; owned by its link; ends with the link.
			go l.carry()
		}
	}
}

// admit registers a connection, or resets it and returns nil when the proxy is closed.
func (p *Proxy) admit(nc net.Conn) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		reset(nc)
		return nil
	}
	l := &link{proxy: p, client: nc, done: make(chan struct{})}
	p.links[l] = struct{}{}
	p.total++
	p.wg.Add(1)
	return l
}

// forget takes a link that has ended off the list.
func (p *Proxy) forget(l *link) {
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
	p.wg.Done()
}
