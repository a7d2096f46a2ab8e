package client

import (
	"strconv"
	"strings"

	"github.com/lockkeeper/lockkeeper/proto"
)

// Version is a release of ZooKeeper, such as 3.6.0.
type Version struct{ Major, Minor, Patch int }

// String returns "3.6.0".
func (v Version) String() string {
	return strconv.Itoa(v.Major) + "." + strconv.Itoa(v.Minor) + "." + strconv.Itoa(v.Patch)
}

// before reports whether v is older than o.
func (v Version) before(o Version) bool {
	switch {
	case v.Major != o.Major:
		return v.Major < o.Major
	case v.Minor != o.Minor:
		return v.Minor < o.Minor
	}
	return v.Patch < o.Patch
}

// oldestServer is what can be promised at least: creates are sent as create2.
func oldestServer() Version { return Version{3, 5, 0} }

// defaultServer is what is assumed without the option.
func defaultServer() Version { return Version{3, 6, 0} }

// VersionError says that an operation was not sent, since a server of the version that MinServer promises may not know it:
// such a server would close the connection, and with it everything else that is in flight there (docs/protocol.md
// section 6).
type VersionError struct {
	Op       string  // what was not sent
	Since    Version // the first release that knows it
	Promised Version // what MinServer says
}

func (e *VersionError) Error() string {
	return e.Op + " needs servers of " + e.Since.String() + " or newer; the client was told " + e.Promised.String() +
		" (option MinServer)"
}

// MinServer promises that all servers are of this release or newer: "3.6" (the default), "3.7.1". It is tested with 3.8 and 3.9;
// 3.5 is accepted too, at the caller's own risk, and nothing older. Operations that older servers do not know are refused with a *VersionError otherwise:
//
//	3.5.0  checkWatches, removeWatches, reconfig
//	3.5.1  containers
//	3.5.3  CreateTTL
//	3.6.0  MultiRead, GetEphemerals, GetAllChildrenNumber, persistent watches
//	3.7.0  WhoAmI
//	3.9.0  WatcherPersistent, WatcherPersistentRecursive
func MinServer(version string) Option {
	return option(func(o *options) *OptionError {
		v, ok := parseVersion(version)
		if !ok {
			return &OptionError{"MinServer", strconv.Quote(version) + " is no version such as 3.6 or 3.6.1"}
		}
		o.minServer = v
		return require(!v.before(oldestServer()), "MinServer", "servers before "+oldestServer().String()+" are not supported")
	})
}

func parseVersion(s string) (v Version, ok bool) {
	parts := strings.Split(s, ".")
	if len(parts) < 2 || len(parts) > 3 {
		return Version{}, false
	}
	numbers := [3]*int{&v.Major, &v.Minor, &v.Patch}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return Version{}, false
		}
		*numbers[i] = int(n)
	}
	return v, true
}

// since returns the first release that knows op; the zero Version for those that all know.
func since(op proto.Op) Version {
	switch op {
	case proto.OpCreate2, proto.OpReconfig, proto.OpCheckWatches, proto.OpRemoveWatches:
		return Version{3, 5, 0}
	case proto.OpCreateContainer:
		return Version{3, 5, 1}
	case proto.OpCreateTTL:
		return Version{3, 5, 3}
	case proto.OpMultiRead, proto.OpGetEphemerals, proto.OpGetAllChildrenNumber, proto.OpSetWatches2, proto.OpAddWatch:
		return Version{3, 6, 0}
	case proto.OpWhoAmI:
		return Version{3, 7, 0}
	}
	return Version{}
}

// needs returns a *VersionError if servers of the promised version may not know op.
func (c *Client) needs(op proto.Op) error {
	if v := since(op); c.minServer.before(v) {
		return &VersionError{op.String(), v, c.minServer}
	}
	return nil
}

// needsWatcher is needs for an op with a WatcherType: before 3.9 servers take three of the five.
func (c *Client) needsWatcher(op proto.Op, t WatcherType) error {
	if v := (Version{3, 9, 0}); t > WatcherAny && c.minServer.before(v) {
		return &VersionError{op.String() + " of type " + strconv.Itoa(int(t)), v, c.minServer}
	}
	return c.needs(op)
}

// allowed returns err, which is what is wrong with a request's arguments, or else why op is not for these servers.
func (g *Group) allowed(op proto.Op, err error) error {
	if err == nil && g != nil && g.cl != nil {
		return g.cl.needs(op)
	}
	return err
}
