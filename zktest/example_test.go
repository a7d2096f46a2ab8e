package zktest_test

import (
	"context"
	"fmt"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// A server, a znode made from outside, and a client that is no more than a connection. A real client is given srv.Dial as
// its dial function, or the address of srv.Listen.
func ExampleNew() {
	srv := zktest.New()
	defer func() { _ = srv.Close() }() // it always returns nil
	if _, err := srv.Create("/config", []byte("v1"), proto.ModePersistent); err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	fc, err := conn.Dial(ctx, "zk1:2181", &conn.Config{Dial: srv.Dial})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = fc.Close() }()
	rep, err := fc.Handshake(ctx, &proto.ConnectRequest{TimeOut: 1000, Passwd: make([]byte, 16)})
	fmt.Println(rep.TimeOut, err)
	fmt.Println(srv.Children("/"), len(srv.Sessions()))
	// Output:
	// 4000 <nil>
	// [config zookeeper] 1
}
