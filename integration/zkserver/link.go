package zkserver

import (
	"errors"
	"time"

	"github.com/lockkeeper/lockkeeper/integration/faultproxy"
)

// pair names two members, the smaller number first.
type pair struct{ a, b int }

func between(a, b int) pair { return pair{min(a, b), max(a, b)} }

// Link is everything that connects two members: for each of them, its way to the other's quorum port and to the other's
// election port. All methods may be called from any goroutine.
type Link struct {
	proxies map[int][]*faultproxy.Proxy // by the member that dials
}

// Cut closes the connections between the two and refuses new ones: both notice at once.
func (l *Link) Cut() error {
	return l.each(func(_ int, p *faultproxy.Proxy) error {
		err := p.Refuse()
		p.Cut()
		return err
	})
}

// Stall holds back everything between the two and closes nothing: each notices when its time for the other has passed.
func (l *Link) Stall() {
	_ = l.each(func(_ int, p *faultproxy.Proxy) error { p.Stall(); return nil })
}

// StallFrom holds back what the member numbered id sends to the other.
func (l *Link) StallFrom(id int) {
	_ = l.each(func(dialler int, p *faultproxy.Proxy) error {
		if dialler == id {
			p.Stall(faultproxy.ToServer)
		} else {
			p.Stall(faultproxy.ToClient)
		}
		return nil
	})
}

// Delay makes everything between the two arrive later by d, each way.
func (l *Link) Delay(d time.Duration) {
	_ = l.each(func(_ int, p *faultproxy.Proxy) error { p.Delay(d); return nil })
}

// Heal ends Cut, Stall and Delay.
func (l *Link) Heal() error {
	return l.each(func(_ int, p *faultproxy.Proxy) error { return p.Heal() })
}

// Bytes returns how many bytes the two have exchanged.
func (l *Link) Bytes() (n int64) {
	_ = l.each(func(_ int, p *faultproxy.Proxy) error {
		n += p.Bytes(faultproxy.ToServer) + p.Bytes(faultproxy.ToClient)
		return nil
	})
	return n
}

func (l *Link) close() error {
	return l.each(func(_ int, p *faultproxy.Proxy) error { return p.Close() })
}

func (l *Link) each(f func(dialler int, p *faultproxy.Proxy) error) error {
	var errs []error
	for dialler, proxies := range l.proxies {
		for _, p := range proxies {
			errs = append(errs, f(dialler, p))
		}
	}
	return errors.Join(errs...)
}

// Link returns what connects members a and b; nil without Options.QuorumProxies, or if a and b are no two members.
func (e *Ensemble) Link(a, b int) *Link { return e.links[between(a, b)] }

// Links returns all links of one member.
func (e *Ensemble) Links(id int) []*Link {
	var links []*Link
	for p, l := range e.links {
		if p.a == id || p.b == id {
			links = append(links, l)
		}
	}
	return links
}
