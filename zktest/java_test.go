package zktest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// What follows was found by comparison with a real server 3.8.0, request by request.

// text is a record as it is on the wire.
type text string

func (s text) AppendTo(b []byte) []byte { return append(b, s...) }

func number(n int32) text { return text(jute.AppendInt(nil, n)) }
func str(s string) text   { return text(jute.AppendString(nil, s)) }

const null = text("\xff\xff\xff\xff")

func TestNullIDInAnACL(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		for scheme, want := range map[text]proto.Code{
			str("world"): proto.ErrMarshalling, str("digest"): proto.ErrMarshalling, str("ip"): proto.ErrMarshalling,
			str("auth"): proto.ErrInvalidACL, str("nosuch"): proto.ErrInvalidACL, null: proto.ErrInvalidACL,
		} {
			rec := str("/x") + null + number(1) + number(31) + scheme + null + number(0)
			assert.Equal(t, want, w.code(proto.OpCreate, rec), "%q", scheme)
		}
		// In a multi it is the whole's failure.
		h := proto.MultiHeader{Type: int32(proto.OpCreate), Err: -1}
		part := text(h.AppendTo(nil)) + str("/x") + null + number(1) + number(31) + str("world") + null + number(0)
		assert.Equal(t, proto.ErrMarshalling, w.code(proto.OpMulti, part+text(proto.AppendMulti(nil, nil))))
	})
}

func TestNegativeCountIsEmpty(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		assert.Equal(t, proto.ErrInvalidACL, w.code(proto.OpCreate, str("/x")+null+number(-7)+number(0)))
		none := number(-2)
		assert.Equal(t, proto.Code(0), w.code(proto.OpSetWatches, text(jute.AppendLong(nil, 0))+none+none+none))
		assert.Equal(t, proto.ErrMarshalling, w.code(proto.OpCreate, str("/x")+null+number(1<<30)+number(0)), "too many")
	})
}

func TestNullListInSetWatches(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.create("/a", proto.ModePersistent)
		lists := number(1) + str("/a") + null + number(1) + str("/a")
		w.send(proto.OpSetWatches, text(jute.AppendLong(nil, 0))+lists)
		assert.Equal(t, event{proto.EventNodeDataChanged, "/a"}, decodeEvent(t, w.recv()))
		assert.Equal(t, proto.ErrMarshalling, w.recv().Err)
		assert.Empty(t, srv.Watches(), "neither the list behind the null one nor the path that had an event")
	})
}

func TestCheckWatchesSeesAnybodysWatch(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w, other := open(t, srv), open(t, srv)
		w.create("/a", proto.ModePersistent)
		other.get("/a", true)
		check := func(path string, kind proto.WatcherType) proto.Code {
			return w.code(proto.OpCheckWatches, &proto.CheckWatchesRequest{Path: path, Type: int32(kind)})
		}
		assert.Equal(t, proto.Code(0), check("/a", proto.WatcherData))
		assert.Equal(t, proto.ErrNoWatcher, check("/a", proto.WatcherChildren))
		assert.Equal(t, proto.ErrMarshalling, check("a", proto.WatcherAny), "no slash in front")
		w.children("", true)
		assert.Equal(t, proto.ErrNoWatcher, check("", proto.WatcherChildren))
		remove := &proto.RemoveWatchesRequest{Path: "/a", Type: int32(proto.WatcherAny)}
		assert.Equal(t, proto.ErrNoWatcher, w.code(proto.OpRemoveWatches, remove), "only one's own are removed")
	})
}

func TestFlagsDecideInAMulti(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		op := func(op proto.Op, path string, mode proto.CreateMode) proto.MultiOp {
			return proto.MultiOp{Op: op, Path: path, ACL: proto.WorldACL(proto.PermAll), Flags: int32(mode)}
		}
		got := w.multi(proto.OpMulti, op(proto.OpCreate, "/c", proto.ModeContainer), op(proto.OpCreateContainer, "/p", 0),
			op(proto.OpCreate, "/c/x", 0), op(proto.OpCreate, "/p/x", 0))
		assert.Equal(t, proto.OpCreate2, got[0].Op)
		assert.Equal(t, proto.OpCreate, got[1].Op)
		w.delete("/c/x")
		w.delete("/p/x")
		srv.Sweep()
		assert.Equal(t, [2]bool{false, true}, [2]bool{srv.Exists("/c"), srv.Exists("/p")})
		ttl := op(proto.OpCreate2, "/t", proto.ModePersistentTTL)
		assert.Equal(t, proto.ErrMarshalling, w.code(proto.OpMulti, ops{op(proto.OpCreate, "/q", 0), ttl}))
		assert.False(t, srv.Exists("/q"))
		gone := proto.MultiOp{Op: proto.OpDelete, Path: "/no", Version: -1}
		assert.Equal(t, proto.ErrNoNode, w.multi(proto.OpMulti, gone, ttl)[0].Err)
	})
}

func TestRootByItsOtherName(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		for path, want := range map[string]int32{"/": 3, "": 4} {
			var n proto.GetAllChildrenNumberResponse
			w.ok(proto.OpGetAllChildrenNumber, &proto.GetAllChildrenNumberRequest{Path: path}, &n)
			assert.Equal(t, want, n.TotalNumber, "%q", path)
		}
	})
}

func TestTextIsJavas(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		var rep proto.SyncResponse
		w.ok(proto.OpSync, str("/a\xff\xfe"), &rep)
		assert.Equal(t, "/a\ufffd\ufffd", rep.Path)
		one := text(jute.AppendLong(nil, 0)) + number(1) + str("/\xff") + number(0) + number(0)
		w.send(proto.OpSetWatches, one)
		assert.Equal(t, event{proto.EventNodeDeleted, "/\ufffd"}, decodeEvent(t, w.recv()))
	})
}

func TestEventsOfUnreadableZnodes(t *testing.T) { // D9
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		closed := proto.WorldACL(proto.PermAll &^ proto.PermRead)
		for _, path := range []string{"/a", "/dir", "/gone"} {
			w.create(path, proto.ModePersistent)
			w.get(path, true)
			w.children(path, true)
			assert.NoError(t, srv.SetACL(path, closed))
		}
		assert.NoError(t, srv.Set("/a", nil))
		assert.NoError(t, srv.Delete("/gone"))
		_, err := srv.Create("/dir/x", nil, proto.ModePersistent)
		assert.NoError(t, err)
		assert.Empty(t, w.events())
		assert.Len(t, srv.Watches(), 2, "the others are used up")
	})
}
