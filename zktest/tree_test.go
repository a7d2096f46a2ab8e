package zktest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// counts is the part of a Stat that counts.
type counts struct{ Version, Cversion, Aversion, NumChildren int32 }

func countsOf(st proto.Stat) counts {
	return counts{st.Version, st.Cversion, st.Aversion, st.NumChildren}
}

func TestStatTable(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		stat := func() proto.Stat {
			_, st, err := srv.Get("/p")
			require.NoError(t, err)
			return st
		}
		w.create("/p", proto.ModePersistent)
		born := stat()
		assert.Equal(t, born.Czxid, born.Mzxid)
		assert.Equal(t, born.Czxid, born.Pzxid)
		steps := []struct {
			name string
			do   func()
			want counts
		}{
			{"nothing yet", func() {}, counts{}},
			{"child", func() { w.create("/p/a", proto.ModePersistent) }, counts{0, 1, 0, 1}},
			{"another", func() { w.create("/p/b", proto.ModeEphemeral) }, counts{0, 2, 0, 2}},
			{"child written", func() { w.set("/p/a", "x") }, counts{0, 2, 0, 2}},
			{"written", func() { w.set("/p", "x") }, counts{1, 2, 0, 2}},
			{"grandchild", func() { w.create("/p/a/c", proto.ModePersistent) }, counts{1, 2, 0, 2}},
			{"deleted", func() { w.delete("/p/b") }, counts{1, 3, 0, 1}},
			{"failed create", func() { w.createCode("/p/a", 0) }, counts{1, 3, 0, 1}},
			{"acl", func() {
				w.ok(proto.OpSetACL, &proto.SetACLRequest{Path: "/p", ACL: proto.WorldACL(31), Version: -1}, nil)
			}, counts{1, 3, 1, 1}},
			{"grandchild and child deleted", func() { w.delete("/p/a/c"); w.delete("/p/a") }, counts{1, 4, 1, 0}},
		}
		for _, s := range steps {
			s.do()
			assert.Equal(t, s.want, countsOf(stat()), s.name)
		}
		st := stat()
		assert.Equal(t, born.Czxid, st.Czxid)
		assert.Equal(t, srv.Snapshot().Zxid, st.Pzxid)
		assert.Greater(t, st.Mzxid, st.Czxid)
	})
}

func TestStatTimes(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.create("/p", proto.ModePersistent)
		pass(1500 * time.Millisecond)
		st := w.set("/p", "abc")
		assert.Equal(t, int64(1500), st.Mtime-st.Ctime)
		assert.Equal(t, time.Now().UnixMilli(), st.Mtime)
		assert.Equal(t, int32(3), st.DataLength)
	})
}

func TestFreshTree(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		_, root := w.get("/", false)
		assert.Equal(t, counts{0, -1, 0, 1}, countsOf(root), "as a fresh ZooKeeper shows it")
		assert.Equal(t, []string{"config", "quota"}, srv.Children("/zookeeper"))
		_, config := w.get("/zookeeper/config", false)
		assert.Equal(t, [2]int32{0, -1}, [2]int32{config.Version, config.Aversion})
		for _, path := range []string{"/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"} {
			data, _, err := srv.Get(path)
			require.NoError(t, err)
			assert.Equal(t, []byte{}, data, "empty, and not null: %s", path)
		}
		assert.Equal(t, 4, srv.NodeCount())
		var n proto.GetAllChildrenNumberResponse
		w.ok(proto.OpGetAllChildrenNumber, &proto.GetAllChildrenNumberRequest{Path: "/"}, &n)
		assert.Equal(t, int32(3), n.TotalNumber)
	})
}

func TestFailedWritesUseZxids(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.create("/a", proto.ModePersistent)
		rep := w.do(proto.OpDelete, &proto.DeleteRequest{Path: "/nowhere", Version: -1})
		assert.Equal(t, proto.ErrNoNode, rep.Err)
		assert.Equal(t, int64(3), rep.Zxid)
		rep = w.do(proto.OpSetData, none{})
		assert.Equal(t, proto.ErrMarshalling, rep.Err, "a header with a broken body is answered")
		assert.Equal(t, int64(4), rep.Zxid)
		rep = w.do(proto.OpGetData, none{})
		assert.Equal(t, proto.ErrMarshalling, rep.Err)
		assert.Equal(t, int64(4), rep.Zxid)
		assert.Equal(t, int64(4), w.do(proto.OpExists, &proto.ExistsRequest{Path: "/a"}).Zxid)
	})
}

func TestVersions(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.create("/a", proto.ModePersistent)
		w.set("/a", "1")
		for version, want := range map[int32]proto.Code{0: proto.ErrBadVersion, 2: proto.ErrBadVersion, -2: proto.ErrBadVersion} {
			assert.Equal(t, want, w.code(proto.OpSetData, &proto.SetDataRequest{Path: "/a", Version: version}))
			assert.Equal(t, want, w.code(proto.OpDelete, &proto.DeleteRequest{Path: "/a", Version: version}))
		}
		assert.Equal(t, proto.ErrBadVersion,
			w.code(proto.OpSetACL, &proto.SetACLRequest{Path: "/a", ACL: proto.WorldACL(31), Version: 1}), "compared with aversion")
		w.ok(proto.OpSetACL, &proto.SetACLRequest{Path: "/a", ACL: proto.WorldACL(31), Version: 0}, nil)
		assert.Equal(t, proto.Code(0), w.code(proto.OpSetData, &proto.SetDataRequest{Path: "/a", Version: 1}))
		assert.Equal(t, proto.Code(0), w.code(proto.OpDelete, &proto.DeleteRequest{Path: "/a", Version: 2}))
	})
}

func TestNullAndEmptyData(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		for _, data := range [][]byte{nil, {}, []byte("x")} {
			w.ok(proto.OpCreate, &proto.CreateRequest{Path: "/n", Data: data, ACL: proto.WorldACL(31)}, nil)
			var rep proto.GetDataResponse
			w.ok(proto.OpGetData, &proto.GetDataRequest{Path: "/n"}, &rep)
			assert.Equal(t, data, rep.Data)
			w.delete("/n")
		}
	})
}

func TestCreateModes(t *testing.T) {
	open31 := proto.WorldACL(proto.PermAll)
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		for flags, want := range map[int32]proto.Code{
			-1: proto.ErrBadArguments, 7: proto.ErrBadArguments, 5: proto.ErrBadArguments, 6: proto.ErrBadArguments, 4: 0,
		} {
			rec := proto.CreateRequest{Path: "/f", ACL: open31, Flags: flags}
			assert.Equal(t, want, w.code(proto.OpCreate, &rec), "flags %d", flags)
		}
		w.delete("/f")
		eph := w.create("/eph", proto.ModeEphemeral)
		_, st := w.get(eph, false)
		assert.Equal(t, w.ss.SessionID, st.EphemeralOwner)
		assert.Equal(t, proto.ErrNoChildrenForEphemerals, w.createCode("/eph/x", proto.ModePersistent))
		w.create("/c", proto.ModeContainer)
		_, st = w.get("/c", false)
		assert.Zero(t, st.EphemeralOwner, "markers are hidden")
		assert.Equal(t, proto.ErrInvalidACL, w.code(proto.OpCreate, &proto.CreateRequest{Path: "/no"}))
		assert.Equal(t, proto.ErrNoNode, w.createCode("/no/where", proto.ModePersistent))
		assert.Equal(t, proto.ErrNodeExists, w.createCode("/eph", proto.ModePersistent))
	})
}

func TestDelete(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.create("/a", proto.ModePersistent)
		w.create("/a/b", proto.ModePersistent)
		assert.Equal(t, proto.ErrNotEmpty, w.code(proto.OpDelete, &proto.DeleteRequest{Path: "/a", Version: -1}))
		w.delete("/a/b")
		w.delete("/a")
		assert.Equal(t, proto.ErrNoNode, w.code(proto.OpDelete, &proto.DeleteRequest{Path: "/a", Version: -1}))
	})
}

func TestEphemeralsAndWhoAmI(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.create("/rz", proto.ModePersistent)
		w.create("/rz/eph", proto.ModeEphemeral)
		w.create("/other", proto.ModeEphemeral)
		for prefix, want := range map[string][]string{
			"/r": {"/rz/eph"}, "/": {"/other", "/rz/eph"}, "": {"/other", "/rz/eph"}, " ": {"/other", "/rz/eph"}, "/x": nil,
		} {
			var rep proto.GetEphemeralsResponse
			w.ok(proto.OpGetEphemerals, &proto.GetEphemeralsRequest{PrefixPath: prefix}, &rep)
			slices.Sort(rep.Ephemerals)
			assert.Equal(t, want, slices.Clip(rep.Ephemerals), "%q", prefix)
		}
		var who proto.WhoAmIResponse
		w.ok(proto.OpWhoAmI, none{}, &who)
		assert.Equal(t, []proto.ClientInfo{{AuthScheme: "ip", User: "127.0.0.1"}}, who.ClientInfo)
	})
}

func TestOperator(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.exists("/op", true)
		path, err := srv.Create("/op", []byte("x"), proto.ModePersistent)
		require.NoError(t, err)
		assert.Equal(t, []event{{proto.EventNodeCreated, "/op"}}, w.events())
		require.NoError(t, srv.Set(path, []byte("y")))
		data, _ := w.get("/op", true)
		assert.Equal(t, "y", data)
		eph, err := srv.CreateFor(w.ss.SessionID, "/op/e-", nil, proto.ModeEphemeralSequential)
		require.NoError(t, err)
		assert.Equal(t, "/op/e-0000000000", eph)
		assert.Equal(t, []string{eph}, srv.Sessions()[0].Ephemerals)
		_, err = srv.Create("/e", nil, proto.ModeEphemeral)
		require.ErrorIs(t, err, proto.ErrUnknownSession)
		require.ErrorIs(t, srv.Delete("/op"), proto.ErrNotEmpty)
		require.NoError(t, srv.Delete(eph))
		require.NoError(t, srv.Delete("/op"))
		assert.Equal(t, []event{{proto.EventNodeDeleted, "/op"}}, w.events())
		_, _, err = srv.Get("/op")
		require.ErrorIs(t, err, proto.ErrNoNode)
		assert.False(t, srv.Exists("/op"))
		assert.Nil(t, srv.Children("/op"))
	})
}

func TestLargeAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.create("/big", proto.ModePersistent)
		data := strings.Repeat("x", zktest.MaxFrame-20-len("/big"))
		w.set("/big", data)
		got, _ := w.get("/big", false)
		assert.Len(t, got, len(data))
		w.write(request(9, proto.OpSetData, &proto.SetDataRequest{Path: "/big", Data: []byte(data + "x"), Version: -1}))
		w.closed()
	})
}
