package conformance

import (
	"errors"
	"fmt"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/conn"
)

func limitEntries() []entry {
	return []entry{
		{"C16 C23", "a directory of 20,000 children, too large for one client, is read and deleted by another with a higher limit", nil, crowdedDirectory},
	}
}

func crowdedDirectory(e *env) {
	const children, batch = 20_000, 1_000
	const limit = 64 << 10 // the list has five times as much
	maker, _ := e.client()
	_, _, err := maker.Create(e.ctx, "/crowd", nil, client.ModePersistent, nil)
	e.must(err)
	for from := 0; from < children; from += batch {
		ops := make([]client.Op, batch)
		for i := range ops {
			ops[i] = client.CreateOp(fmt.Sprintf("/crowd/child-%05d", from+i), nil, client.ModePersistent, nil)
		}
		_, err := maker.Multi(e.ctx, ops...)
		e.must(err)
	}

	c, tp := e.client(client.ReceiveLimit(limit))
	g := c.Group()
	before, list, after := g.Exists("/crowd"), g.Children("/crowd"), g.Exists("/crowd")
	_ = g.Do(e.ctx) // the first error, which the handle tells too
	for _, h := range []client.ExistsCall{before, after} {
		st, ok, err := h.Stat()
		e.must(err)
		equal(e, "found", ok, true)
		equal(e, "children", st.NumChildren, children)
	}
	_, _, err = list.Names()
	tooLarge(e, "the list in a group", err, limit)
	_, _, err = c.Children(e.ctx, "/crowd")
	tooLarge(e, "the list", err, limit)
	err = c.DeleteAll(e.ctx, "/crowd")
	tooLarge(e, "deleteAll", err, limit)
	var remains *client.DeleteAllError
	if !errors.As(err, &remains) || remains.Path != "/crowd" || remains.Deleted != 0 {
		e.Errorf("deleteAll: %v", err)
	}
	_, conns := tp.counts()
	equal(e, "connections", conns, 1)

	wide, _ := e.client(client.ReceiveLimit(1 << 20))
	names, _, err := wide.Children(e.ctx, "/crowd")
	e.must(err)
	equal(e, "names", len(names), children)
	e.must(wide.DeleteAll(e.ctx, "/crowd"))
	_, ok, err := wide.Exists(e.ctx, "/crowd")
	e.must(err)
	equal(e, "the directory is there", ok, false)
}

// tooLarge checks the error of a read whose reply is over the limit.
func tooLarge(e *env, what string, err error, limit int64) {
	e.Helper()
	var large *conn.TooLargeError
	if !errors.As(err, &large) || large.Limit != limit || large.Length <= limit {
		e.Fatalf("%s: %v", what, err)
	}
	if client.MaybeApplied(err) {
		e.Errorf("%s: %v may have been applied", what, err)
	}
}
