package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
)

func helperEntries() []entry {
	return []entry{
		{"trees", "a tree made with its parents, walked, counted and deleted, in bounded batches", nil, trees},
		{"upserts", "create-or-set: creates, then sets, also when many do it at once", nil, createOrSet},
		{"protected", "a protected create whose reply is lost is found again, and is there once", nil, protectedCreate},
		{"scans", "children scanned inside a long reply, data read into the caller's buffer", nil, scans},
	}
}

// trees makes 10 x 10 x 10 znodes below a path whose parents are missing.
func trees(e *env) {
	c, tp := e.client()
	path, _, err := c.CreateAll(e.ctx, "/deep/down/tree", []byte("x"), client.ModePersistent, nil)
	e.must(err)
	equal(e, "path", path, "/deep/down/tree")
	_, _, err = c.CreateAll(e.ctx, "/deep/down/tree", nil, client.ModePersistent, nil)
	e.fails("a second time", err, client.ErrNodeExists)
	const width = 10
	g := c.Group()
	level := []string{path}
	want := []string{path}
	for range 3 {
		var next []string
		for _, dir := range level {
			for i := range width {
				next = append(next, fmt.Sprintf("%s/%d", dir, i))
				g.Create(next[len(next)-1], nil, client.ModePersistent, nil)
			}
		}
		e.must(g.Do(e.ctx))
		want = append(want, next...)
		level = next
	}
	slices.Sort(want)
	var got []string
	for node, err := range c.Walk(e.ctx, path) {
		e.must(err)
		got = append(got, node.Path)
	}
	if !slices.IsSorted(got) || !slices.Equal(got, want) {
		e.Errorf("walk: %d znodes, sorted %v; want %d", len(got), slices.IsSorted(got), len(want))
	}
	n, err := c.GetAllChildrenNumber(e.ctx, path)
	e.must(err)
	equal(e, "number", n, len(want)-1)
	e.must(c.DeleteAll(e.ctx, "/deep"))
	equal(e, "deletes on the wire", len(tp.frames(sent(proto.OpDelete))), len(want)+2)
	e.fails("what is gone", c.DeleteAll(e.ctx, "/deep"), client.ErrNoNode)
	e.fails("the root", c.DeleteAll(e.ctx, "/"), client.ErrProtected)
}

func createOrSet(e *env) {
	c, _ := e.client()
	other, _ := e.client()
	_, created, err := c.CreateOrSet(e.ctx, "/v", []byte("one"), nil)
	e.must(err)
	equal(e, "created", created, true)
	st, created, err := other.CreateOrSet(e.ctx, "/v", []byte("two"), nil)
	e.must(err)
	equal(e, "created the second time", created, false)
	equal(e, "version", st.Version, 1)
	results := make([]<-chan error, 20)
	for i := range results {
		cl := []*client.Client{c, other}[i%2]
		results[i] = e.spawn(func() error { _, _, err := cl.CreateOrSet(e.ctx, "/w", []byte("x"), nil); return err })
	}
	for _, r := range results {
		e.must(e.result(r))
	}
	st, _, err = c.Exists(e.ctx, "/w")
	e.must(err)
	equal(e, "version", int(st.Version), len(results)-1)
	_, _, err = c.CreateOrSet(e.ctx, "/none/v", nil, nil)
	e.fails("without a parent", err, client.ErrNoNode)
}

func protectedCreate(e *env) {
	c, tp := e.client()
	for _, mode := range []client.CreateMode{client.ModePersistent, client.ModeEphemeralSequential, client.ModeEphemeral} {
		dir := fmt.Sprintf("/%d", mode)
		_, _, err := c.Create(e.ctx, dir, nil, client.ModePersistent, nil)
		e.must(err)
		tp.on(replied(proto.OpCreate2), drop|cut)
		path, st, err := c.CreateProtected(e.ctx, dir+"/n-", []byte("x"), mode, nil)
		e.must(err)
		names, _, err := c.Children(e.ctx, dir)
		e.must(err)
		equal(e, "znodes", len(names), 1)
		equal(e, "path", path, dir+"/"+names[0])
		if !strings.HasPrefix(names[0], "_c_") {
			e.Errorf("name %s is not protected", names[0])
		}
		equal(e, "is ours", st.EphemeralOwner == c.SessionID(), mode.IsEphemeral())
	}
}

func scans(e *env) {
	const n = 20_000
	c, _ := e.client()
	g := c.Group()
	for i := range n {
		g.Create(fmt.Sprintf("/%06d-%s", i, strings.Repeat("x", 60)), nil, client.ModePersistent, nil)
		if i%1000 == 999 {
			e.must(g.Do(e.ctx))
		}
	}
	seen, sum := 0, 0
	st, err := c.ScanChildren(e.ctx, "/", func(name []byte) bool {
		seen++
		sum += len(name)
		return true
	})
	e.must(err)
	equal(e, "children", []int{seen, sum, int(st.NumChildren)}, []int{n, n * 67, n})
	buf := make([]byte, 0, 64)
	data, _, err := c.GetInto(e.ctx, "/none", buf)
	e.fails("get", err, client.ErrNoNode)
	equal(e, "length after an error", len(data), 0)
	_, err = c.Set(e.ctx, "/", []byte("into the buffer"), client.AnyVersion)
	e.must(err)
	data, _, err = c.GetInto(e.ctx, "/", buf)
	e.must(err)
	equal(e, "data", string(data), "into the buffer")
	equal(e, "in the caller's buffer", &data[0] == &buf[:1][0], true)
	e.must(c.DeleteAll(e.ctx, e.one(c)))
}

// one returns the path of some child, so that there is a use for what was made.
func (e *env) one(c *client.Client) string {
	e.Helper()
	path := ""
	_, err := c.ScanChildren(e.ctx, "/", func(name []byte) bool {
		path = "/" + string(name)
		return false
	})
	e.must(err)
	if path == "" {
		e.Fatal(errors.New("no child"))
	}
	return path
}
