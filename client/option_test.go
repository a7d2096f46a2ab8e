package client_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestBadOptions(t *testing.T) {
	for _, tc := range []struct {
		name string
		opt  client.Option
	}{
		{"SessionTimeout", client.SessionTimeout(0)},
		{"SessionTimeout", client.SessionTimeout(-time.Second)},
		{"SessionTimeout", client.SessionTimeout(time.Microsecond)},
		{"SessionTimeout", client.SessionTimeout(1 << 31 * time.Millisecond)},
		{"TLS", client.TLS(nil)},
		{"Dialer", client.Dialer(nil)},
		{"Resolver", client.Resolver(nil)},
		{"Rand", client.Rand(nil)},
		{"ReceiveLimit", client.ReceiveLimit(0)},
		{"ReceiveLimit", client.ReceiveLimit(83)},
		{"ReceiveLimit", client.ReceiveLimit(-1)},
		{"SendLimit", client.SendLimit(0)},
		{"SendLimit", client.SendLimit(127)},
		{"InFlight", client.InFlight(0, 1)},
		{"InFlight", client.InFlight(1, 0)},
		{"Auth", client.Auth("", []byte("user:password"))},
		{"DefaultACL", client.DefaultACL(nil)},
		{"DefaultACL", client.DefaultACL([]client.ACL{})},
		{"CloseBound", client.CloseBound(0)},
		{"Backoff", client.Backoff(0, time.Second)},
		{"Backoff", client.Backoff(time.Second, time.Millisecond)},
		{"number 1", nil},
	} {
		for what, open := range map[string]func(opts ...client.Option) (*client.Client, error){
			"Connect": func(opts ...client.Option) (*client.Client, error) { return client.Connect(t.Context(), "zk", opts...) },
			"Lazy":    func(opts ...client.Option) (*client.Client, error) { return client.Lazy("zk", opts...) },
		} {
			c, err := open(client.FailFast(), tc.opt)
			var bad *client.OptionError
			if c != nil || !errors.As(err, &bad) || bad.Option != tc.name {
				t.Errorf("%s with a bad %s: %v", what, tc.name, err)
			}
		}
	}
}

func TestGoodOptions(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		var log strings.Builder
		resolved := 0
		acl := client.WorldACL(client.PermRead | client.PermCreate)
		c := connect(t, srv,
			client.SessionTimeout(time.Hour), client.SessionTimeout(7*time.Second), // the last one counts
			client.Resolver(func(_ context.Context, host string) ([]string, error) {
				resolved++
				return []string{"192.0.2.1"}, nil
			}),
			client.Rand(func() uint64 { return 0 }), client.Logger(slog.New(slog.NewTextHandler(&log, nil))),
			client.ReceiveLimit(128), client.SendLimit(128), client.InFlight(1, 1), client.LeaderProof(false),
			client.CloseBound(time.Second), client.Backoff(time.Second, time.Second), client.DefaultACL(acl))
		acl[0].Perms = client.PermAll // the option has a copy
		equal(t, "session timeout", c.SessionTimeout(), 7*time.Second)
		equal(t, "lookups", resolved, 1)
		equal(t, "address", srv.Sessions()[0].Member, "192.0.2.1:2181")
		equal(t, "default ACL", c.DefaultACL(), client.WorldACL(client.PermRead|client.PermCreate))
		_, _, err := c.Create(t.Context(), "/a", nil, client.ModePersistent, nil)
		must(t, err)
		got, _, err := c.GetACL(t.Context(), "/a")
		must(t, err)
		equal(t, "ACL", got, client.WorldACL(client.PermRead|client.PermCreate))
		_, err = c.Set(t.Context(), "/a", make([]byte, 128), client.AnyVersion)
		var large *client.RequestTooLargeError
		if !errors.As(err, &large) || large.Limit != 128 || large.Op != proto.OpSetData {
			t.Errorf("a request over the send limit: %v", err)
		}
		must(t, c.Close())
		if !strings.Contains(log.String(), "session connected") || !strings.Contains(log.String(), "session closed") {
			t.Errorf("log: %s", log.String())
		}
	})
}

func TestDefaults(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, err := client.Connect(t.Context(), "zk", client.Dialer(srv.Dial), client.Logger(nil))
		must(t, err)
		defer c.Close()
		equal(t, "session timeout", c.SessionTimeout(), 10*time.Second)
		equal(t, "default ACL", c.DefaultACL(), client.WorldACL(client.PermAll))
		equal(t, "chroot", c.Chroot(), "")
	})
}
