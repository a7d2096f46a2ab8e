package client_test

import (
	"errors"
	"testing"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

const configText = `server.1=zk1:2888:3888:participant;0.0.0.0:2181
server.2=[2001:db8::2]:2888:3888:observer;2181
server.3=zk3a:2888:3888|zk3b:2889:3889:participant;zk3:2181
server.4=zk4:2888:3888
server.x=strange
weight.1=1
version=10000000a`

func TestReconfig(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/app", "")
		c, ctx := connectTo(t, srv, "zk/app"), t.Context()
		_, _, err := c.Reconfig(ctx, client.Reconfiguration{Leaving: []string{"1"}, Version: client.AnyConfigVersion})
		wantErr(t, err, client.ErrReconfigDisabled)
		outcome(t, err, client.OutcomeRejected, false)
		if _, ok := err.(*client.Error); !ok || errors.Is(err, client.ErrUnimplemented) {
			t.Errorf("%v", err)
		}
		for _, tc := range []struct {
			change client.Reconfiguration
			want   proto.ReconfigRequest
		}{
			{client.Reconfiguration{Joining: []string{"server.4=zk4:2888:3888;2181", "server.5=zk5:2888:3888;2181"}, Leaving: []string{"1", "2"}, Version: 10},
				proto.ReconfigRequest{JoiningServers: text("server.4=zk4:2888:3888;2181,server.5=zk5:2888:3888;2181"), LeavingServers: text("1,2"), CurConfigID: 10}},
			{client.Reconfiguration{Leaving: []string{"3"}, Version: client.AnyConfigVersion},
				proto.ReconfigRequest{LeavingServers: text("3"), CurConfigID: -1}},
			{client.Reconfiguration{Members: []string{"server.1=zk1:2888:3888;2181"}},
				proto.ReconfigRequest{NewMembers: text("server.1=zk1:2888:3888;2181")}},
		} {
			cfg, st, sent := reconfig(t, srv, c, tc.change)
			equal(t, "request", sent, tc.want) // null, and not empty, for what is not used
			equal(t, "version", cfg.Version, 0x10000000a)
			equal(t, "text", string(cfg.Data), configText)
			equal(t, "stat", st.Version, 7)
		}
	})
}

func text(s string) jute.NullString { return jute.NullString{String: s, Valid: true} }

// reconfig makes srv take a change and returns what it was sent.
func reconfig(t *testing.T, srv *zktest.Server, c *client.Client, change client.Reconfiguration) (client.Config, client.Stat, proto.ReconfigRequest) {
	t.Helper()
	var sent proto.ReconfigRequest
	srv.OnRequest(func(req *zktest.Request) zktest.Verdict {
		if req.Op != proto.OpReconfig {
			return zktest.Verdict{}
		}
		r := jute.NewReader(req.Body)
		sent.ReadFrom(&r)
		must(t, r.Err())
		return zktest.Verdict{Corrupt: func(b []byte) []byte {
			b = frame(b, (&proto.GetDataResponse{Data: []byte(configText), Stat: proto.Stat{Version: 7}}).AppendTo(nil))
			clear(b[4+12 : 4+16]) // no error
			return b
		}}
	})
	defer srv.OnRequest(nil)
	cfg, st, err := c.Reconfig(t.Context(), change)
	must(t, err)
	return cfg, st, sent
}

func TestReconfigurationsThatAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		before := srv.Snapshot().Requests
		for _, change := range []client.Reconfiguration{
			{},
			{Version: client.AnyConfigVersion},
			{Joining: []string{"server.1=a:1:2;3"}, Members: []string{"server.1=a:1:2;3"}},
			{Leaving: []string{"1"}, Members: []string{"server.1=a:1:2;3"}},
			{Leaving: []string{"1,2"}},
			{Leaving: []string{""}},
			{Members: []string{"server.1=a:1:2;3\nserver.2=b:1:2;3"}},
		} {
			_, _, err := c.Reconfig(t.Context(), change)
			var bad *client.ReconfigError
			if !errors.As(err, &bad) {
				t.Errorf("%v: %v", change, err)
			}
			outcome(t, err, client.OutcomeNotSent, false)
		}
		equal(t, "requests", srv.Snapshot().Requests, before)
	})
}

// The configuration has the same path with every chroot.
func TestGetConfig(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/app", "")
		c, ctx := connectTo(t, srv, "zk/app"), t.Context()
		cfg, _, err := c.GetConfig(ctx)
		must(t, err)
		equal(t, "standalone", cfg, client.Config{Data: []byte{}, Version: -1})

		must(t, srv.Set("/zookeeper/config", []byte(configText)))
		g := c.Group()
		h := g.GetConfig()
		must(t, g.Do(ctx))
		must(t, h.Err())
		cfg, st, err := h.Config()
		must(t, err)
		equal(t, "text", string(cfg.Data), configText)
		equal(t, "length", int(st.DataLength), len(configText))
		equal(t, "version", cfg.Version, 0x10000000a)
		equal(t, "servers", cfg.Servers, []client.ConfigServer{
			{ID: 1, Host: "zk1", QuorumPort: 2888, ElectionPort: 3888, Role: "participant", Client: "0.0.0.0:2181",
				Line: "server.1=zk1:2888:3888:participant;0.0.0.0:2181"},
			{ID: 2, Host: "2001:db8::2", QuorumPort: 2888, ElectionPort: 3888, Role: "observer", Client: "2181",
				Line: "server.2=[2001:db8::2]:2888:3888:observer;2181"},
			{ID: 3, Host: "zk3a", QuorumPort: 2888, ElectionPort: 3888, Role: "participant", Client: "zk3:2181",
				Line: "server.3=zk3a:2888:3888|zk3b:2889:3889:participant;zk3:2181"},
			{ID: 4, Host: "zk4", QuorumPort: 2888, ElectionPort: 3888, Line: "server.4=zk4:2888:3888"},
			{Host: "strange", Line: "server.x=strange"},
		})
	})
}

// Text of any kind makes no trouble; the version is taken if it is one.
func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(configText))
	f.Add([]byte("server.1=[::1\nversion=ffffffffffffffff\nversion=-1\r\nserver.=|||;;;"))
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg := client.ParseConfig(data)
		equal(t, "text", string(cfg.Data), string(data))
		for _, s := range cfg.Servers {
			if s.Line == "" {
				t.Error("server without a line")
			}
		}
	})
}

// A member leaves and comes back, and whoever watches the configuration is told.
func TestReconfigAndConfigWatch(t *testing.T) {
	bubble(t, func(t *testing.T, _ *zktest.Server) {
		srv := zktest.New(zktest.SuperDigest("super", "secret"))
		t.Cleanup(func() { srv.Close() })
		must(t, srv.SetEnsemble("server.1=zk1:2888:3888:participant;2181", "server.2=zk2:2888:3888:participant;2181", "server.3=zk3:2888:3888:observer;2181"))
		create(t, srv, "/app", "")
		c, super := connectTo(t, srv, "zk/app"), connect(t, srv, client.Auth("digest", []byte("super:secret")))
		ctx := t.Context()
		before, watch, err := c.ConfigWatch(ctx)
		must(t, err)
		equal(t, "members", len(before.Servers), 3)
		_, _, err = c.Reconfig(ctx, client.Reconfiguration{Leaving: []string{"3"}, Version: before.Version})
		wantErr(t, err, client.ErrNoAuth)
		after, _, err := super.Reconfig(ctx, client.Reconfiguration{Leaving: []string{"3"}, Version: before.Version})
		must(t, err)
		equal(t, "members afterwards", len(after.Servers), 2)
		ev, err := watch.Wait(ctx)
		must(t, err)
		equal(t, "event", ev.Type, client.EventNodeDataChanged)
		equal(t, "path", ev.Path, "/zookeeper/config")
		_, _, err = super.Reconfig(ctx, client.Reconfiguration{Joining: []string{before.Servers[2].Line}, Version: before.Version})
		wantErr(t, err, client.ErrBadVersion)
		again, _, err := super.Reconfig(ctx, client.Reconfiguration{Joining: []string{before.Servers[2].Line}, Version: after.Version})
		must(t, err)
		equal(t, "members in the end", len(again.Servers), 3)
	})
}
