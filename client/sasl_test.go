package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// saslBubble is bubble with a server that authenticates the user app by SASL.
func saslBubble(t *testing.T, f func(t *testing.T, srv *zktest.Server), opts ...zktest.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.New(append(opts, zktest.SASL("app", "secret"))...)
		t.Cleanup(func() { srv.Close() })
		must(t, func() error { _, err := srv.Create("/secret", nil, client.ModePersistent); return err }())
		must(t, srv.SetACL("/secret", []client.ACL{{Perms: client.PermAll, ID: client.ID{Scheme: "sasl", ID: "app"}}}))
		f(t, srv)
	})
}

func app() client.Option { return client.SASL(client.DigestMD5("app", []byte("secret"))) }

func TestSASL(t *testing.T) { // C128, C133
	for name, opts := range map[string][]zktest.Option{"when asked": nil, "enforced": {zktest.EnforceSASL()}} {
		t.Run(name, func(t *testing.T) {
			saslBubble(t, func(t *testing.T, srv *zktest.Server) {
				c := connect(t, srv, app(), client.Auth("digest", []byte("al:pw")), client.MinServer("3.7"))
				who, err := c.WhoAmI(t.Context())
				must(t, err)
				found := false
				for _, id := range who {
					found = found || id == client.Identity{Scheme: "sasl", User: "app"}
				}
				equal(t, "is sasl:app", found, true)
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
			}, opts...)
		})
	}
}

// final asserts what is promised about an authentication that failed when connecting.
func final(t *testing.T, c *client.Client, err, want error) {
	t.Helper()
	wantErr(t, err, client.ErrAuthFailed)
	wantErr(t, err, net.ErrClosed)
	wantErr(t, err, want)
	var auth *client.AuthError
	var servers *client.ServersError
	if c != nil || !errors.As(err, &auth) || auth.Server != "zk:2181" || !errors.As(err, &servers) || !errors.Is(servers, want) {
		t.Errorf("%v, %v", c, err)
	}
	if errors.Is(err, context.DeadlineExceeded) || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), "hush") {
		t.Errorf("%v", err)
	}
}

func TestConnectWithSASLThatIsRefused(t *testing.T) { // C133, C134, F38
	saslBubble(t, func(t *testing.T, srv *zktest.Server) {
		began := time.Now()
		var log strings.Builder
		c, err := client.Connect(t.Context(), "zk", client.Dialer(srv.Dial), client.SASL(client.DigestMD5("app", []byte("hush"))),
			client.Logger(slog.New(slog.NewTextHandler(&log, nil))))
		final(t, c, err, client.ErrAuthFailed)
		equal(t, "time taken", time.Since(began), 0)
		equal(t, "connections", srv.Snapshot().Connections, 1)
		if strings.Contains(log.String(), "hush") || strings.Contains(log.String(), "response=") {
			t.Errorf("the log holds secrets: %s", &log)
		}
		var digest *client.DigestError
		c, err = client.Connect(t.Context(), "zk", client.Dialer(srv.Dial), client.SASL(client.DigestMD5("app", []byte("h\xfcsh"))))
		final(t, c, err, client.ErrAuthFailed)
		equal(t, "typed", errors.As(err, &digest), true)
	})
	saslBubble(t, func(t *testing.T, srv *zktest.Server) {
		c, err := client.Connect(t.Context(), "zk", client.Dialer(srv.Dial), client.SASL(client.DigestMD5("app", []byte("hush"))))
		final(t, c, err, client.ErrSessionClosedRequireSASL)
		c, err = client.Connect(t.Context(), "zk", client.Dialer(srv.Dial), client.Auth("digest", []byte("al:hush")))
		wantErr(t, err, client.ErrAuthFailed)
		wantErr(t, err, client.ErrSessionClosedRequireSASL)
		equal(t, "a client", c == nil, true)
	}, zktest.EnforceSASL())
}

func TestSASLOnAServerWithoutIt(t *testing.T) { // C133
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, err := client.Connect(t.Context(), "zk", client.Dialer(srv.Dial), app())
		final(t, c, err, client.ErrNoSASL)
		c = connect(t, srv, app(), client.SASLOptional())
		_, _, err = c.Exists(t.Context(), "/")
		must(t, err)
	})
}

// A client without an authentication on a server that enforces one learns of that by its first request, and once.
func TestAuthenticationIsRequired(t *testing.T) { // C134
	saslBubble(t, func(t *testing.T, srv *zktest.Server) {
		for name, ask := range map[string]func(c *client.Client){
			"requests": func(c *client.Client) {
				var results []<-chan error
				for range 3 {
					results = append(results, spawn(func() error { _, _, err := c.Get(t.Context(), "/secret"); return err }))
				}
				for _, r := range results {
					err := <-r
					wantErr(t, err, client.ErrAuthFailed)
					wantErr(t, err, client.ErrSessionClosedRequireSASL)
				}
			},
			"silence": func(c *client.Client) { <-c.Context().Done() },
		} {
			before := srv.Snapshot().Connections
			c := connect(t, srv)
			states := c.States(t.Context())
			ask(c)
			var seen []client.State
			for change := range states {
				seen = append(seen, change.State)
				if change.State == client.StateAuthFailed {
					wantErr(t, change.Err, client.ErrSessionClosedRequireSASL)
				}
			}
			equal(t, name+": states", seen, []client.State{client.StateConnected, client.StateAuthFailed})
			began := time.Now()
			_, _, err := c.Get(t.Context(), "/secret")
			wantErr(t, err, client.ErrSessionClosedRequireSASL)
			wantErr(t, err, net.ErrClosed)
			outcome(t, err, client.OutcomeNotSent, false)
			wantErr(t, c.AddAuth(t.Context(), "digest", []byte("al:pw")), client.ErrAuthFailed)
			wantErr(t, context.Cause(c.Context()), client.ErrAuthFailed)
			equal(t, "time taken", time.Since(began), 0)
			pass(time.Minute)
			equal(t, "connections", srv.Snapshot().Connections-before, 1)
		}
	}, zktest.EnforceSASL())
}

// script is a mechanism of somebody else: it says what it is told to.
type script struct{ err error }

func (s script) Start(context.Context, string) (client.Exchange, error) { return s, s.err }

func (s script) Next(context.Context, []byte) ([]byte, bool, error) { return nil, true, nil }

func TestForeignMechanism(t *testing.T) {
	saslBubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv, client.SASL(script{}))
		equal(t, "may read", mayRead(t, c), false)
		c, err := client.Connect(t.Context(), "zk", client.Dialer(srv.Dial), client.SASL(script{fmt.Errorf("no key: %w", client.ErrAuthFailed)}))
		final(t, c, err, client.ErrAuthFailed)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		trouble := errors.New("no ticket now")
		_, err = client.Connect(ctx, "zk", client.Dialer(srv.Dial), client.SASL(script{trouble}))
		var attempt *client.SASLError
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, trouble) || !errors.As(err, &attempt) || errors.Is(err, client.ErrAuthFailed) {
			t.Errorf("%v", err)
		}
	})
	_, err := client.Lazy("zk", client.SASL(nil))
	var bad *client.OptionError
	equal(t, "refused", errors.As(err, &bad) && bad.Option == "SASL", true)
}

// What servers refuse for the moment, or for good, can be told apart by type.
func TestRefusalsAreDistinguishable(t *testing.T) { // C57
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		for _, code := range []client.Code{client.ErrThrottled, client.ErrQuotaExceeded} {
			srv.Fail(zktest.Match{Op: proto.OpSetData, Times: 1}, code)
			_, err := c.Set(t.Context(), "/", nil, client.AnyVersion)
			wantErr(t, err, code)
			outcome(t, err, client.OutcomeRejected, false)
			for _, other := range []error{client.ErrThrottled, client.ErrQuotaExceeded, client.ErrAuthFailed, client.ErrConnectionLoss, net.ErrClosed} {
				equal(t, fmt.Sprintf("%v matches %v", code, other), errors.Is(err, other), other == error(code))
			}
		}
		equal(t, "state", c.State(), client.StateConnected)
	})
}
