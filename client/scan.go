package client

import (
	"context"

	"github.com/lockkeeper/lockkeeper/proto"
)

// ScanChildren calls f with the name of each child of a znode, in no defined order, until f returns false, and returns the
// Stat of the znode. It is Children without the memory: the names lie in the reply, nothing is copied, and however many there
// are, nothing is allocated once the client has memory for a reply of that size. f runs on the caller's goroutine after the
// whole reply has arrived; it must neither keep name nor write to it, and may use the client. After an error f has not been
// called, unless the reply makes no sense further on: then the error matches *jute.DecodeError.
func (c *Client) ScanChildren(ctx context.Context, path string, f func(name []byte) bool) (Stat, error) {
	g, err := c.take("children", path)
	if err != nil {
		return Stat{}, err
	}
	h := g.Children(path)
	g.run(ctx)
	st, err := h.scan(f)
	c.put(g)
	return st, err
}

// scan calls f with each name, until it returns false, and returns the Stat behind them.
func (h ChildrenCall) scan(f func(name []byte) bool) (Stat, error) {
	gc, r, err := h.c.reply()
	if err != nil {
		return Stat{}, err
	}
	s := proto.NewChildScanner(r.Rest())
	for name, ok := s.Next(); ok; name, ok = s.Next() {
		if f != nil && !f(name) {
			break
		}
	}
	st := s.Stat()
	if err := s.Err(); err != nil {
		return Stat{}, gc.malformed(err)
	}
	return st, nil
}
