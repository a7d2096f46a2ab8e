package relay

import (
	"net"
	"sync"
)

// Relay stands between clients and a server. Its methods may be called from any goroutine.
type Relay struct {
	target string
	carry  func(near, far net.Conn)
	ln     net.Listener
	wg     sync.WaitGroup // all goroutines

	mu     sync.Mutex // guards what follows
	closed bool
	open   map[net.Conn]struct{}
}

// Listen begins to accept on a free port of the loopback interface. Each connection is joined with one of its own to target, and carry
// is called for the two, on a goroutine of its own; when it returns both are closed. It must return when both have been closed.
func Listen(target string, carry func(near, far net.Conn)) (*Relay, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Relay{target: target, carry: carry, ln: ln, open: make(map[net.Conn]struct{})}
	// accept, owned by r, ends by Stop.
	r.wg.Go(r.accept)
	return r, nil
}

// Addr returns the address to connect to.
func (r *Relay) Addr() string { return r.ln.Addr().String() }

// Cut ends what is connected.
func (r *Relay) Cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cutLocked()
}

func (r *Relay) cutLocked() {
	for nc := range r.open {
		_ = nc.Close()
	}
}

// Stop ends what is connected, and accepts no more. It does not wait.
func (r *Relay) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	_ = r.ln.Close() // accept ends in any case
	r.cutLocked()
}

// Close is Stop, and waits until every goroutine has ended.
func (r *Relay) Close() {
	r.Stop()
	r.wg.Wait()
}

func (r *Relay) accept() {
	for {
		nc, err := r.ln.Accept()
		if err != nil {
			return
		}
		// serve, owned by r, ends with the connection.
		r.wg.Go(func() { r.serve(nc) })
	}
}

// keep enters nc for Cut and Stop; after Stop it closes nc and returns false.
func (r *Relay) keep(nc net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		_ = nc.Close()
		return false
	}
	r.open[nc] = struct{}{}
	return true
}

func (r *Relay) drop(nc net.Conn) {
	r.mu.Lock()
	delete(r.open, nc)
	r.mu.Unlock()
	_ = nc.Close()
}

// serve connects a client with the target until carry returns.
func (r *Relay) serve(near net.Conn) {
	if !r.keep(near) {
		return
	}
	defer r.drop(near)
	far, err := net.Dial("tcp", r.target)
	if err != nil || !r.keep(far) {
		return
	}
	defer r.drop(far)
	r.carry(near, far)
}
