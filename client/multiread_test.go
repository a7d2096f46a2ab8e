package client_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestMultiRead(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		for _, path := range []string{"/app", "/app/a", "/app/a/x", "/app/a/y"} {
			create(t, srv, path, "data of "+path)
		}
		c, ctx := connectTo(t, srv, "zk/app"), t.Context()
		res, err := c.MultiRead(ctx, client.GetOp("/a"), client.ChildrenOp("/a"), client.GetOp("/missing"), client.ChildrenOp("/missing"),
			client.ChildrenOp("/a/x"), client.GetOp("/"))
		must(t, err)
		equal(t, "results", len(res), 6)
		_, want, err := srv.Get("/app/a")
		must(t, err)
		equal(t, "data", string(res[0].Data), "data of /app/a")
		equal(t, "stat", res[0].Stat, want)
		slices.Sort(res[1].Children)
		equal(t, "children", res[1].Children, []string{"x", "y"})
		equal(t, "no children", res[4].Children, []string{})
		equal(t, "data of the root", string(res[5].Data), "data of /app")
		for i, want := range []error{nil, nil, client.ErrNoNode, client.ErrNoNode, nil, nil} {
			if !errors.Is(res[i].Err, want) || want == nil && res[i].Err != nil {
				t.Errorf("error %d is %v, want %v", i, res[i].Err, want)
			}
		}
		equal(t, "path", res[2], client.ReadResult{Path: "/missing", Err: client.ErrNoNode})

		before := srv.Snapshot().Requests
		res, err = c.MultiRead(ctx)
		must(t, err)
		equal(t, "results of nothing", len(res), 0)
		equal(t, "requests", srv.Snapshot().Requests, before)
	})
}

// What failed alone is no error of the group.
func TestMultiReadInAGroup(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a", "one")
		c, ctx := connect(t, srv), t.Context()
		g := c.Group()
		for _, data := range []string{"one", "two"} {
			must(t, srv.Set("/a", []byte(data)))
			first, multi, second := g.MultiRead(client.GetOp("/a")), g.Multi(client.CheckOp("/a", client.AnyVersion)), g.MultiRead(client.GetOp("/missing"), client.GetOp("/a"))
			must(t, g.Do(ctx))
			res, err := first.Results()
			must(t, err)
			equal(t, "data", string(res[0].Data), data)
			_, err = multi.Results()
			must(t, err)
			res, err = second.Results()
			must(t, err)
			must(t, second.Err())
			equal(t, "error", res[0].Err, error(client.ErrNoNode))
			equal(t, "data", string(res[1].Data), data)
		}
	})
}

func TestMultiReadThatCannotBeSent(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		before := srv.Snapshot().Requests
		_, err := c.MultiRead(ctx, client.GetOp("/a"), client.ChildrenOp("a"))
		var multi *client.MultiError
		var path *client.PathError
		if !errors.As(err, &multi) || multi.Index != 1 || multi.Op != "children" || !errors.As(err, &path) {
			t.Errorf("a bad path: %v", err)
		}
		outcome(t, err, client.OutcomeNotSent, false)
		_, err = c.MultiRead(ctx, client.ReadOp{})
		wantErr(t, err, client.ErrZeroValue)
		equal(t, "requests", srv.Snapshot().Requests, before)
		_, err = (*client.Client)(nil).MultiRead(ctx, client.GetOp("/a"))
		wantErr(t, err, client.ErrZeroValue)
	})
}

// A server that refuses the whole sends a body with the error, which means nothing (docs/protocol.md section 5).
func TestMultiReadRefusedWithABody(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a", "")
		c, ctx := connect(t, srv), t.Context()
		srv.Corrupt(zktest.Match{Op: proto.OpMultiRead}, func(b []byte) []byte {
			b = frame(b, []byte{255, 255, 255, 255, 1, 255, 255, 255, 255})
			code := int32(proto.ErrMarshalling)
			binary.BigEndian.PutUint32(b[4+12:], uint32(code))
			return b
		})
		res, err := c.MultiRead(ctx, client.GetOp("/a"))
		wantErr(t, err, client.ErrMarshalling)
		outcome(t, err, client.OutcomeRejected, false)
		equal(t, "results", res, nil)
		_, err = c.MultiRead(ctx, client.GetOp("/a"))
		must(t, err)
		equal(t, "connections", srv.Snapshot().Connections, 1)
	})
}

func TestMultiReadAnswersThatMakeNoSense(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a", "")
		c := connect(t, srv)
		data := proto.MultiResult{Op: proto.OpGetData, Data: []byte("x")}
		for name, body := range map[string][]byte{
			"nothing":          nil,
			"too few":          proto.AppendMultiReply(nil, []proto.MultiResult{data}),
			"too many":         proto.AppendMultiReply(nil, []proto.MultiResult{data, {Op: proto.OpGetChildren}, data}),
			"swapped":          proto.AppendMultiReply(nil, []proto.MultiResult{{Op: proto.OpGetChildren}, data}),
			"a write":          proto.AppendMultiReply(nil, []proto.MultiResult{data, {Op: proto.OpDelete}}),
			"error of no code": proto.AppendMultiReply(nil, []proto.MultiResult{data, {Op: proto.OpError}}),
		} {
			srv.Corrupt(zktest.Match{Op: proto.OpMultiRead}, func(b []byte) []byte { return frame(b, body) })
			res, err := c.MultiRead(t.Context(), client.GetOp("/a"), client.ChildrenOp("/a"))
			if err == nil || res != nil {
				t.Errorf("%s: %v, %v", name, res, err)
				continue
			}
			outcome(t, err, client.OutcomeUnknown, false)
		}
		equal(t, "connections", srv.Snapshot().Connections, 1)
	})
}
