package zktest

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/lockkeeper/lockkeeper/proto"
)

// quorumMember is a server as configurations describe it: host:port:port[:role][;[host:]port]
// (org.apache.zookeeper.server.quorum.QuorumPeer.QuorumServer).
type quorumMember struct {
	host           string
	port, election int
	observer       bool
	clientHost     string
	clientPort     int // 0: none
}

// quorum is the members by their numbers.
type quorum map[int64]quorumMember

// anyAddress is the host that clients are listened for at when none is given.
const anyAddress = "0.0.0.0"

// parseMember reads the description of a server. What the server does not foresee, such as a port out of range, it answers as
// a request that cannot be read.
func parseMember(text string) (quorumMember, proto.Code) {
	var m quorumMember
	server, client, hasClient := strings.Cut(text, ";")
	parts := hostAndPorts(server)
	if len(parts) < 3 || len(parts) > 4 {
		return m, proto.ErrBadArguments
	}
	m.host = parts[0]
	var code proto.Code
	if m.port, code = parsePort(parts[1]); code != 0 {
		return m, code
	}
	if m.election, code = parsePort(parts[2]); code != 0 {
		return m, code
	}
	if m.port == m.election {
		return m, proto.ErrBadArguments
	}
	if len(parts) == 4 {
		switch strings.ToLower(strings.TrimSpace(parts[3])) {
		case "observer":
			m.observer = true
		case "participant":
		default:
			return m, proto.ErrBadArguments
		}
	}
	if !hasClient {
		return m, 0
	}
	parts = hostAndPorts(client)
	if len(parts) > 2 {
		return m, proto.ErrBadArguments
	}
	if m.clientHost = anyAddress; len(parts) == 2 {
		m.clientHost = parts[0]
	}
	m.clientPort, code = parsePort(parts[len(parts)-1])
	return m, code
}

func parsePort(text string) (int, proto.Code) {
	n, err := strconv.ParseInt(text, 10, 32)
	switch {
	case err != nil:
		return 0, proto.ErrBadArguments
	case n < 0 || n > 65535:
		return 0, proto.ErrMarshalling
	}
	return int(n), 0
}

// hostAndPorts splits at colons, but not inside the brackets of an IPv6 address, which go.
func hostAndPorts(text string) []string {
	if rest, ok := strings.CutPrefix(text, "["); ok {
		if host, ports, ok := strings.Cut(rest, "]"); ok {
			return append([]string{host}, strings.Split(strings.TrimPrefix(ports, ":"), ":")...)
		}
	}
	return strings.Split(text, ":")
}

func (m quorumMember) String() string {
	role := ":participant"
	if m.observer {
		role = ":observer"
	}
	text := bracket(m.host) + ":" + strconv.Itoa(m.port) + ":" + strconv.Itoa(m.election) + role
	if m.clientPort != 0 {
		text += ";" + bracket(m.clientHost) + ":" + strconv.Itoa(m.clientPort)
	}
	return text
}

// bracket writes a host in front of a port. IPv6 addresses are written out, as Java does.
func bracket(host string) string {
	a, err := netip.ParseAddr(host)
	if err != nil || !a.Is6() {
		return host
	}
	b := a.As16()
	groups := make([]string, 0, len(b)/2)
	for i := 0; i < len(b); i += 2 {
		groups = append(groups, strconv.FormatUint(uint64(b[i])<<8|uint64(b[i+1]), 16))
	}
	return "[" + strings.Join(groups, ":") + "]"
}

// clashes reports whether two members want the same port of one address. Names, and addresses that mean the own host, are not
// compared.
func (m quorumMember) clashes(o quorumMember) bool {
	for _, a := range m.addresses() {
		if slices.Contains(o.addresses(), a) {
			return true
		}
	}
	return false
}

func (m quorumMember) addresses() []netip.AddrPort {
	var out []netip.AddrPort
	add := func(host string, port int) {
		if a, err := netip.ParseAddr(host); err == nil && !a.IsUnspecified() && !a.IsLoopback() {
			out = append(out, netip.AddrPortFrom(a, uint16(port)))
		}
	}
	add(m.host, m.port)
	add(m.host, m.election)
	add(m.clientHost, m.clientPort)
	return out
}

// parseEntry reads "server.N=description".
func parseEntry(text string) (id int64, m quorumMember, code proto.Code) {
	key, value, ok := strings.Cut(text, "=")
	if !ok || strings.Contains(value, "=") {
		return 0, m, proto.ErrBadArguments
	}
	id, err := strconv.ParseInt(key[strings.LastIndexByte(key, '.')+1:], 10, 64)
	if err != nil {
		return 0, m, proto.ErrMarshalling
	}
	m, code = parseMember(value)
	return id, m, code
}

// text is what /zookeeper/config holds (QuorumMaj.toString), by number; a server has the lines in no particular order.
func (q quorum) text(version int64) []byte {
	var b []byte
	for _, id := range slices.Sorted(maps.Keys(q)) {
		b = append(b, "server."+strconv.FormatInt(id, 10)+"="+q[id].String()+"\n"...)
	}
	b = append(b, "version="...)
	return strconv.AppendUint(b, uint64(version), 16)
}

// voters counts the members that vote.
func (q quorum) voters() int {
	n := 0
	for _, m := range q {
		if !m.observer {
			n++
		}
	}
	return n
}
