package conn

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// DefaultPort is where ZooKeeper listens unless it is told otherwise.
const DefaultPort = 2181

// AddrError is the text of an address that cannot be one.
type AddrError struct {
	Addr   string // the text
	Reason string
}

func (e *AddrError) Error() string {
	return "bad server address " + strconv.Quote(e.Addr) + ": " + e.Reason
}

// ParseAddr brings one server's address into the form that Dial wants, "host:port". The port may be missing or empty and is
// DefaultPort then. An IPv6 address may stand with or without brackets; with a port it needs them. Names are not looked up.
// A text that is no address gives an *AddrError.
func ParseAddr(s string) (string, error) {
	host, port, reason := splitAddr(s)
	if reason == "" && port == "" {
		port = strconv.Itoa(DefaultPort)
	}
	if reason == "" {
		reason = checkAddr(host, port)
	}
	if reason != "" {
		return "", &AddrError{Addr: s, Reason: reason}
	}
	return net.JoinHostPort(host, port), nil
}

// splitAddr divides s at the colon in front of the port, if there is one; a reason means that it cannot be divided.
func splitAddr(s string) (host, port, reason string) {
	if rest, ok := strings.CutPrefix(s, "["); ok {
		host, rest, ok = strings.Cut(rest, "]")
		if !ok {
			return "", "", "missing ]"
		}
		if _, err := netip.ParseAddr(host); err != nil || !strings.Contains(host, ":") {
			return "", "", "no IPv6 address in the brackets"
		}
		if port, ok = strings.CutPrefix(rest, ":"); !ok && rest != "" {
			return "", "", "text behind the ]"
		}
		return host, port, ""
	}
	switch strings.Count(s, ":") {
	case 0:
		return s, "", ""
	case 1:
		host, port, _ = strings.Cut(s, ":")
		return host, port, ""
	}
	if _, err := netip.ParseAddr(s); err != nil {
		return "", "", "several colons, and no IPv6 address"
	}
	return s, "", ""
}

// checkAddr returns what is wrong with the parts of an address, or "".
func checkAddr(host, port string) string {
	if host == "" {
		return "no host"
	}
	if strings.ContainsAny(host, " \t\r\n/@[]") {
		return "character that no host name has"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "port is not a number from 1 to 65535"
	}
	return ""
}
