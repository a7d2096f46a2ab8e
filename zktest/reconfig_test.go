package zktest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

const configNode = "/zookeeper/config"

// three is an ensemble.
var three = []string{"server.1=zk1:2888:3888:participant;2181", "server.2=zk2:2888:3888;2181", "server.3=zk3:2888:3888:observer;zk3:2182"}

// threeText is how /zookeeper/config shows it.
const threeText = "server.1=zk1:2888:3888:participant;0.0.0.0:2181\nserver.2=zk2:2888:3888:participant;0.0.0.0:2181\n" +
	"server.3=zk3:2888:3888:observer;zk3:2182\n"

func some(text string) jute.NullString { return jute.NullString{String: text, Valid: true} }

// ensemble runs f on a server with the ensemble and a client that is super.
func ensemble(t *testing.T, f func(t *testing.T, srv *zktest.Server, w *wire)) {
	t.Helper()
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		require.NoError(t, srv.SetEnsemble(three...))
		w := open(t, srv)
		w.write(request(proto.XidAuth, proto.OpAuth, &proto.AuthPacket{Scheme: "digest", Auth: []byte("root:pw")}))
		require.Zero(t, w.recv().Err)
		f(t, srv, w)
	}, zktest.SuperDigest("root", "pw"))
}

func TestStandaloneHasNoConfiguration(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		data, st := w.get(configNode, false)
		assert.Empty(t, data)
		assert.Equal(t, proto.Stat{Aversion: -1}, st)
		assert.Equal(t, proto.ErrReconfigDisabled, w.code(proto.OpReconfig, &proto.ReconfigRequest{CurConfigID: -1}))
	})
}

func TestSetEnsemble(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.get(configNode, true)
		require.NoError(t, srv.SetEnsemble(three...))
		assert.Equal(t, []event{{changed, configNode}}, w.events())
		data, st := w.get(configNode, false)
		assert.Equal(t, threeText+"version=100000000", data)
		assert.Equal(t, int64(1<<32), st.Mzxid)
		assert.Equal(t, []int32{-1, -1}, []int32{st.Version, st.Aversion})
		assert.Zero(t, st.Czxid)
		w.create("/a", proto.ModePersistent)
		require.NoError(t, srv.SetEnsemble(three[0]))
		data, _ = w.get(configNode, false)
		assert.Equal(t, "server.1=zk1:2888:3888:participant;0.0.0.0:2181\nversion=200000000", data, "another epoch")
		for _, bad := range []string{"", "server.1", three[2], "server.x=" + three[0][9:]} {
			var code proto.Code
			assert.ErrorAs(t, srv.SetEnsemble(bad), &code, bad)
		}
		require.Error(t, srv.SetEnsemble())
		again, _ := w.get(configNode, false)
		assert.Equal(t, data, again)
	})
}

func TestReconfig(t *testing.T) {
	ensemble(t, func(t *testing.T, srv *zktest.Server, w *wire) {
		w.get(configNode, true)
		var rep proto.GetDataResponse
		reconfig := func(rec proto.ReconfigRequest) string {
			head := w.ok(proto.OpReconfig, &rec, &rep)
			text, version, ok := strings.Cut(string(rep.Data), "version=")
			require.True(t, ok)
			assert.Equal(t, fmt.Sprintf("%x", head.Zxid), version)
			assert.Equal(t, head.Zxid, rep.Stat.Mzxid)
			assert.Equal(t, int32(-1), rep.Stat.Version)
			shown, _ := w.get(configNode, false)
			assert.Equal(t, string(rep.Data), shown)
			return text
		}
		xid := w.send(proto.OpReconfig, &proto.ReconfigRequest{JoiningServers: some("server.4=10.0.0.4:2888:3888;2181"), CurConfigID: 1 << 32})
		assert.Equal(t, event{changed, configNode}, decodeEvent(t, w.recv()))
		joined := w.recv()
		assert.Equal(t, reply{Xid: xid}, headOf(joined))
		decode(t, joined, &rep)
		assert.Equal(t, threeText+"server.4=10.0.0.4:2888:3888:participant;0.0.0.0:2181\n", strings.TrimSuffix(string(rep.Data), fmt.Sprintf("version=%x", joined.Zxid)))

		assert.Equal(t, proto.ErrBadVersion, w.code(proto.OpReconfig, &proto.ReconfigRequest{LeavingServers: some("3"), CurConfigID: 1 << 32}))
		assert.Equal(t, "server.1=zk1:2888:3888:participant;0.0.0.0:2181\nserver.2=zk2:2888:3888:participant;0.0.0.0:2181\n"+
			"server.4=[0:0:0:0:0:0:0:1]:1:2:observer;[0:0:0:0:0:0:0:1]:3\n", reconfig(proto.ReconfigRequest{
			JoiningServers: some("server.4=[::1]:1:2:observer;[::1]:3 ,"), LeavingServers: some("3, 9"), CurConfigID: joined.Zxid,
		}))
	})
}

func TestReconfigOfAll(t *testing.T) {
	ensemble(t, func(t *testing.T, _ *zktest.Server, w *wire) {
		var rep proto.GetDataResponse
		head := w.ok(proto.OpReconfig, &proto.ReconfigRequest{NewMembers: some(three[0] + ",server.7=zk7:1:2\n# none\n\nversion=9\n"), CurConfigID: -1}, &rep)
		assert.Equal(t, fmt.Sprintf("server.1=zk1:2888:3888:participant;0.0.0.0:2181\nserver.7=zk7:1:2:participant\nversion=%x", head.Zxid), string(rep.Data))
	})
}

// TestReconfigRefused has the answers of a real ensemble of three.
func TestReconfigRefused(t *testing.T) {
	const bad, unread = proto.ErrBadArguments, proto.ErrMarshalling
	ensemble(t, func(t *testing.T, srv *zktest.Server, w *wire) {
		before, st := w.get(configNode, false)
		for text, want := range map[string]proto.Code{
			"nonsense": bad, "server.1": bad, "server.1=": bad, "server.x=a:1:2;3": unread, "server.1=a:1;3": bad, "server.1=a:1:1;3": bad,
			"server.1=a:1:2:boss;3": bad, "server.1=a:1:2;x": bad, "server.1=a:1:2;99999": unread, "server.1=a:99999:2;3": unread,
			"weight.1=1": bad, "server.1=a:1:2;3;4": bad, "server.1=a:1:2;b:c:3": bad, "server.1=a:x:2;3": bad, "server.1=a:1:x;3": bad,
		} {
			assert.Equal(t, want, w.code(proto.OpReconfig, &proto.ReconfigRequest{NewMembers: some(text), CurConfigID: -1}), "members %s", text)
			assert.Equal(t, want, w.code(proto.OpReconfig, &proto.ReconfigRequest{JoiningServers: some(text), CurConfigID: -1}), "joining %s", text)
			assert.Equal(t, unread, w.code(proto.OpReconfig, &proto.ReconfigRequest{LeavingServers: some(text), CurConfigID: -1}), "leaving %s", text)
		}
		for what, rec := range map[string]proto.ReconfigRequest{
			"no members":         {NewMembers: some("")},
			"one voter":          {NewMembers: some(three[0] + "," + three[2])},
			"one voter left":     {LeavingServers: some("1")},
			"no port of clients": {JoiningServers: some("server.4=zk4:1:2")},
		} {
			rec.CurConfigID = -1
			assert.Equal(t, bad, w.code(proto.OpReconfig, &rec), what)
		}
		after, stAfter := w.get(configNode, false)
		assert.Equal(t, before, after)
		assert.Equal(t, st, stAfter)
	})
}

func TestReconfigKeepsAddressesApart(t *testing.T) {
	ensemble(t, func(t *testing.T, _ *zktest.Server, w *wire) {
		join := func(text string) proto.Code {
			return w.code(proto.OpReconfig, &proto.ReconfigRequest{JoiningServers: some(text), CurConfigID: -1})
		}
		assert.Zero(t, join("server.6=10.1.1.1:1:2:observer;3"))
		for text, want := range map[string]proto.Code{
			"server.7=10.1.1.1:1:4:observer;5":          proto.ErrBadArguments,
			"server.7=10.1.1.1:4:5:observer;10.1.1.1:2": proto.ErrBadArguments,
			"server.7=10.1.1.2:1:2:observer;3":          0,
			"server.6=10.1.1.1:1:2:observer;3":          0, // itself
			"server.8=127.0.0.1:1:2:observer;3":         0,
			"server.9=127.0.0.1:1:2:observer;3":         0, // the own host is not compared
		} {
			assert.Equal(t, want, join(text), text)
		}
	})
}

func TestReconfigNeedsWRITE(t *testing.T) {
	ensemble(t, func(t *testing.T, srv *zktest.Server, _ *wire) {
		w := open(t, srv)
		rec := &proto.ReconfigRequest{LeavingServers: some("3"), CurConfigID: -1}
		assert.Equal(t, proto.ErrNoAuth, w.code(proto.OpReconfig, rec))
		assert.Equal(t, proto.ErrBadVersion, w.code(proto.OpReconfig, &proto.ReconfigRequest{CurConfigID: 5}), "that is looked at first")
		require.NoError(t, srv.SetACL(configNode, proto.WorldACL(proto.PermAll)))
		assert.Zero(t, w.code(proto.OpReconfig, rec))
	})
}
