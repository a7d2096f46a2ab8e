package client

import (
	"context"
	"strings"

	"github.com/lockkeeper/lockkeeper/proto"
)

// Identity is one identity of a connection, as the server knows it.
type Identity struct {
	Scheme string // "digest", "x509", "sasl", ...; "ip" for the address that the connection comes from
	User   string // the name, without anything secret; of scheme ip the address
}

// GetEphemerals returns the paths of the ephemeral znodes of this session at prefix and below it, in no defined order; "/"
// means all that are below the client's chroot and have a name there. The slice is the caller's. A server compares only letters; what is called
// /ab is not below /a, and is left out here. (docs/protocol.md section 14.)
func (c *Client) GetEphemerals(ctx context.Context, prefix string) ([]string, error) {
	g, err := c.take("getEphemerals", prefix)
	if err != nil {
		return nil, err
	}
	h := g.GetEphemerals(prefix)
	g.run(ctx)
	paths, err := h.Paths()
	c.put(g)
	return paths, err
}

// GetAllChildrenNumber returns how many znodes there are below path, at any depth, itself not counted. The server walks the
// whole tree for it.
func (c *Client) GetAllChildrenNumber(ctx context.Context, path string) (int, error) {
	g, err := c.take("getAllChildrenNumber", path)
	if err != nil {
		return 0, err
	}
	h := g.GetAllChildrenNumber(path)
	g.run(ctx)
	n, err := h.Number()
	c.put(g)
	return n, err
}

// WhoAmI returns the identities of the current connection, in no defined order: those added by Auth and AddAuth, and the
// address. The slice is the caller's. It needs servers of 3.7, which the option MinServer has to promise.
func (c *Client) WhoAmI(ctx context.Context) ([]Identity, error) {
	g, err := c.take("whoAmI", "")
	if err != nil {
		return nil, err
	}
	h := g.WhoAmI()
	g.run(ctx)
	ids, err := h.Identities()
	c.put(g)
	return ids, err
}

// CheckWatches asks the server whether the current connection has watches of this type on path; that it has none is no
// error. Servers before 3.9 find a persistent watch by WatcherAny only. A type that is none gives ErrWatcherType.
func (c *Client) CheckWatches(ctx context.Context, path string, t WatcherType) (bool, error) {
	g, err := c.take("checkWatches", path)
	if err != nil {
		return false, err
	}
	h := g.CheckWatches(path, t)
	g.run(ctx)
	found, err := h.Found()
	c.put(g)
	return found, err
}

// GetEphemerals adds the listing of the session's ephemeral znodes. See Client.GetEphemerals.
func (g *Group) GetEphemerals(prefix string) EphemeralsCall {
	c, ok := g.add(proto.OpGetEphemerals, prefix, g.allowed(proto.OpGetEphemerals, proto.ValidatePath(prefix)))
	if ok {
		c.end(proto.AppendPath(g.g.Begin(proto.OpGetEphemerals), g.cl.chroot, prefix), nil)
	}
	return EphemeralsCall{c}
}

// GetAllChildrenNumber adds the counting of a tree. See Client.GetAllChildrenNumber.
func (g *Group) GetAllChildrenNumber(path string) AllChildrenNumberCall {
	c, ok := g.add(proto.OpGetAllChildrenNumber, path, g.allowed(proto.OpGetAllChildrenNumber, proto.ValidatePath(path)))
	if ok {
		c.end(proto.AppendPath(g.g.Begin(proto.OpGetAllChildrenNumber), g.cl.chroot, path), nil)
	}
	return AllChildrenNumberCall{c}
}

// WhoAmI adds the question for the connection's identities. See Client.WhoAmI.
func (g *Group) WhoAmI() WhoAmICall {
	c, ok := g.add(proto.OpWhoAmI, "", g.allowed(proto.OpWhoAmI, nil))
	if ok {
		c.end(g.g.Begin(proto.OpWhoAmI), nil)
	}
	return WhoAmICall{c}
}

// CheckWatches adds the question for watches. See Client.CheckWatches.
func (g *Group) CheckWatches(path string, t WatcherType) CheckWatchesCall {
	c, ok := g.add(proto.OpCheckWatches, path, g.checkWatcher(proto.OpCheckWatches, path, t))
	if ok {
		c.end(proto.AppendVersioned(g.g.Begin(proto.OpCheckWatches), g.cl.chroot, path, int32(t)), nil)
	}
	return CheckWatchesCall{c}
}

// checkWatcher validates what op says about watches.
func (g *Group) checkWatcher(op proto.Op, path string, t WatcherType) error {
	if t < WatcherChildren || t > WatcherPersistentRecursive {
		return ErrWatcherType
	}
	if err := proto.ValidatePath(path); err != nil || g == nil || g.cl == nil {
		return err
	}
	return g.cl.needsWatcher(op, t)
}

// EphemeralsCall is the handle of a GetEphemerals in a Group.
type EphemeralsCall struct{ c call }

// Paths returns the paths, in no defined order. The slice is the caller's, and nil if there are none.
func (h EphemeralsCall) Paths() ([]string, error) {
	gc, r, err := h.c.reply()
	if err != nil {
		return nil, err
	}
	chroot := h.c.g.cl.chroot
	top := proto.JoinChroot(chroot, gc.path)
	var paths []string
	s := proto.NewChildScanner(r.Rest())
	for name, ok := s.Next(); ok; name, ok = s.Next() {
		if path := string(name); isBelow(path, top) && proto.HasName(chroot, path) {
			paths = append(paths, proto.StripChroot(chroot, path))
		}
	}
	if err := s.Err(); err != nil {
		return nil, gc.malformed(err)
	}
	return paths, nil
}

// Err returns nil if the server has answered.
func (h EphemeralsCall) Err() error { return h.c.err() }

// isBelow reports whether path is top or below it.
func isBelow(path, top string) bool {
	rest, ok := strings.CutPrefix(path, top)
	return ok && (rest == "" || rest[0] == '/' || top == "/")
}

// AllChildrenNumberCall is the handle of a GetAllChildrenNumber in a Group.
type AllChildrenNumberCall struct{ c call }

// Number returns how many znodes there are below the one asked about.
func (h AllChildrenNumberCall) Number() (int, error) {
	gc, r, err := h.c.reply()
	if err != nil {
		return 0, err
	}
	n := r.Int()
	if err := r.Err(); err != nil {
		return 0, gc.malformed(err)
	}
	return int(n), nil
}

// WhoAmICall is the handle of a WhoAmI in a Group.
type WhoAmICall struct{ c call }

// Identities returns the identities, in no defined order. The slice is the caller's.
func (h WhoAmICall) Identities() ([]Identity, error) {
	gc, r, err := h.c.reply()
	if err != nil {
		return nil, err
	}
	var rep proto.WhoAmIResponse
	rep.ReadFrom(&r)
	if err := r.Err(); err != nil {
		return nil, gc.malformed(err)
	}
	ids := make([]Identity, len(rep.ClientInfo))
	for i, info := range rep.ClientInfo {
		ids[i] = Identity{Scheme: info.AuthScheme, User: info.User}
	}
	return ids, nil
}

// CheckWatchesCall is the handle of a CheckWatches in a Group.
type CheckWatchesCall struct{ c call }

// Found returns whether there are such watches.
func (h CheckWatchesCall) Found() (bool, error) {
	err := h.c.err()
	if err != nil && h.c.rejectedWith(proto.ErrNoWatcher) {
		return false, nil
	}
	return err == nil, err
}
