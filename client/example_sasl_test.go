package client_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func ExampleDigestMD5() {
	srv := zktest.New(zktest.SASL("app", "secret"))
	defer srv.Close()
	ctx := context.Background()

	c, err := client.Connect(ctx, "zk", client.Dialer(srv.Dial), client.SASL(client.DigestMD5("app", []byte("secret"))))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	_, _, err = c.Create(ctx, "/mine", nil, client.ModePersistent, client.CreatorACL(client.PermAll))
	acl, _, _ := c.GetACL(ctx, "/mine")
	fmt.Println(acl[0].ID.Scheme, acl[0].ID.ID, err)

	_, err = client.Connect(ctx, "zk", client.Dialer(srv.Dial), client.SASL(client.DigestMD5("app", []byte("guess"))))
	fmt.Println(errors.Is(err, client.ErrAuthFailed))
	// Output:
	// sasl app <nil>
	// true
}
