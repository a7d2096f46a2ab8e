package zktest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestPathTable(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.create("/rz", proto.ModePersistent)
		for _, path := range []string{"", "a", "//a", "/rz/", "/rz/.", "/rz/a\x00b", "/rz/\x1f", "/rz/\x7f", "/rz/\ue000",
			"/rz/\U0001f600", "/rz/\xff"} {
			assert.Equal(t, proto.ErrBadArguments, w.createCode(path, proto.ModePersistent), "%q", path)
		}
		assert.Equal(t, proto.ErrNodeExists, w.createCode("/", proto.ModePersistent))
		assert.Equal(t, proto.ErrNoNode, w.createCode("/rz/../x", proto.ModePersistent))
		assert.Equal(t, proto.Code(0), w.createCode("/rz/é", proto.ModePersistent))
		for _, path := range []string{"a", "/rz/"} {
			assert.Equal(t, proto.ErrNoNode, w.code(proto.OpGetData, &proto.GetDataRequest{Path: path}), "%q", path)
		}
		w.get("", false)
		assert.ElementsMatch(t, []string{"rz", "zookeeper"}, w.children("", false))
		assert.Equal(t, proto.ErrBadArguments, w.exists("/a\x00", false))
		assert.Equal(t, proto.ErrBadArguments, w.code(proto.OpSetData, &proto.SetDataRequest{Path: "a", Version: -1}))
		for _, path := range []string{"a", "/", "", "/zookeeper"} {
			rec := proto.DeleteRequest{Path: path, Version: -1}
			assert.Equal(t, proto.ErrBadArguments, w.code(proto.OpDelete, &rec), "%q", path)
		}
	})
}

// nullPath is the beginning of any record whose path is null.
type nullPath struct{}

func (nullPath) AppendTo(b []byte) []byte {
	return append(b, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
}

func TestNullPath(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		for op, want := range map[proto.Op]proto.Code{
			proto.OpCreate: proto.ErrMarshalling, proto.OpDelete: proto.ErrMarshalling, proto.OpExists: proto.ErrMarshalling,
			proto.OpGetData: proto.ErrMarshalling, proto.OpGetACL: proto.ErrMarshalling, proto.OpGetChildren: proto.ErrMarshalling,
			proto.OpGetChildren2: proto.ErrMarshalling,
			// These look at it in time, and sync gives it back.
			proto.OpSetData: proto.ErrBadArguments, proto.OpSetACL: proto.ErrBadArguments, proto.OpSync: 0,
		} {
			assert.Equal(t, want, w.code(op, nullPath{}), op.String())
		}
	})
}
