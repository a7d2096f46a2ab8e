package scale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/load"
	"github.com/lockkeeper/lockkeeper/internal/peer"
	"github.com/lockkeeper/lockkeeper/proto"
)

// readPath is the znode that is read. It lies on the peer, where every path exists.
const readPath = "/perf"

// The sizes on the wire of a getData and of its reply without the data: lengths, header, path and watch flag; and length, header,
// length of the data, Stat.
var (
	requestSize = 4 + 8 + 4 + len(readPath) + 1
	replySize   = 4 + proto.ReplyHeaderSize + 4 + len((&proto.Stat{}).AppendTo(nil))
)

// read makes one read and returns how many bytes of data came.
type read func() (int, error)

// warmReads come before what is measured: buffers grow then.
const warmReads = 4

// payload reads x bytes again and again.
func payload(ctx context.Context, r *runner, s subject, x int) ([]float64, error) {
	prepare := plainReads
	if s.driver != nil {
		prepare = s.reads
	}
	read, end, err := prepare(ctx, x)
	if err != nil {
		return nil, err
	}
	defer end()
	for range warmReads {
		if err := once(read, x); err != nil {
			return nil, err
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n, began := 0, time.Now()
	for ; !r.enough(n, began); n++ {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := once(read, x); err != nil {
			return nil, err
		}
	}
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	reads := float64(n)
	return []float64{
		reads * float64(replySize+x) / took.Seconds(),
		math.Round(float64(after.TotalAlloc-before.TotalAlloc) / reads), // what the runtime allocates now and then is no byte of them
	}, nil
}

// once makes one read, which must bring x bytes.
func once(read read, x int) error {
	n, err := read()
	if err == nil && n != x {
		err = fmt.Errorf("a read brought %d bytes of data, not %d", n, x)
	}
	return err
}

// reads returns reads by the client from a peer with x bytes in every znode.
func (s subject) reads(ctx context.Context, x int) (read, func(), error) {
	p := peer.New(peer.Options{Data: make([]byte, x)})
	addr, err := p.Listen()
	if err != nil {
		return nil, nil, err
	}
	ss, err := s.driver.Open(ctx, addr)
	if err != nil {
		p.Close()
		return nil, nil, err
	}
	end := func() {
		_ = ss.Close() // the peer forgets it in any case
		p.Close()
	}
	rs, ok := ss.(load.Reading)
	if !ok {
		end()
		return nil, nil, fmt.Errorf("%s reads no data: %w", s.name, errors.ErrUnsupported)
	}
	buf := make([]byte, x)
	return func() (int, error) { return rs.Read(ctx, readPath, buf) }, end, nil
}

// plainReads returns reads that are no more than what the sockets do: as many bytes as the request has go one way, as many as the
// reply has come back, between two goroutines that look at none of them.
func plainReads(_ context.Context, x int) (read, func(), error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer ln.Close()
	near, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		return nil, nil, err
	}
	far, err := ln.Accept()
	if err != nil {
		_ = near.Close()
		return nil, nil, err
	}
	var answering sync.WaitGroup
	// answerer, owned by whoever calls end, ends with the connection.
	answering.Go(func() { answer(far, x) })
	end := func() {
		_ = near.Close()
		answering.Wait()
	}
	req, rep := make([]byte, requestSize), make([]byte, replySize+x)
	return func() (int, error) {
		if _, err := near.Write(req); err != nil {
			return 0, err
		}
		n, err := io.ReadFull(near, rep)
		return n - replySize, err
	}, end, nil
}

// answer sends a reply for each request until the connection ends.
func answer(nc net.Conn, x int) {
	defer nc.Close()
	req, rep := make([]byte, requestSize), make([]byte, replySize+x)
	for {
		if _, err := io.ReadFull(nc, req); err != nil {
			return
		}
		if _, err := nc.Write(rep); err != nil {
			return
		}
	}
}
