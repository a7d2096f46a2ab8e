package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/internal/load"
	"github.com/lockkeeper/lockkeeper/internal/load/embedded"
	"github.com/lockkeeper/lockkeeper/internal/peer"
)

// site is where a comparison runs. The clients connect to addr; bare says that it keeps no tree.
type site struct {
	name  string
	addr  string
	bare  bool
	java  bool // started here, with a compiler that has yet to see some load
	close func() error
}

// startPeer starts the canned peer in this process: it allocates nothing, so memory figures are the client's all the same.
func startPeer(behind int) (*site, error) {
	s := peer.New(peer.Options{Behind: behind})
	addr, err := s.Listen()
	if err != nil {
		return nil, err
	}
	return &site{name: "peer", addr: addr, bare: true, close: func() error {
		s.Close()
		return nil
	}}, nil
}

// startEmbedded starts zktest in a child process.
func startEmbedded(ctx context.Context, rtt time.Duration) (*site, error) {
	s, err := embedded.Start(ctx, embedded.Options{RTT: rtt})
	if err != nil {
		return nil, err
	}
	return &site{name: "embedded server", addr: s.Servers(), close: s.Close}, nil
}

// startReal starts a real server with its data in memory, or uses those that ZK_SERVERS names. Without any the error
// matches zkserver.ErrNotFound.
func startReal(ctx context.Context) (*site, error) {
	o := zkserver.Options{Benchmark: true}
	if os.Getenv("ZK_SERVERS") != "" {
		o = zkserver.Options{} // they are as they are
	}
	e, err := zkserver.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	return &site{name: "real server", addr: e.ConnectString(), java: o.Benchmark, close: e.Close}, nil
}

// warmUp gives a server the load that its compiler needs before anything is measured.
func warmUp(ctx context.Context, s *site) error {
	_, err := load.Run(ctx, &load.Config{
		Driver: load.Lockkeeper{}, Servers: s.addr, Workload: load.Lock, Sessions: 1, Goroutines: 1, Locks: 1,
		Warmup: ratioWarmup, Duration: jvmWarmup, Pipelined: true,
	})
	return err
}

// distant puts a proxy before the site, which is closed with it.
func (s *site) distant(ctx context.Context, rtt time.Duration) (*site, error) {
	p, err := embedded.Start(ctx, embedded.Options{RTT: rtt, Servers: s.addr})
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return &site{
		name: fmt.Sprintf("%s, %v away", s.name, rtt), addr: p.Servers(), bare: s.bare, java: s.java,
		close: func() error { return errors.Join(p.Close(), s.close()) },
	}, nil
}
