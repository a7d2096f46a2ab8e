package client_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

var createModes = []client.CreateMode{client.ModePersistent, client.ModeEphemeral, client.ModePersistentSequential,
	client.ModeEphemeralSequential, client.ModeContainer}

// isCreate matches the creates of any mode.
func isCreate(op proto.Op) bool { return op == proto.OpCreate2 || op == proto.OpCreateContainer }

// lose gives a verdict to the first n creates.
func lose(srv *zktest.Server, n int, v zktest.Verdict) {
	left := n
	srv.OnRequest(func(req *zktest.Request) zktest.Verdict {
		if isCreate(req.Op) && left != 0 {
			left--
			return v
		}
		return zktest.Verdict{}
	})
}

// one checks that path is the only child of dir, on a server without a chroot.
func one(t *testing.T, srv *zktest.Server, dir, path string) {
	t.Helper()
	kids := srv.Children(dir)
	if len(kids) != 1 || strings.TrimSuffix(dir, "/")+"/"+kids[0] != path {
		t.Errorf("%v below %s, want %s", kids, dir, path)
	}
}

func TestCreateProtected(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/app", "")
		create(t, srv, "/app/a", "")
		c, ctx := connectTo(t, srv, "zk/app"), t.Context()
		for _, tc := range []struct {
			path string
			mode client.CreateMode
			want string
		}{
			{"/a/b", client.ModeEphemeral, "/a/_c_GUID-b"},
			{"/b", client.ModePersistent, "/_c_GUID-b"},
			{"/a/b-", client.ModeEphemeralSequential, "/a/_c_GUID-b-0000000001"},
			{"/a/", client.ModePersistentSequential, "/a/_c_GUID-0000000002"},
			{"/", client.ModePersistentSequential, "/_c_GUID-0000000002"},
		} {
			before := srv.Snapshot().Requests
			path, st, err := c.CreateProtected(ctx, tc.path, []byte("x"), tc.mode, nil)
			must(t, err)
			guid := regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
			equal(t, "path", guid.ReplaceAllString(path, "GUID"), tc.want)
			_, want, err := srv.Get("/app" + path)
			must(t, err)
			equal(t, "stat", st, want)
			equal(t, "requests", srv.Snapshot().Requests, before+1)
		}
		_, _, err := c.CreateProtected(ctx, "/missing/a", nil, client.ModeEphemeral, nil)
		wantErr(t, err, client.ErrNoNode)
		equal(t, "text", err.Error(), "zk: create /missing/a: no node")
		outcome(t, err, client.OutcomeRejected, false)
	})
}

// Whether the request or the reply is lost, there is one znode in the end, and it is the one that is returned.
func TestCreateProtectedLosesItsConnection(t *testing.T) {
	for name, verdict := range map[string]zktest.Verdict{"reply": {Lose: true, Close: true}, "request": {Skip: true, Close: true}} {
		for _, mode := range createModes {
			for _, losses := range []int{1, 2, 3, 10} {
				t.Run(name+" "+mode.String(), func(t *testing.T) {
					bubble(t, func(t *testing.T, srv *zktest.Server) {
						create(t, srv, "/a", "")
						c, ctx := connectTo(t, srv, "zk1,zk2,zk3"), t.Context()
						lose(srv, losses, verdict)
						path, st, err := c.CreateProtected(ctx, "/a/b", []byte("x"), mode, nil)
						must(t, err)
						one(t, srv, "/a", path)
						data, want, err := srv.Get(path)
						must(t, err)
						equal(t, "stat", st, want)
						equal(t, "data", string(data), "x")
						equal(t, "is the first one", mode.IsSequential() && name == "reply" && !strings.HasSuffix(path, "0000000000"), false)
						equal(t, "cleanups", c.CleanupsPending(), 0)
						equal(t, "connections", int(srv.Snapshot().Connections), 1+losses)
					})
				})
			}
		}
	}
}

// The create is still on its way when the connection is lost, and the next server does not show it yet: a look alone would
// find nothing, and leave a second znode behind.
func TestCreateProtectedOnALaggingServer(t *testing.T) {
	for _, mode := range createModes {
		t.Run(mode.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				create(t, srv, "/a", "")
				c, ctx := connectTo(t, srv, "zk1,zk2"), t.Context()
				held := srv.HoldCommit(zktest.Match{Op: mode.Op()})
				var path string
				result := spawn(func() (err error) {
					path, _, err = c.CreateProtected(ctx, "/a/b", nil, mode, nil)
					return err
				})
				<-held.Hit()
				srv.DropConnections()
				synctest.Wait()
				names, _, err := c.Children(cancelledLater(t), "/a")
				if err == nil {
					equal(t, "what the new server shows", len(names), 0)
				}
				held.Release()
				must(t, <-result)
				one(t, srv, "/a", path)
				if mode.IsSequential() && !strings.HasSuffix(path, "b0000000000") {
					t.Errorf("%s is not the first one", path)
				}
			})
		})
	}
}

// cancelledLater returns a context that ends soon, in virtual time.
func cancelledLater(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// A znode of another session is not taken for the own one, whatever its name.
func TestCreateProtectedChecksTheOwner(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a", "")
		c, other := connect(t, srv), connect(t, srv)
		made := false
		srv.OnRequest(func(req *zktest.Request) zktest.Verdict {
			if req.Op != proto.OpCreate2 || made {
				return zktest.Verdict{}
			}
			made = true
			_, err := srv.CreateFor(other.SessionID(), req.Path, nil, client.ModeEphemeralSequential)
			if err != nil {
				t.Error(err)
			}
			return zktest.Verdict{Lose: true, Close: true}
		})
		path, st, err := c.CreateProtected(t.Context(), "/a/b-", nil, client.ModeEphemeralSequential, nil)
		must(t, err)
		equal(t, "owner", st.EphemeralOwner, c.SessionID())
		equal(t, "number", strings.HasSuffix(path, "b-0000000001"), true)
	})
}

// In another session nothing is looked for: what the old one has left goes with it.
func TestCreateProtectedLosesItsSession(t *testing.T) {
	for _, mode := range createModes {
		t.Run(mode.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				create(t, srv, "/a", "")
				c, ctx := connect(t, srv), t.Context()
				lost := srv.CloseAfter(zktest.Match{Op: mode.Op()})
				result := spawn(func() error {
					_, _, err := c.CreateProtected(ctx, "/a/b", nil, mode, nil)
					return err
				})
				old := c.Generation()
				<-lost.Hit()
				srv.Refuse(zktest.RefuseDial)
				<-old.Ended()
				err := <-result
				wantErr(t, err, client.ErrSessionExpired)
				outcome(t, err, client.OutcomeUnknown, true)
				equal(t, "text", strings.HasPrefix(err.Error(), "zk: create /a/b: "), true)
				srv.Refuse(zktest.Accept)
				pass(timeout * 2)
				must(t, c.Sync(ctx, "/"))
				equal(t, "something is left", len(srv.Children("/a")) > 0, !mode.IsEphemeral())
				equal(t, "cleanups", c.CleanupsPending(), 0)
			})
		})
	}
}

// Who gives up gets no znode: the session deletes what comes of the create.
func TestCreateProtectedThatIsCancelled(t *testing.T) {
	for _, mode := range createModes {
		t.Run(mode.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				create(t, srv, "/a", "")
				c := connect(t, srv)
				held := srv.Hold(zktest.Match{Op: mode.Op()})
				ctx, cancel := context.WithCancel(t.Context())
				result := spawn(func() error {
					_, _, err := c.CreateProtected(ctx, "/a/b", nil, mode, nil)
					return err
				})
				<-held.Hit()
				cancel()
				err := <-result
				wantErr(t, err, context.Canceled)
				outcome(t, err, client.OutcomeUnknown, true)
				equal(t, "cleanups", c.CleanupsPending(), 1)
				held.Release()
				synctest.Wait()
				equal(t, "left", len(srv.Children("/a")), 0)
				equal(t, "cleanups", c.CleanupsPending(), 0)
				equal(t, "connections", srv.Snapshot().Connections, 1)
			})
		})
	}
}

// A server that closes the connection for the request does so every time.
func TestCreateProtectedGivesUp(t *testing.T) {
	for _, mode := range createModes {
		bubble(t, func(t *testing.T, srv *zktest.Server) {
			create(t, srv, "/a", "")
			c := connect(t, srv)
			lose(srv, -1, zktest.Verdict{Lose: true, Close: true})
			_, _, err := c.CreateProtected(t.Context(), "/a/b", nil, mode, nil)
			wantErr(t, err, client.ErrConnectionLoss)
			outcome(t, err, client.OutcomeUnknown, true)
			pass(timeout)
			equal(t, "left", len(srv.Children("/a")), 0)
			equal(t, "cleanups", c.CleanupsPending(), 0)
		})
	}
}

func TestCreateProtectedThatFailsFast(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a", "")
		c := connect(t, srv, client.FailFast())
		srv.CloseAfter(zktest.Match{Op: proto.OpCreate2})
		_, _, err := c.CreateProtected(t.Context(), "/a/b", nil, client.ModePersistentSequential, nil)
		if err == nil {
			return // it was connected again in time
		}
		wantErr(t, err, client.ErrDisconnected)
		outcome(t, err, client.OutcomeUnknown, true)
		pass(timeout)
		equal(t, "left", len(srv.Children("/a")), 0)
	})
}

// The parent goes with what was created below it.
func TestCreateProtectedLosesItsParent(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a", "")
		c := connect(t, srv)
		srv.OnRequest(func(req *zktest.Request) zktest.Verdict {
			if req.Op != proto.OpCreate2 || !srv.Exists("/a") {
				return zktest.Verdict{}
			}
			_ = srv.Delete("/a")
			return zktest.Verdict{Skip: true, Close: true}
		})
		_, _, err := c.CreateProtected(t.Context(), "/a/b", nil, client.ModeEphemeralSequential, nil)
		wantErr(t, err, client.ErrNoNode)
		outcome(t, err, client.OutcomeRejected, false)
	})
}

func TestCreateProtectedRefuses(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		var none context.Context
		c, ctx := connect(t, srv), t.Context()
		before := srv.Snapshot().Requests
		for _, mode := range []client.CreateMode{client.ModePersistentTTL, client.ModePersistentSequentialTTL, -1, 7} {
			_, _, err := c.CreateProtected(ctx, "/a", nil, mode, nil)
			var bad *client.ModeError
			if !errors.As(err, &bad) {
				t.Errorf("mode %d: %v", mode, err)
			}
		}
		for _, path := range []string{"", "a", "/", "/a/", "/a//b"} {
			_, _, err := c.CreateProtected(ctx, path, nil, client.ModePersistent, nil)
			var bad *client.PathError
			if !errors.As(err, &bad) || bad.Path != path {
				t.Errorf("path %q: %v", path, err)
			}
			outcome(t, err, client.OutcomeNotSent, false)
		}
		_, _, err := c.CreateProtected(none, "/a", nil, client.ModePersistent, nil)
		wantErr(t, err, client.ErrNilContext)
		_, _, err = new(client.Client).CreateProtected(ctx, "/a", nil, client.ModePersistent, nil)
		wantErr(t, err, client.ErrZeroValue)
		_, _, err = c.CreateProtected(cancelled(), "/a", nil, client.ModePersistent, nil)
		wantErr(t, err, context.Canceled)
		outcome(t, err, client.OutcomeNotSent, false)
		equal(t, "requests", srv.Snapshot().Requests, before)
		equal(t, "cleanups", c.CleanupsPending(), 0)
	})
}

// A server that is busy during the recovery is asked again.
func TestCreateProtectedThrottled(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a", "")
		c, creates := connect(t, srv), 0
		srv.OnRequest(func(req *zktest.Request) zktest.Verdict {
			if !isCreate(req.Op) {
				return zktest.Verdict{}
			}
			creates++
			switch creates {
			case 1:
				return zktest.Verdict{Lose: true, Close: true}
			case 2:
				return zktest.Verdict{Err: proto.ErrThrottled}
			}
			return zktest.Verdict{}
		})
		path, _, err := c.CreateProtected(t.Context(), "/a/b-", nil, client.ModePersistentSequential, nil)
		must(t, err)
		synctest.Wait()
		equal(t, "left", srv.Children("/a"), []string{path[len("/a/"):]})
	})
}

// Where the parent cannot be listed, what is known to be ours is deleted all the same.
func TestCreateProtectedWithoutAList(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a", "")
		c := connect(t, srv)
		must(t, srv.SetACL("/a", client.WorldACL(client.PermCreate|client.PermDelete)))
		lose(srv, 1, zktest.Verdict{Lose: true, Close: true})
		_, _, err := c.CreateProtected(t.Context(), "/a/b-", nil, client.ModePersistentSequential, nil)
		wantErr(t, err, client.ErrNoAuth)
		equal(t, "MaybeApplied", client.MaybeApplied(err), true)
		synctest.Wait()
		equal(t, "left, since nobody can see it", len(srv.Children("/a")), 1)
	})
}
