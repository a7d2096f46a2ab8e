package client

import (
	"context"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
)

// CreateTTL is Create for znodes with a time to live: mode is ModePersistentTTL or ModePersistentSequentialTTL. A server removes
// the znode when it has had no change for ttl, and no children; it looks once a minute unless configured otherwise. ttl is
// sent in milliseconds, rounded up: from 1 ms to about 34 years; anything else, and any other mode, gives a *TTLError and
// is not sent. Servers without extendedTypesEnabled=true answer ErrUnimplemented. (docs/protocol.md section 8.)
func (c *Client) CreateTTL(ctx context.Context, path string, data []byte, mode CreateMode, ttl time.Duration, acl []ACL) (string, Stat, error) {
	g, err := c.take("create", path)
	if err != nil {
		return "", Stat{}, err
	}
	h := g.CreateTTL(path, data, mode, ttl, acl)
	g.run(ctx)
	created, st, err := h.Path()
	c.put(g)
	return created, st, err
}

// CreateTTL adds the creation of a znode with a time to live. See Client.CreateTTL.
func (g *Group) CreateTTL(path string, data []byte, mode CreateMode, ttl time.Duration, acl []ACL) CreateCall {
	ms := milliseconds(ttl)
	c, ok := g.add(proto.OpCreateTTL, path, g.allowed(proto.OpCreateTTL, checkCreateTTL(path, mode, ms)))
	if !ok {
		return CreateCall{c}
	}
	if acl == nil {
		acl = g.cl.acl
	}
	req := proto.CreateTTLRequest{Path: path, Data: data, ACL: acl, Flags: int32(mode), TTL: ms}
	// What could be refused here was refused above. If not, the session would not let a createTTL without a record pass.
	b, _ := proto.AppendCreateTTL(g.g.Begin(proto.OpCreateTTL), g.cl.chroot, &req)
	c.end(b, nil)
	return CreateCall{c}
}

// CreateTTLOp creates a znode with a time to live, as Client.CreateTTL does.
func CreateTTLOp(path string, data []byte, mode CreateMode, ttl time.Duration, acl []ACL) Op {
	return Op{op: proto.OpCreateTTL, path: path, data: data, acl: acl, mode: mode, timed: true, ttl: milliseconds(ttl)}
}

// milliseconds returns d in milliseconds. A fraction counts as a whole one: the znode should not go before its time.
func milliseconds(d time.Duration) int64 {
	ms := d.Milliseconds()
	if d > 0 && d%time.Millisecond != 0 {
		ms++
	}
	return ms
}

// checkCreateTTL validates everything that decides about a createTTL, before any of it is built (docs/protocol.md section 21).
func checkCreateTTL(path string, mode CreateMode, ms int64) error {
	if err := proto.CheckTTL(mode, ms); err != nil {
		return err
	}
	return checkName(path, mode)
}
