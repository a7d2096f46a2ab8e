package client

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/lockkeeper/lockkeeper/proto"
)

// defaultPort is where ZooKeeper listens unless it is told otherwise.
const defaultPort = "2181"

// ConnectStringError says which part of a connect string is wrong.
type ConnectStringError struct {
	Part   string // the server or chroot in question, or the whole
	Reason string

	err error // the *PathError of a chroot
}

func (e *ConnectStringError) Error() string {
	return "connect string, " + strconv.Quote(e.Part) + ": " + e.Reason
}

// Unwrap returns the *PathError if the chroot is no path, and else nil.
func (e *ConnectStringError) Unwrap() error { return e.err }

// parseConnectString divides "host:port,host:port/chroot" (docs/protocol.md sections 15 and 16; ConnectStringParser in Java).
// The chroot is "" when there is none.
func parseConnectString(s string) (servers []string, chroot string, err error) {
	hosts := s
	if i := strings.IndexByte(s, '/'); i >= 0 {
		hosts, chroot = s[:i], strings.TrimSpace(s[i:])
	}
	if chroot == "/" {
		chroot = ""
	}
	if i := strings.IndexByte(chroot, ','); i >= 0 && strings.Contains(chroot[i:], ":") {
		return nil, "", &ConnectStringError{Part: chroot, Reason: "servers behind the chroot, which stands once, at the end"}
	}
	if chroot != "" {
		if err := proto.ValidatePath(chroot); err != nil {
			return nil, "", &ConnectStringError{Part: chroot, Reason: "chroot is no path: " + err.Error(), err: err}
		}
	}
	if strings.TrimSpace(hosts) == "" {
		return nil, "", &ConnectStringError{Part: s, Reason: "no servers"}
	}
	for part := range strings.SplitSeq(hosts, ",") {
		server, reason := parseServer(strings.TrimSpace(part))
		if reason != "" {
			return nil, "", &ConnectStringError{Part: part, Reason: reason}
		}
		servers = append(servers, server)
	}
	return servers, chroot, nil
}

// parseServer returns "host:port", with brackets around an IPv6 address, or what is wrong with s.
func parseServer(s string) (server, reason string) {
	host, port, reason := splitServer(s)
	if reason != "" {
		return "", reason
	}
	if host == "" {
		return "", "no host"
	}
	if strings.ContainsAny(host, " \t\r\n[]@") {
		return "", "character that no host name has"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", "port is not a number from 1 to 65535"
	}
	return net.JoinHostPort(host, port), ""
}

// splitServer divides s into host and port, which has a default.
func splitServer(s string) (host, port, reason string) {
	if s == "" {
		return "", "", "empty entry"
	}
	rest, bracket := strings.CutPrefix(s, "[")
	if !bracket {
		host, port, found := strings.Cut(s, ":")
		if strings.Contains(port, ":") {
			return "", "", "several colons: an IPv6 address needs brackets"
		}
		if !found {
			port = defaultPort
		}
		return host, port, ""
	}
	host, rest, found := strings.Cut(rest, "]")
	if !found {
		return "", "", "missing ]"
	}
	if addr, err := netip.ParseAddr(host); err != nil || !addr.Is6() {
		return "", "", "no IPv6 address in the brackets"
	}
	port, found = strings.CutPrefix(rest, ":")
	if !found && rest != "" {
		return "", "", "text behind the ]"
	}
	if !found {
		port = defaultPort
	}
	return host, port, ""
}
