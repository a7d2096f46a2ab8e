package delay

import (
	"net"
	"sync"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/relay"
)

// Proxy delays what passes through it. Its methods may be called from any goroutine.
type Proxy struct {
	clock *clock
	relay *relay.Relay
	wg    sync.WaitGroup // of the clock
}

// Listen begins to accept on a free port of the loopback interface. Each direction is delayed by d.
func Listen(target string, d time.Duration) (p *Proxy, err error) {
	p = &Proxy{clock: newClock(d)}
	if p.relay, err = relay.Listen(target, p.carry); err != nil {
		return nil, err
	}
	// clock, owned by p, ends by Close.
	p.wg.Go(p.clock.run)
	return p, nil
}

// Addr returns the address to connect to.
func (p *Proxy) Addr() string { return p.relay.Addr() }

// Close ends all connections, without delay, and waits until every goroutine has ended.
func (p *Proxy) Close() {
	p.relay.Stop()
	p.clock.stop()
	p.relay.Close()
	p.wg.Wait()
}

// carry delays both directions until one of the two ends.
func (p *Proxy) carry(near, far net.Conn) {
	var lines sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		l := newLine()
		// intake, owned by carry, ends when its source does.
		lines.Go(func() { l.intake(way[0], p.clock) })
		// delay line, owned by carry, ends when all that its source sent has been handed on, or cannot be.
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
