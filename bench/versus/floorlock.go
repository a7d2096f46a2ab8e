package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/proto"
)

// floorLock measures what a hand-made loop of a lock that nobody else wants reaches: the create of an ephemeral znode and the
// list of its siblings in one write, its deletion in the next. It returns holds per second.
func floorLock(ctx context.Context, addr string, d time.Duration) (float64, error) {
	addr, _, _ = strings.Cut(addr, ",") // of several servers the first will do
	c, err := client.Connect(ctx, addr)
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.Close() }() // what it has made is gone by then
	dir, _, err := c.Create(ctx, "/lockkeeper-floor-", nil, client.ModePersistentSequential, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.Delete(context.WithoutCancel(ctx), dir, client.AnyVersion) }() // a run that failed has said why
	fc, err := byHand(ctx, addr)
	if err != nil {
		return 0, err
	}
	defer fc.Close()
	node := dir + "/lock"
	create := proto.CreateRequest{Path: node, ACL: proto.WorldACL(proto.PermAll), Flags: int32(proto.ModeEphemeral)}
	acquire := request(nil, proto.OpCreate2, create.AppendTo)
	acquire = request(acquire, proto.OpGetChildren2, (&proto.GetChildren2Request{Path: dir}).AppendTo)
	release := request(nil, proto.OpDelete, (&proto.DeleteRequest{Path: node, Version: client.AnyVersion}).AppendTo)
	n, began := 0, time.Now()
	for ; err == nil && time.Since(began) < d && ctx.Err() == nil; n++ {
		if err = exchange(fc, acquire, 2); err == nil {
			err = exchange(fc, release, 1)
		}
	}
	return float64(n) / time.Since(began).Seconds(), err
}

// request appends one request.
func request(b []byte, op proto.Op, record func([]byte) []byte) []byte {
	b, start := conn.BeginFrame(b)
	b = record((&proto.RequestHeader{Xid: 1, Type: int32(op)}).AppendTo(b))
	conn.EndFrame(b, start)
	return b
}

// exchange writes b and reads so many replies, each of which must be a success.
func exchange(fc *conn.Conn, b []byte, replies int) error {
	if err := fc.WriteBatch(b); err != nil {
		return err
	}
	for range replies {
		frame, err := fc.ReadFrame()
		if err != nil {
			return err
		}
		for _, b := range frame[12:proto.ReplyHeaderSize] {
			if b != 0 {
				return fmt.Errorf("a request of the hand-made loop was refused: reply header % x", frame[:proto.ReplyHeaderSize])
			}
		}
	}
	return nil
}
