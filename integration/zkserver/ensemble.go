package zkserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockkeeper/lockkeeper/integration/loopback"
)

// attempts bounds how often other ports are tried when one is taken.
const attempts = 3

// Ensemble is the servers that belong together: one standalone server, or the members that elect a leader. It is
// immutable; its methods may be called from any goroutine.
type Ensemble struct {
	servers []*Server
	links   map[pair]*Link // empty without Options.QuorumProxies
	ports   []*loopback.Port
	dir     string // removed by Close; empty when the servers run elsewhere
}

// Start starts servers and returns when all serve. The caller owns them until Close. ctx bounds the start only; without a
// deadline a minute does. Without anything to start, or when ZK_SERVERS names servers and the options need others, the
// error matches ErrNotFound, in the second case ErrNotOurs too.
func Start(ctx context.Context, o Options) (*Ensemble, error) {
	if addrs := running(); len(addrs) > 0 {
		return elsewhere(ctx, o, addrs)
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	in, err := find(o.Version)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		e, err := start(ctx, in, o)
		if try == attempts || !errors.Is(err, ErrTaken) {
			return e, err
		}
	}
}

// elsewhere is the ensemble that runs already.
func elsewhere(ctx context.Context, o Options, addrs []string) (*Ensemble, error) {
	if o.own() || o.Members > len(addrs) {
		return nil, fmt.Errorf("%w: ZK_SERVERS names running ones, and this needs servers of its own: %w", ErrNotFound, ErrNotOurs)
	}
	e := &Ensemble{}
	for i, addr := range addrs {
		e.servers = append(e.servers, &Server{id: i + 1, addr: addr})
	}
	return e, e.Wait(ctx)
}

// start makes one attempt with ports of its own; what it started it ends when it fails.
func start(ctx context.Context, in installation, o Options) (*Ensemble, error) {
	e := &Ensemble{links: make(map[pair]*Link)}
	err := e.prepare(in, o)
	for _, s := range e.servers {
		if err == nil {
			err = s.Start()
		}
	}
	if err == nil {
		err = e.Wait(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// prepare chooses ports and writes the configuration of all servers.
func (e *Ensemble) prepare(in installation, o Options) error {
	parent := o.Dir
	if parent == "" {
		parent = tempParent()
	}
	dir, err := os.MkdirTemp(parent, "zkserver-")
	if err != nil {
		return err
	}
	e.dir = dir
	clients := make([]*loopback.Port, o.Members)
	for i := range clients {
		if clients[i], err = e.reserve(); err != nil {
			return err
		}
	}
	w, err := e.wire(o, clients)
	if err != nil {
		return err
	}
	for i, port := range clients {
		if err := e.add(in, o, port, w.seenBy(i+1)); err != nil {
			return err
		}
	}
	return nil
}

// add lays out the next server.
func (e *Ensemble) add(in installation, o Options, port *loopback.Port, members []member) error {
	id := len(e.servers) + 1
	s := &Server{id: id, addr: port.Addr(), dir: filepath.Join(e.dir, strconv.Itoa(id)), program: in.java, ours: true}
	s.log = filepath.Join(s.dir, "server.log")
	if o.TLS != nil {
		secure, err := e.reserve()
		if err != nil {
			return err
		}
		s.secure, o = secure.Addr(), o.secured(id, secure.Number())
	}
	config, err := writeConfig(o, s.dir, id, port.Number(), members)
	if err != nil {
		return err
	}
	if s.arguments, err = in.arguments(o, s.dir, config); err != nil {
		return err
	}
	e.servers = append(e.servers, s)
	return nil
}

// reserve borrows a port until Close.
func (e *Ensemble) reserve() (*loopback.Port, error) {
	p, err := loopback.Reserve()
	if err == nil {
		e.ports = append(e.ports, p)
	}
	return p, err
}

// Servers returns the servers; the slice is the caller's. Server(i) is the one numbered i, from 1.
func (e *Ensemble) Servers() []*Server { return slices.Clone(e.servers) }

// Server returns the server with a number, from 1, and nil if there is none.
func (e *Ensemble) Server(id int) *Server {
	if id < 1 || id > len(e.servers) {
		return nil
	}
	return e.servers[id-1]
}

// ConnectString names all servers, as clients take it.
func (e *Ensemble) ConnectString() string {
	addrs := make([]string, len(e.servers))
	for i, s := range e.servers {
		addrs[i] = s.addr
	}
	return strings.Join(addrs, ",")
}

// SecureConnectString names the TLS ports of all servers, which have Options.TLS.
func (e *Ensemble) SecureConnectString() string {
	addrs := make([]string, len(e.servers))
	for i, s := range e.servers {
		addrs[i] = s.secure
	}
	return strings.Join(addrs, ",")
}

// Wait returns when all servers serve, or as Server.Wait does.
func (e *Ensemble) Wait(ctx context.Context) error {
	for _, s := range e.servers {
		if err := s.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Leader returns the server that says it leads, the standalone one included. While there is none it waits, until ctx ends
// or a minute has passed. A leader that lost its followers says so for up to Options.SyncLimit ticks more.
func (e *Ensemble) Leader(ctx context.Context) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, readyBound)
	defer cancel()
	every := time.NewTicker(pollEvery)
	defer every.Stop()
	for {
		for _, s := range e.servers {
			// A server that does not answer does not lead.
			if st, err := s.Status(ctx); err == nil && (st.Mode == ModeLeader || st.Mode == ModeStandalone) {
				return s, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("zkserver: no leader: %w", ctx.Err())
		case <-every.C:
		}
	}
}

// Followers returns the servers that say now that they follow a leader.
func (e *Ensemble) Followers(ctx context.Context) []*Server {
	return slices.DeleteFunc(e.Servers(), func(s *Server) bool {
		st, err := s.Status(ctx)
		return err != nil || st.Mode != ModeFollower
	})
}

// Close kills the servers, closes the proxies and removes the data. Servers that run elsewhere are left alone.
func (e *Ensemble) Close() error {
	var errs []error
	for _, s := range e.servers {
		if s.ours {
			errs = append(errs, s.Kill())
		}
	}
	for _, l := range e.links {
		errs = append(errs, l.close())
	}
	for _, p := range e.ports {
		errs = append(errs, p.Close())
	}
	if e.dir != "" {
		errs = append(errs, os.RemoveAll(e.dir))
	}
	return errors.Join(errs...)
}
