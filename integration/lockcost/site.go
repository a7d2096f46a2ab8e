package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lockkeeper/lockkeeper/admin"
	"github.com/lockkeeper/lockkeeper/integration/faultproxy"
	"github.com/lockkeeper/lockkeeper/integration/wirecount"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

// site is what servers there are, and where they have their data.
type site struct {
	name    string
	short   name
	members int
	onDisk  bool
}

var sites = []site{
	{"one server, in memory", "one-memory", 1, false},
	{"one server, on a disk", "one-disk", 1, true},
	{"three servers, in memory", "three-memory", 3, false},
	{"three servers, on a disk", "three-disk", 3, true},
}

func (s site) key() string { return string(s.short) }

func (s site) folder(o *options) string {
	if s.onDisk {
		return o.disk
	}
	return o.memory
}

// checkFolder refuses a folder that is not of the kind that the site's name says.
func (s site) checkFolder(o *options) error {
	memory, err := inMemory(s.folder(o))
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil // the user knows
	case err != nil:
		return err
	case memory && s.onDisk:
		return fmt.Errorf("-disk %s is in memory: name a folder on a disk, or leave %s out with -sites", s.folder(o), s.short)
	case !memory && !s.onDisk:
		return fmt.Errorf("-memory %s is not in memory", s.folder(o))
	}
	return nil
}

// startServers starts servers that are as fast as they can be.
func startServers(ctx context.Context, o zkserver.Options) (*zkserver.Ensemble, func() error, error) {
	o.Benchmark = true
	ens, err := zkserver.Start(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	return ens, ens.Close, nil
}

// rig is the servers of a site. The leader, or the only one, is the last: sessions are spread over them in this order, so that a
// single session is with a follower, as most are.
type rig struct {
	servers []*zkserver.Server
	words   int64 // four-letter words that were asked, which servers count as packets
}

func newRig(ctx context.Context, ens *zkserver.Ensemble) (*rig, error) {
	leader, err := ens.Leader(ctx)
	if err != nil {
		return nil, err
	}
	r := &rig{servers: ens.Servers()}
	slices.SortStableFunc(r.servers, func(a, b *zkserver.Server) int { return cmp.Compare(rank(a, leader), rank(b, leader)) })
	return r, nil
}

func rank(s, leader *zkserver.Server) int {
	if s == leader {
		return 1
	}
	return 0
}

// leader returns the server that led when the rig was made.
func (r *rig) leader() *zkserver.Server { return r.servers[len(r.servers)-1] }

// proxies puts a proxy before each server, in the order of the servers.
func (r *rig) proxies(counter *wirecount.Counter) (addrs []string, stop func() error, err error) {
	var all []*faultproxy.Proxy
	stop = func() (err error) {
		for _, p := range all {
			err = errors.Join(err, p.Close())
		}
		return err
	}
	for _, s := range r.servers {
		p, err := faultproxy.Listen(s.Addr(), faultproxy.Options{Conn: counter.Conn})
		if err != nil {
			return nil, nil, errors.Join(err, stop())
		}
		all = append(all, p)
		addrs = append(addrs, p.Addr())
	}
	return addrs, stop, nil
}

// account is what the servers themselves know of what they have done. Only differences say something.
type account struct {
	received int64 // packets from clients, of all servers, without the words that the rig has asked
	fsyncs   int64 // of the leader
	txns     int64 // of the ensemble, those that failed too
}

// ask takes the account. It fails when another server leads than the rig knows.
func (r *rig) ask(ctx context.Context) (a account, err error) {
	st, err := r.leader().Status(ctx)
	if err != nil {
		return a, err
	}
	r.words++
	if st.Mode == zkserver.ModeFollower {
		return a, fmt.Errorf("server %d does not lead any more", r.leader().ID())
	}
	a.txns = int64(uint32(st.Zxid))
	for _, s := range r.servers {
		m, err := admin.Server{Addr: s.Addr()}.Mntr(ctx)
		if err != nil {
			return a, err
		}
		r.words++ // a server counts the word that it is answering
		a.received += m.PacketsReceived
		if s == r.leader() {
			a.fsyncs, _ = m.Int("zk_cnt_fsynctime") // servers before 3.6 do not tell, which leaves 0
		}
	}
	a.received -= r.words
	return a, nil
}

// minus returns what has been done since before.
func (a account) minus(before account) account {
	return account{a.received - before.received, a.fsyncs - before.fsyncs, a.txns - before.txns}
}
