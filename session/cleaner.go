package session

import (
	"bytes"
	"context"
	"sync"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// Cleanup is one deletion in the hands of a session's cleaner. The zero value is ready for Session.Delete or
// Session.DeleteMatching or Session.DeleteFixed, of which one may be called, once.
type Cleanup struct {
	Owner Owner // told when the cleanup is done, if not nil; set before it starts

	matching  bool // it is looked for what to delete
	searching bool // the group in flight is the search
	lost      bool // a delete has been lost: "no node" may be its own work
	hit       bool // the search has found something before
	over      bool // done; guarded by mu
	told      bool // and the owner knows; guarded by mu

	s    *Session
	g    *Group
	path string   // what to delete, or where to look for it
	more *special // nil for a znode that is known by its path

	mu   sync.Mutex    // guards what follows; innermost
	err  error         // valid when over
	done chan struct{} // made on demand, closed when over
}

// special is what only some Cleanups need. It is apart because there is a Cleanup in each lease.
type special struct {
	prefix string        // of the names of what is looked for
	mine   *mine         // of DeleteMine, else nil
	fixed  *fixedCleanup // of DeleteFixed, else nil
}

func (c *Cleanup) mine() *mine {
	if c.more == nil {
		return nil
	}
	return c.more.mine
}

func (c *Cleanup) fixed() *fixedCleanup {
	if c.more == nil {
		return nil
	}
	return c.more.fixed
}

// Owner is told of the end of a Cleanup. CleanupDone is called on the session's goroutines, before anybody who waits is
// woken; it must not block, and it is for the packages of this module, not for user code.
type Owner interface{ CleanupDone() }

// Delete starts the deletion of path, as sent to the server. g is a group to use for it, nil for a new one; it comes back
// with TakeGroup. Delete does not block.
func (s *Session) Delete(c *Cleanup, path string, g *Group) {
	c.s, c.path, c.g = s, path, g
	s.cleaner.start(c)
}

// DeleteMatching starts the deletion of every child of dir whose name begins with prefix: what a create with an unknown
// outcome may have left. A sync goes ahead of each search, since the server that answers it may be behind
// (docs/locks.md A10 rule 10).
func (s *Session) DeleteMatching(c *Cleanup, dir, prefix string) {
	c.s, c.path, c.matching, c.more = s, dir, true, &special{prefix: prefix}
	s.cleaner.start(c)
}

// DeleteMine starts the deletion of node, unless it is empty, and of every child of dir that a create with an unknown outcome
// may have left where the name does not tell whose it is: whose name begins with prefix, which belongs to this session, and
// whose data ends in mark. It looks as DeleteMatching does, and reads what the name may be of. One that may not be read is left
// alone, and is the result if nothing else is amiss.
func (s *Session) DeleteMine(c *Cleanup, dir, prefix, mark, node string) {
	c.s, c.path, c.matching, c.more = s, dir, true, &special{prefix: prefix, mine: &mine{mark: mark, node: node}}
	s.cleaner.start(c)
}

// CleanupsPending returns the number of cleanups that are not done.
func (s *Session) CleanupsPending() int {
	s.cleaner.mu.Lock()
	defer s.cleaner.mu.Unlock()
	return s.cleaner.n
}

func (cl *cleaner) start(c *Cleanup) {
	if c.g == nil {
		c.g = NewGroup()
	}
	cl.mu.Lock()
	cl.n++
	n := cl.n
	cl.mu.Unlock()
	cl.s.traceCleanups(n)
	cl.send(c)
}

func (c *Cleanup) group() *Group { return c.g }

func (c *Cleanup) end(err error) { c.s.cleaner.finish(c, err) }

// prepare builds the next request.
func (c *Cleanup) prepare() {
	g := c.g
	g.Reset()
	if c.fixed() != nil {
		c.prepareFixed()
		return
	}
	c.searching = c.matching
	if !c.searching {
		appendDelete(g, c.path)
		return
	}
	if c.mine() != nil {
		c.mine().begin(g)
	}
	c.appendSearch()
}

func (c *Cleanup) appendSearch() {
	g := c.g
	g.End((&proto.SyncRequest{Path: c.path}).AppendTo(g.Begin(proto.OpSync)), nil)
	g.End((&proto.GetChildrenRequest{Path: c.path}).AppendTo(g.Begin(proto.OpGetChildren)), nil)
}

func appendDelete(g *Group, path string) {
	b := jute.AppendString(g.Begin(proto.OpDelete), path)
	g.End(jute.AppendInt(b, -1), nil)
}

// receive takes the group that has come back. It runs on the session's goroutines.
func (c *Cleanup) receive(g *Group) {
	cl := &c.s.cleaner
	last := len(g.calls) - 1
	o, err := g.Result(last)
	switch {
	case o == Unknown && err == ErrConnectionLoss && c.lost:
		c.fixed().lose()
		cl.later(c) // it may be the request that breaks the connection, so do not ask for the next one at full speed
	case o == Unknown && err == ErrConnectionLoss:
		c.lost = true
		c.fixed().lose()
		cl.park(c)
	case c.mine() != nil && c.mine().reading > 0:
		c.judge()
	case o == NotSent, o == Unknown:
		cl.finish(c, err)
	case err == error(proto.ErrThrottled):
		cl.later(c)
	case c.fixed() != nil:
		c.receiveFixed(err)
	case c.searching && o == Replied:
		switch err := c.refused(); err {
		case nil:
			c.found(g.Body(last))
		case error(proto.ErrThrottled):
			cl.later(c)
		default:
			cl.finish(c, err)
		}
	case err == error(proto.ErrNoNode) && (c.lost || c.searching || c.matching):
		cl.finish(c, nil)
	default:
		cl.finish(c, err)
	}
}

// refused returns why a request ahead of the search was refused: a deletion would be again, for ever, and without the sync the
// server may be behind. Of several reasons the one that is not the server's load counts.
func (c *Cleanup) refused() (busy error) {
	for i := range c.g.calls {
		switch o, err := c.g.Result(i); {
		case o != Rejected || err == error(proto.ErrNoNode):
		case err == error(proto.ErrThrottled):
			busy = err
		default:
			return err
		}
	}
	return busy
}

// found takes the answer to a search: the matching children are deleted one after another, the search is repeated until
// none is left.
func (c *Cleanup) found(body []byte) {
	cl := &c.s.cleaner
	r := jute.NewReader(body)
	n, _ := r.Count(4)
	var hits []string
	for range n {
		if name := r.StringBytes(); bytes.HasPrefix(name, []byte(c.more.prefix)) {
			hits = append(hits, string(name))
		}
	}
	switch {
	case r.Err() != nil:
		cl.finish(c, r.Err())
	case c.mine() != nil:
		c.hit = c.hit || c.mine().deleted(c.g)
		c.mine().candidates, c.mine().refused = hits, nil
		c.readNext()
	default:
		c.remove(hits)
	}
}

// remove deletes what a search has come to, and searches again; if that is nothing the cleanup is done.
func (c *Cleanup) remove(hits []string) {
	cl := &c.s.cleaner
	if len(hits) == 0 {
		var err error
		switch {
		case c.mine() != nil && c.mine().refused != nil:
			err = c.mine().refused
		case !c.hit && !c.lost:
			err = proto.ErrNoNode
		}
		cl.finish(c, err)
		return
	}
	c.hit = true
	g := c.g
	g.Reset()
	for _, name := range hits {
		appendDelete(g, join(c.path, name))
	}
	c.appendSearch()
	cl.enqueue(c)
}

func join(dir, name string) string {
	if dir == "/" {
		return dir + name
	}
	return dir + "/" + name
}

// finish makes c done.
func (cl *cleaner) finish(c *Cleanup, err error) {
	cl.mu.Lock()
	cl.n--
	n := cl.n
	cl.mu.Unlock()
	cl.s.traceCleanups(n)
	c.mu.Lock()
	c.over, c.err = true, err
	c.mu.Unlock()
	if c.Owner != nil {
		c.Owner.CleanupDone()
	}
	c.mu.Lock()
	c.told = true
	if c.done != nil {
		close(c.done)
	}
	c.mu.Unlock()
}

// TakeGroup returns the group that a cleanup which is done has used, for another use; nil before.
func (c *Cleanup) TakeGroup() *Group {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		return nil
	}
	g := c.g
	c.g = nil
	return g
}

// Done returns a channel that is closed when the cleanup is done.
func (c *Cleanup) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.told {
			close(c.done)
		}
	}
	return c.done
}

// Result says whether the cleanup is done, and how: nil when the znode is gone by its doing, or may be, proto.ErrNoNode when
// there was none, the reason of the session's end, or the server's refusal.
func (c *Cleanup) Result() (done bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over, c.err
}

// Wait waits for the end of the cleanup or of the context, whose error it then returns; the cleanup goes on.
func (c *Cleanup) Wait(ctx context.Context) error {
	if done, err := c.Result(); done {
		return err
	}
	select {
	case <-c.Done():
		_, err := c.Result()
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
