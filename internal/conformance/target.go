package conformance

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Target is a server to run entries on. It is not changed once a provider has handed it out.
type Target struct {
	Name    string  // for the table
	Addr    string  // host:port of the server that entries dial
	Members string  // the connect string of all members of an ensemble, the one at Addr among them; empty without others
	Version Version // of the server
	// Dial connects to the server; nil means over TCP.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Tick is the server's tickTime. Session timeouts lie between 2 and 20 of it.
	Tick time.Duration

	// Restart ends the server, or what looks like that to its clients, and returns when it serves again, with its data. An
	// ensemble's members do so one after the other.
	Restart func(ctx context.Context) error
	// Watches returns the ids of the sessions that have a data-side watch, by path.
	Watches func(ctx context.Context) (map[string][]int64, error)
	// Sweep has the server remove containers that have become empty, or returns when it does so soon by itself.
	Sweep func(ctx context.Context) error

	// SASL is another server of the kind, which has SASL and does not enforce it; SASLUser may authenticate there, with
	// SASLPassword. nil if there is none.
	SASL *Target

	// Without says why an ability is missing. Each of the three functions that is nil needs its reason here; the other
	// abilities have no function.
	Without map[Ability]string
}

// Ability is something that not every target can do.
type Ability string

// The abilities.
const (
	Restart Ability = "restart" // Target.Restart
	Watches Ability = "watches" // Target.Watches
	Sweep   Ability = "sweep"   // Target.Sweep
	// Alone: nobody else writes, so that zxids are counted by the entry alone.
	Alone Ability = "alone"
	// Unreadable: it may be sent writes that it cannot read. From 3.9.0 on they are the end of an ensemble: the leader proposes
	// the failure with a zxid that it has used, and its followers stop when they are told to commit it
	// (PrepRequestProcessor.pRequestHelper, FollowerZooKeeperServer.commit).
	Unreadable Ability = "take unreadable writes"
	SASL       Ability = "authenticate by SASL" // at Target.SASL
	// HandshakeFirst: what comes in one write with a ConnectRequest is answered behind it. The Netty server answers credentials
	// at once, while the session is being made (NettyServerCnxn.receiveMessage).
	HandshakeFirst Ability = "answer the handshake first"
)

// lacks returns why the target cannot do all that is needed, or "".
func (tg *Target) lacks(needs []Ability) string {
	for _, a := range needs {
		if why := tg.Without[a]; why != "" {
			return "cannot " + string(a) + ": " + why
		}
		if a == SASL && tg.SASL == nil {
			return "cannot " + string(a) + ": there is no such server beside it"
		}
	}
	return ""
}

// check fails the test if an ability is missing without a reason.
func (tg *Target) check(t *testing.T) {
	t.Helper()
	for a, has := range map[Ability]bool{Restart: tg.Restart != nil, Watches: tg.Watches != nil, Sweep: tg.Sweep != nil} {
		if !has && tg.Without[a] == "" {
			t.Fatalf("target %s lacks the ability %s and gives no reason", tg.Name, a)
		}
	}
}

// dial is Target.Dial or its default.
func (tg *Target) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if tg.Dial != nil {
		return tg.Dial(ctx, network, addr)
	}
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}

// Version is the version of a server; comparable with <.
type Version int

// NewVersion returns major.minor.patch.
func NewVersion(major, minor, patch int) Version {
	return Version(major*1_000_000 + minor*1_000 + patch)
}

// ParseVersion reads the beginning of a text such as "3.8.0-beta"; parts that are missing are 0.
func ParseVersion(text string) Version {
	var parts [3]int
	text, _, _ = strings.Cut(text, "-")
	for i, part := range strings.SplitN(text, ".", len(parts)) {
		n, err := strconv.Atoi(part)
		if err != nil {
			break
		}
		parts[i] = n
	}
	return NewVersion(parts[0], parts[1], parts[2])
}

func (v Version) String() string {
	n := int(v)
	return strconv.Itoa(n/1_000_000) + "." + strconv.Itoa(n/1_000%1_000) + "." + strconv.Itoa(n%1_000)
}

// since reports whether v has what came with the releases, one per branch and ascending: a branch between two of them that
// is not named has it from the next named one on.
func (v Version) since(releases ...Version) bool {
	for _, r := range releases {
		if v >= r && (v/1_000 == r/1_000 || r == releases[len(releases)-1]) {
			return true
		}
	}
	return false
}
