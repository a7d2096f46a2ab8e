package zkserver

import (
	"encoding/binary"

	"github.com/lockkeeper/lockkeeper/integration/faultproxy"
	"github.com/lockkeeper/lockkeeper/integration/loopback"
)

// wiring is which ports each member names for the others.
type wiring struct {
	own   []member                     // where each listens, from member 1
	proxy map[[2]int][2]*loopback.Port // for {dialler, target}: the proxies' ports for quorum and election
}

// seenBy returns the lines server.N for member id; nil for a standalone server.
func (w wiring) seenBy(id int) []member {
	seen := append([]member(nil), w.own...)
	for i := range seen {
		if p, ok := w.proxy[[2]int{id, i + 1}]; ok {
			seen[i] = member{quorum: p[0].Number(), election: p[1].Number()}
		}
	}
	return seen
}

// wire reserves the members' ports and starts the proxies between them. clients are the ports for clients.
func (e *Ensemble) wire(o Options, clients []*loopback.Port) (wiring, error) {
	w := wiring{proxy: make(map[[2]int][2]*loopback.Port)}
	if o.Members == 1 {
		return w, nil
	}
	addrs := make([][2]string, o.Members)
	for i := range o.Members {
		ports, err := e.reservePair()
		if err != nil {
			return w, err
		}
		m := member{quorum: ports[0].Number(), election: ports[1].Number()}
		if o.reconfigures() {
			m.client = clients[i].Number()
		}
		w.own = append(w.own, m)
		addrs[i] = [2]string{ports[0].Addr(), ports[1].Addr()}
	}
	if !o.QuorumProxies {
		return w, nil
	}
	return w, e.proxies(w, addrs)
}

// proxies starts one proxy for each port of each member and each other member that dials it.
func (e *Ensemble) proxies(w wiring, addrs [][2]string) error {
	for from := 1; from <= len(addrs); from++ {
		for to := 1; to <= len(addrs); to++ {
			if from == to {
				continue
			}
			ports, err := e.reservePair()
			if err != nil {
				return err
			}
			w.proxy[[2]int{from, to}] = ports
		}
	}
	for way, ports := range w.proxy {
		from, to := way[0], way[1]
		back := w.proxy[[2]int{to, from}]
		quorum, err := faultproxy.Listen(addrs[to-1][0], faultproxy.Options{Port: ports[0]})
		if err != nil {
			return err
		}
		e.addProxy(from, to, quorum)
		election, err := faultproxy.Listen(addrs[to-1][1], faultproxy.Options{
			Port: ports[1], Filter: readdress(addrs[from-1][1], back[1].Addr()),
		})
		if err != nil {
			return err
		}
		e.addProxy(from, to, election)
	}
	return nil
}

// addProxy makes p, which from dials to reach to, part of their link.
func (e *Ensemble) addProxy(from, to int, p *faultproxy.Proxy) {
	l := e.links[between(from, to)]
	if l == nil {
		l = &Link{proxies: make(map[int][]*faultproxy.Proxy)}
		e.links[between(from, to)] = l
	}
	l.proxies[from] = append(l.proxies[from], p)
}

func (e *Ensemble) reservePair() (ports [2]*loopback.Port, err error) {
	for i := range ports {
		if ports[i], err = e.reserve(); err != nil {
			return ports, err
		}
	}
	return ports, nil
}

// greetingSize is the fixed part of what a member says first on an election connection: version, own number, length of
// its election address (QuorumCnxManager.InitialMessage).
const greetingSize = 8 + 8 + 4

// readdress replaces a member's election address in its first message. A member with a larger number closes the
// connection of one with a smaller number and dials the address that this message gave (QuorumCnxManager.
// handleConnection); with the real address it would pass by its proxy.
func readdress(real, proxied string) func(faultproxy.Direction) func([]byte) []byte {
	return func(d faultproxy.Direction) func([]byte) []byte {
		first := d == faultproxy.ToServer
		return func(chunk []byte) []byte {
			if !first {
				return chunk
			}
			first = false
			if end := greetingSize + len(real); len(chunk) < end || string(chunk[greetingSize:end]) != real {
				return chunk
			}
			out := append([]byte(nil), chunk[:greetingSize-4]...)
			out = binary.BigEndian.AppendUint32(out, uint32(len(proxied)))
			out = append(out, proxied...)
			return append(out, chunk[greetingSize+len(real):]...)
		}
	}
}
