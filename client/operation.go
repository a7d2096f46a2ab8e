package client

import "context"

// Create creates a znode and returns its path, which differs from the given one for sequential modes, and its Stat. data may be
// nil, which ZooKeeper keeps apart from empty. acl nil means the client's DefaultACL; an empty list is refused by the server.
// data and acl are not kept. The parent must exist, else the error matches ErrNoNode. For sequential modes the path may end
// in a slash: the name is then the number alone. A TTL mode gives a *ModeError: see CreateTTL. (ZooKeeper.create with Stat in Java:
// docs/protocol.md section 8.)
func (c *Client) Create(ctx context.Context, path string, data []byte, mode CreateMode, acl []ACL) (string, Stat, error) {
	g, err := c.take("create", path)
	if err != nil {
		return "", Stat{}, err
	}
	h := g.Create(path, data, mode, acl)
	g.run(ctx)
	created, st, err := h.Path()
	c.put(g)
	return created, st, err
}

// Get returns the data of a znode, which is the caller's, and its Stat. The data is nil if it is null on the server.
func (c *Client) Get(ctx context.Context, path string) ([]byte, Stat, error) {
	return c.GetInto(ctx, path, nil)
}

// GetInto is Get with a buffer: the data is appended to buf[:0], and nothing is allocated if it fits. After an error the
// slice is buf[:0].
func (c *Client) GetInto(ctx context.Context, path string, buf []byte) ([]byte, Stat, error) {
	g, err := c.take("get", path)
	if err != nil {
		return buf[:0], Stat{}, err
	}
	h := g.Get(path, buf)
	g.run(ctx)
	data, st, err := h.Data()
	c.put(g)
	return data, st, err
}

// Set replaces the data of a znode, if it has this version, and returns its new Stat; the error matches ErrBadVersion if it
// has another one. AnyVersion replaces it whatever its version. data is not kept.
func (c *Client) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	g, err := c.take("set", path)
	if err != nil {
		return Stat{}, err
	}
	h := g.Set(path, data, version)
	g.run(ctx)
	st, err := h.Stat()
	c.put(g)
	return st, err
}

// Delete deletes a znode without children, if it has this version or version is AnyVersion.
func (c *Client) Delete(ctx context.Context, path string, version int32) error {
	g, err := c.take("delete", path)
	if err != nil {
		return err
	}
	h := g.Delete(path, version)
	g.run(ctx)
	err = h.Err()
	c.put(g)
	return err
}

// Exists returns the Stat of a znode and whether it exists. That it does not is no error.
func (c *Client) Exists(ctx context.Context, path string) (Stat, bool, error) {
	g, err := c.take("exists", path)
	if err != nil {
		return Stat{}, false, err
	}
	h := g.Exists(path)
	g.run(ctx)
	st, ok, err := h.Stat()
	c.put(g)
	return st, ok, err
}

// Children returns the names of a znode's children, not their paths, in no defined order, and the Stat of the znode itself.
// The slice is the caller's. A long list may exceed the ReceiveLimit.
func (c *Client) Children(ctx context.Context, path string) ([]string, Stat, error) {
	g, err := c.take("children", path)
	if err != nil {
		return nil, Stat{}, err
	}
	h := g.Children(path)
	g.run(ctx)
	names, st, err := h.Names()
	c.put(g)
	return names, st, err
}

// GetACL returns the access list of a znode, which is the caller's, and the znode's Stat. Without PermAdmin the server hides
// the digests in it.
func (c *Client) GetACL(ctx context.Context, path string) ([]ACL, Stat, error) {
	g, err := c.take("getACL", path)
	if err != nil {
		return nil, Stat{}, err
	}
	h := g.GetACL(path)
	g.run(ctx)
	acl, st, err := h.ACL()
	c.put(g)
	return acl, st, err
}

// SetACL replaces the access list of a znode, if the list has this version, which is Stat.Aversion, or aversion is
// AnyVersion. There is no default here: a nil or empty list is refused by the server. acl is not kept.
func (c *Client) SetACL(ctx context.Context, path string, acl []ACL, aversion int32) (Stat, error) {
	g, err := c.take("setACL", path)
	if err != nil {
		return Stat{}, err
	}
	h := g.SetACL(path, acl, aversion)
	g.run(ctx)
	st, err := h.Stat()
	c.put(g)
	return st, err
}

// Sync makes the client's server catch up with the leader: a read that is made after Sync has begun, by this client, sees
// everything that was committed when the leader handled it. The path is checked, and otherwise of no importance. A Group
// with Sync and the read in it costs one round trip.
func (c *Client) Sync(ctx context.Context, path string) error {
	g, err := c.take("sync", path)
	if err != nil {
		return err
	}
	h := g.Sync(path)
	g.run(ctx)
	err = h.Err()
	c.put(g)
	return err
}

// Multi applies all ops, in their order and in one transaction, or none of them. If one fails, the error holds a
// *MultiError, matches the code of that op, and the results are still returned. Without ops nothing is sent. All ops
// together must fit into the SendLimit.
func (c *Client) Multi(ctx context.Context, ops ...Op) ([]OpResult, error) {
	g, err := c.take("multi", "")
	if err != nil {
		return nil, err
	}
	h := g.Multi(ops...)
	g.run(ctx)
	results, err := h.Results()
	c.put(g)
	return results, err
}
