package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// secret makes a znode on the server that only bob may read.
func secret(t *testing.T, srv *zktest.Server) {
	t.Helper()
	create(t, srv, "/secret", "")
	must(t, srv.SetACL("/secret", []client.ACL{{Perms: client.PermAll, ID: client.ID{Scheme: "digest", ID: client.DigestID("bob", "pw")}}}))
}

func mayRead(t *testing.T, c *client.Client) bool {
	t.Helper()
	_, _, err := c.Get(t.Context(), "/secret")
	if err != nil && !errors.Is(err, client.ErrNoAuth) {
		t.Fatal(err)
	}
	return err == nil
}

func TestAddAuthWhileConnected(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		secret(t, srv)
		c := connect(t, srv)
		equal(t, "may read", mayRead(t, c), false)
		auth := []byte("bob:pw")
		must(t, c.AddAuth(t.Context(), "digest", auth))
		copy(auth, "eve:xx") // the client has a copy
		equal(t, "may read", mayRead(t, c), true)
		srv.DropConnections()
		for c.Sync(t.Context(), "/") != nil {
			continue // until the loss has been noticed
		}
		equal(t, "may read after a reconnect", mayRead(t, c), true)
		srv.ExpireSession(c.SessionID())
		for c.Sync(t.Context(), "/") != nil {
			continue // until the next session has taken over
		}
		equal(t, "may read in the next session", mayRead(t, c), true)
	})
}

func TestAddAuthWhileDisconnected(t *testing.T) {
	for name, opts := range map[string][]client.Option{"waiting": nil, "failing fast": {client.FailFast()}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				secret(t, srv)
				c := connect(t, srv, opts...)
				srv.Refuse(zktest.RefuseDial)
				srv.DropConnections()
				synctest.Wait()
				must(t, c.AddAuth(t.Context(), "digest", []byte("bob:pw")))
				srv.Refuse(zktest.Accept)
				awaitState(t, c, client.StateConnected)
				equal(t, "may read", mayRead(t, c), true)
			})
		})
	}
}

func TestAddAuthBeforeTheFirstConnection(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		secret(t, srv)
		srv.Member("zk:2181").Refuse(zktest.RefuseDial)
		c, err := client.Lazy("zk", client.Dialer(srv.Dial))
		must(t, err)
		defer c.Close()
		must(t, c.AddAuth(t.Context(), "digest", []byte("bob:pw")))
		result := spawn(func() error { _, _, err := c.Get(t.Context(), "/secret"); return err })
		synctest.Wait()
		srv.Refuse(zktest.Accept)
		must(t, <-result)
	})
}

// A connection that breaks under the auth request says nothing about the identity: the next one presents it.
func TestAddAuthWhoseConnectionBreaks(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		secret(t, srv)
		c := connect(t, srv)
		srv.StopReading(true)
		result := spawn(func() error { return c.AddAuth(t.Context(), "digest", []byte("bob:pw")) })
		synctest.Wait()
		srv.StopReading(false)
		srv.DropConnections()
		must(t, <-result)
		for c.Sync(t.Context(), "/") != nil {
			continue
		}
		equal(t, "may read", mayRead(t, c), true)
	})
}

func TestAddAuthCancelled(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		secret(t, srv)
		c := connect(t, srv)
		wantErr(t, c.AddAuth(cancelled(), "digest", []byte("bob:pw")), context.Canceled)
		srv.DropConnections()
		awaitState(t, c, client.StateDisconnected)
		awaitState(t, c, client.StateConnected)
		equal(t, "may read", mayRead(t, c), true)
	})
}

func TestRefusedCredentialsAreFinal(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		_, w, err := c.ExistsWatch(t.Context(), "/a")
		must(t, err)
		err = c.AddAuth(t.Context(), "nonsense", []byte("hush"))
		wantErr(t, err, client.ErrAuthFailed)
		if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), "hush") {
			t.Error("the error holds the secret")
		}
		awaitState(t, c, client.StateAuthFailed)
		_, _, err = c.Get(t.Context(), "/a")
		wantErr(t, err, client.ErrAuthFailed)
		wantErr(t, err, net.ErrClosed)
		outcome(t, err, client.OutcomeNotSent, false)
		<-w.Done()
		wantErr(t, w.Event().Err, client.ErrAuthFailed)
		wantErr(t, c.AddAuth(t.Context(), "digest", []byte("bob:pw")), client.ErrAuthFailed)
		equal(t, "connections", srv.Snapshot().Connections, 1)
	})
}

func TestConnectWithCredentials(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		secret(t, srv)
		auth := []byte("bob:pw")
		opt := client.Auth("digest", auth)
		copy(auth, "eve:xx")
		c := connect(t, srv, client.Auth("digest", []byte("al:pw")), opt)
		equal(t, "may read", mayRead(t, c), true)
		_, _, err := c.Create(t.Context(), "/mine", nil, client.ModePersistent, client.CreatorACL(client.PermAll))
		must(t, err)
		acl, _, err := c.GetACL(t.Context(), "/mine")
		must(t, err)
		equal(t, "identities", len(acl), 2)
	})
}

func TestConnectWithCredentialsThatAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, err := client.Connect(t.Context(), "zk/app", client.Dialer(srv.Dial), client.Auth("nonsense", []byte("hush")))
		wantErr(t, err, client.ErrAuthFailed)
		if c != nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%v, %v", c, err)
		}
	})
}
