package client_test

import (
	"slices"
	"testing"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestACLsAsTheyAreSent(t *testing.T) {
	for want, acl := range map[client.ACL][]client.ACL{
		{Perms: 1, ID: client.ID{Scheme: "world", ID: "anyone"}}:                            client.WorldACL(client.PermRead),
		{Perms: 31, ID: client.ID{Scheme: "auth"}}:                                          client.CreatorACL(client.PermAll),
		{Perms: 3, ID: client.ID{Scheme: "digest", ID: "bob:fyVmFCwVbTJYrznoSu1koqYEYF0="}}: client.DigestACL(client.PermRead|client.PermWrite, "bob", "secret"),
		{Perms: 1, ID: client.ID{Scheme: "ip", ID: "10.0.0.0/8"}}:                           client.IPACL(client.PermRead, "10.0.0.0/8"),
		{Perms: 31, ID: client.ID{Scheme: "x509", ID: "CN=app,OU=ops,O=example"}}:           client.X509ACL(client.PermAll, "CN=app,OU=ops,O=example"),
		{Perms: 1, ID: client.ID{Scheme: "sasl", ID: "bob"}}:                                client.SASLACL(client.PermRead, "bob"),
	} {
		equal(t, "ACL", acl, []client.ACL{want})
	}
}

func TestDigestACL(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		acl := slices.Concat(client.DigestACL(client.PermAll, "bob", "secret"), client.WorldACL(client.PermRead))
		_, _, err := c.Create(ctx, "/a", nil, client.ModePersistent, acl)
		must(t, err)
		_, err = c.Set(ctx, "/a", []byte("x"), client.AnyVersion)
		wantErr(t, err, client.ErrNoAuth)
		_, _, err = c.Get(ctx, "/a")
		must(t, err)
		must(t, c.AddAuth(ctx, "digest", []byte("bob:secret")))
		_, err = c.Set(ctx, "/a", []byte("x"), client.AnyVersion)
		must(t, err)
		_, _, err = c.Create(ctx, "/b", nil, client.ModePersistent, client.DigestACL(client.PermAll, "bob:smith", "secret"))
		wantErr(t, err, client.ErrInvalidACL)
		_, _, err = c.Create(ctx, "/b", nil, client.ModePersistent, client.IPACL(client.PermAll, "nonsense"))
		wantErr(t, err, client.ErrInvalidACL)
	})
}
