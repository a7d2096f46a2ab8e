package client

import (
	"context"
	"strconv"
	"strings"

	"github.com/lockkeeper/lockkeeper/proto"
)

// AnyConfigVersion makes a Reconfig ignore the version of the configuration.
const AnyConfigVersion int64 = -1

// Reconfiguration is a change of the ensemble's members: Joining and Leaving, of which one may be missing, or Members alone.
type Reconfiguration struct {
	Joining []string // servers to add or to change, such as "server.4=zk4:2888:3888:participant;2181"
	Leaving []string // numbers of servers to remove, such as "3"
	Members []string // the whole new list, in the form of Joining
	Version int64    // that the configuration must have, as Config.Version; AnyConfigVersion for any. 0 is a version like others
}

// ReconfigError says what is wrong with a Reconfiguration. Nothing was sent.
type ReconfigError struct{ Reason string }

func (e *ReconfigError) Error() string { return "reconfiguration: " + e.Reason }

// Reconfig changes the members of the ensemble and returns the new configuration, once a quorum of both the old and the new
// members has it, and the Stat of the znode that holds it. It takes write permission on /zookeeper/config, which only the
// super user has at first. Servers answer ErrReconfigDisabled unless they are configured with reconfigEnabled, a standalone
// server ErrUnimplemented, and otherwise ErrBadVersion, ErrReconfigInProgress, ErrNewConfigNoQuorum or ErrBadArguments. The
// list of servers that this client knows stays as it is: see SetServers. (docs/protocol.md section 14.)
func (c *Client) Reconfig(ctx context.Context, change Reconfiguration) (Config, Stat, error) {
	g, err := c.take("reconfig", "")
	if err != nil {
		return Config{}, Stat{}, err
	}
	h := g.Reconfig(change)
	g.run(ctx)
	cfg, st, err := h.Config()
	c.put(g)
	return cfg, st, err
}

// GetConfig returns the configuration of the ensemble: the data of /zookeeper/config, which is the same with every chroot,
// and its Stat. A standalone server has none.
func (c *Client) GetConfig(ctx context.Context) (Config, Stat, error) {
	g, err := c.take("get", proto.ConfigPath)
	if err != nil {
		return Config{}, Stat{}, err
	}
	h := g.GetConfig()
	g.run(ctx)
	cfg, st, err := h.Config()
	c.put(g)
	return cfg, st, err
}

// Reconfig adds a change of the ensemble's members. See Client.Reconfig.
func (g *Group) Reconfig(change Reconfiguration) ConfigCall {
	c, ok := g.add(proto.OpReconfig, "", g.allowed(proto.OpReconfig, change.check()))
	if ok {
		req := proto.ReconfigRequest{JoiningServers: listed(change.Joining), LeavingServers: listed(change.Leaving),
			NewMembers: listed(change.Members), CurConfigID: change.Version}
		c.end(req.AppendTo(g.g.Begin(proto.OpReconfig)), nil)
	}
	return ConfigCall{c}
}

// GetConfig adds the reading of the ensemble's configuration. See Client.GetConfig.
func (g *Group) GetConfig() ConfigCall { return ConfigCall{g.get(proto.ConfigPath, nil, nil).c} }

// check refuses what a server would take in part, or in another sense.
func (r *Reconfiguration) check() error {
	incremental := len(r.Joining) > 0 || len(r.Leaving) > 0
	switch {
	case incremental && len(r.Members) > 0:
		return &ReconfigError{"Members exclude Joining and Leaving"} // a server would ignore these
	case !incremental && len(r.Members) == 0:
		return &ReconfigError{"nothing to change"}
	}
	for _, entry := range r.Leaving {
		if _, err := strconv.ParseUint(entry, 10, 8); err != nil { // a server's number is one of 1 to 255
			return &ReconfigError{"Leaving wants numbers of servers, such as 3, and not " + strconv.Quote(entry)}
		}
	}
	for _, list := range [][]string{r.Joining, r.Leaving, r.Members} {
		for _, entry := range list {
			if strings.TrimSpace(entry) == "" || strings.ContainsAny(entry, ",\r\n") {
				return &ReconfigError{"an entry is one server"}
			}
		}
	}
	return nil
}

// listed returns the entries as they are sent: null, and not empty, if there are none.
func listed(entries []string) proto.NullString {
	return proto.NullString{String: strings.Join(entries, ","), Valid: len(entries) > 0}
}

// ConfigCall is the handle of a Reconfig or GetConfig in a Group.
type ConfigCall struct{ c call }

// Config returns the configuration, which is the caller's, and the Stat of /zookeeper/config.
func (h ConfigCall) Config() (Config, Stat, error) {
	data, st, err := GetCall(h).Data()
	if err != nil {
		return Config{}, Stat{}, err
	}
	return parseConfig(data), st, nil
}

// Err returns nil if there is a configuration.
func (h ConfigCall) Err() error { return h.c.err() }
