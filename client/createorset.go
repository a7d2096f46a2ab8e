package client

import (
	"context"
	"errors"
)

// maxRaces is how often an operation of several requests begins again because others interfere.
const maxRaces = 10

// CreateOrSet makes data the data of a znode: it replaces the data, or creates a persistent znode if there is none, and says
// which. acl is for the creation, nil means the client's DefaultACL; the access list of a znode that exists stays. The parent
// must exist, else the error matches ErrNoNode. It takes one round trip if the znode exists and two otherwise. Others that
// create and delete the znode at the same time make it begin again, ten times at most; then the error is that of the last
// attempt. Of an attempt that may have been applied (MaybeApplied) only the same data can have come.
func (c *Client) CreateOrSet(ctx context.Context, path string, data []byte, acl []ACL) (st Stat, created bool, err error) {
	for range maxRaces {
		st, err = c.Set(ctx, path, data, AnyVersion)
		if !errors.Is(err, ErrNoNode) {
			return st, false, err
		}
		_, st, err = c.Create(ctx, path, data, ModePersistent, acl)
		if !errors.Is(err, ErrNodeExists) {
			return st, err == nil, err
		}
	}
	return Stat{}, false, err
}
