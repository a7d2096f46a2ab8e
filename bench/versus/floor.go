package main

import (
	"context"
	"time"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/proto"
)

// floorWindow is how many batches the hand-made loop has under way.
const floorWindow = 8

// floor measures what a hand-made loop of exists reaches, which no client can be expected to exceed: requests that were
// encoded once, replies that nobody looks at. Requests are written in batches; more than one at a time also means that
// several batches are under way. It returns requests per second.
func floor(ctx context.Context, addr string, batch int, d time.Duration) (float64, error) {
	fc, err := byHand(ctx, addr)
	if err != nil {
		return 0, err
	}
	defer fc.Close()
	loop := inBatches
	if batch == 1 {
		loop = oneByOne
	}
	began := time.Now()
	n, err := loop(fc, existsFrames(batch), batch, func() bool { return time.Since(began) < d && ctx.Err() == nil })
	return float64(n) / time.Since(began).Seconds(), err
}

// byHand is a session that nobody looks after.
func byHand(ctx context.Context, addr string) (*conn.Conn, error) {
	fc, err := conn.Dial(ctx, addr, nil)
	if err != nil {
		return nil, err
	}
	hello := &proto.ConnectRequest{TimeOut: int32(sessionTimeout.Milliseconds()), Passwd: make([]byte, 16)}
	if _, err := fc.Handshake(ctx, hello); err != nil {
		_ = fc.Close()
		return nil, err
	}
	return fc, nil
}

func existsFrames(n int) []byte {
	var frames []byte
	for range n {
		start := 0
		frames, start = conn.BeginFrame(frames)
		frames = (&proto.RequestHeader{Xid: 1, Type: int32(proto.OpExists)}).AppendTo(frames)
		frames = (&proto.ExistsRequest{Path: "/perf"}).AppendTo(frames)
		conn.EndFrame(frames, start)
	}
	return frames
}

// oneByOne waits for each reply before the next request.
func oneByOne(fc *conn.Conn, frame []byte, _ int, more func() bool) (n int, err error) {
	for ; err == nil && more(); n++ {
		if err = fc.WriteBatch(frame); err == nil {
			_, err = fc.ReadFrame()
		}
	}
	return n, err
}

// inBatches keeps a window of batches under way.
func inBatches(fc *conn.Conn, frames []byte, batch int, more func() bool) (n int, err error) {
	slots := make(chan struct{}, floorWindow)
	// writer, owned by inBatches, ends when there is no more to write, or by the connection's end.
	go func() {
		defer close(slots)
		for more() {
			slots <- struct{}{}
			if fc.WriteBatch(frames) != nil {
				return // the reader sees that too
			}
		}
	}()
	for range slots {
		for range batch {
			if err == nil {
				_, err = fc.ReadFrame()
			}
		}
		if err != nil {
			_ = fc.Close() // ends the writer; the slots still have to be drained
			continue
		}
		n += batch
	}
	return n, err
}
