package client

import (
	"context"
	"errors"
)

// CreateAll is Create that makes the missing parents first, as persistent znodes without data. They get the client's
// DefaultACL and not acl, which may not even allow the znode itself to be created below them.
//
// The create goes first, so that no rights on the parents are needed if they exist; only when it fails with ErrNoNode all
// levels and the znode follow, in one round trip. A level that exists already is fine, whether the server says so or says
// that it may not be created; a level that somebody deletes at the same time is made again, ten times at most. If the path
// cannot be completed, the error is why: that of the level that the server refused, or that the parent is missing. The
// levels that were made stay. The chroot itself is not created: without it the error matches ErrNoNode.
func (c *Client) CreateAll(ctx context.Context, path string, data []byte, mode CreateMode, acl []ACL) (string, Stat, error) {
	created, st, err := c.Create(ctx, path, data, mode, acl)
	if !errors.Is(err, ErrNoNode) {
		return created, st, err
	}
	g := c.Group()
	for range maxRaces {
		levels := addLevels(g, path)
		h := g.Create(path, data, mode, acl)
		g.run(ctx)
		created, st, err = h.Path()
		if !errors.Is(err, ErrNoNode) {
			return created, st, err
		}
		if len(levels) == 0 {
			break // without a parent of its own there is nothing to make: the chroot is missing
		}
		if why := refusedLevel(levels); why != nil {
			return "", Stat{}, why
		}
	}
	return "", Stat{}, err
}

// addLevels adds the creation of every level above path, from the top down.
func addLevels(g *Group, path string) []CreateCall {
	var levels []CreateCall
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			levels = append(levels, g.Create(path[:i], []byte{}, ModePersistent, nil))
		}
	}
	return levels
}

// refusedLevel returns why the parents of a znode could not be made, if trying again is of no use: a level that is not there
// was refused, or the chroot is missing.
func refusedLevel(levels []CreateCall) error {
	for i, h := range levels {
		err := h.Err()
		switch {
		case err == nil, errors.Is(err, ErrNodeExists):
		case errors.Is(err, ErrNoNode):
			if i == 0 {
				return err
			}
		case i+1 == len(levels) || errors.Is(levels[i+1].Err(), ErrNoNode):
			return err // otherwise it is there all the same, since the next one has a parent
		}
	}
	return nil
}
