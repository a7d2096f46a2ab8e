package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/integration/wirecount"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

// patience is how long one measurement may take, beside the time for which a lock is held.
const patience = 10 * time.Minute

// measureSite starts the servers of a site, measures, and prints. A client is measured once for nothing, so that the servers'
// compilers have seen everything.
func (o *options) measureSite(ctx context.Context, s site, clients []kind, stdout io.Writer, note notes) (err error) {
	ens, stop, err := o.start(ctx, zkserver.Options{Version: o.version, Members: s.members, Dir: s.folder(o), Own: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	r, err := newRig(ctx, ens)
	if err != nil {
		return err
	}
	st, err := r.leader().Status(ctx)
	if err != nil {
		return err
	}
	if users := contenders(clients); len(users) > 0 {
		note("%s: warming up", s.name)
		if _, err := r.measure(ctx, users[0], loads[1], o); err != nil {
			return fmt.Errorf("warm-up, %s: %w", users[0].name, err)
		}
	}
	chosenLoads, _ := chosen("-loads", o.loads, loads) // o was checked
	for _, l := range chosenLoads {
		kinds := clients
		if !l.idle {
			kinds = contenders(clients)
		}
		if len(kinds) == 0 {
			continue
		}
		costs, err := r.measureLoad(ctx, s, l, kinds, o, note)
		if err == nil {
			err = o.print(stdout, s, l, st.Version, kinds, costs)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// contenders returns the clients without nobody.
func contenders(all []kind) []kind {
	return slices.DeleteFunc(slices.Clone(all), func(k kind) bool { return k.open == nil })
}

// measureLoad measures all rounds of all clients under a load, and returns them by client.
func (r *rig) measureLoad(ctx context.Context, s site, l workload, kinds []kind, o *options, note notes) ([][]cost, error) {
	costs := make([][]cost, len(kinds))
	for round := range o.rounds {
		for turn := range kinds {
			i := (turn + round) % len(kinds) // each goes first in its turn
			note("%s, %s, round %d of %d: %s", s.name, l.name, round+1, o.rounds, kinds[i].name)
			c, err := r.measure(ctx, kinds[i], l, o)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", l.name, kinds[i].name, err)
			}
			costs[i] = append(costs[i], c)
		}
	}
	return costs, nil
}

// measure lets sessions of one client put a load on a lock of their own.
func (r *rig) measure(ctx context.Context, k kind, l workload, o *options) (c cost, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience+o.idle)
	defer cancel()
	counter := new(wirecount.Counter)
	addrs, stop, err := r.proxies(counter)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	path, err := r.plant(ctx)
	if err != nil {
		return c, err
	}
	if k.open == nil {
		return r.measureNobody(ctx, counter, o.idle)
	}
	all, done, err := o.openAll(ctx, k, l, addrs, path)
	defer func() { err = errors.Join(err, done()) }()
	if err != nil {
		return c, err
	}
	if l.idle {
		return r.measureIdle(ctx, counter, all, o)
	}
	if share := o.warmup / l.sessions; share > 0 {
		if err := contend(ctx, counter, all, share); err != nil {
			return c, err
		}
	}
	share := max(1, o.holds/l.sessions)
	w, err := r.open(ctx, counter)
	if err != nil {
		return c, err
	}
	if err := contend(ctx, counter, all, share); err != nil {
		return c, err
	}
	c, err = w.close(ctx)
	c.units = float64(share * l.sessions)
	return c, err
}

// measureIdle measures what it costs that a lock is held.
func (r *rig) measureIdle(ctx context.Context, counter *wirecount.Counter, all []contender, o *options) (c cost, err error) {
	var w *window
	var began time.Time
	err = hold(ctx, counter, all, o, func() (err error) {
		w, err = r.open(ctx, counter)
		began = time.Now()
		return err
	}, func() (err error) {
		took := time.Since(began)
		c, err = w.close(ctx)
		c.units = took.Seconds()
		return err
	})
	return c, err
}

// measureNobody measures what the servers cost while they have no client.
func (r *rig) measureNobody(ctx context.Context, counter *wirecount.Counter, d time.Duration) (c cost, err error) {
	w, err := r.open(ctx, counter)
	if err != nil {
		return c, err
	}
	began := time.Now()
	if err := pause(ctx, d); err != nil {
		return c, err
	}
	took := time.Since(began)
	c, err = w.close(ctx)
	c.units = took.Seconds()
	return c, err
}

// plant makes the znode of a lock, and returns its path. Nobody removes it: the servers do not outlive the measurements.
func (r *rig) plant(ctx context.Context) (path string, err error) {
	c, err := client.Connect(ctx, r.leader().Addr())
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	path, _, err = c.Create(ctx, "/lockcost-"+rand.Text(), nil, client.ModePersistent, nil)
	if err != nil {
		return "", err
	}
	return path, nil
}

// openAll opens the sessions of a load, spread over the addresses. done closes those that are open, also after an error.
func (o *options) openAll(ctx context.Context, k kind, l workload, addrs []string, path string) (
	all []contender, done func() error, err error) {
	done = func() error {
		errs := make([]error, len(all))
		var closing sync.WaitGroup
		for i, c := range all {
			// Closer of one session; owned by done, which waits; ends when the session is closed.
			closing.Go(func() { errs[i] = c.close() })
		}
		closing.Wait()
		return errors.Join(errs...)
	}
	for i := range l.sessions {
		c, err := k.open(ctx, place{addrs[i%len(addrs)], path, o.timeout})
		if err != nil {
			return all, done, fmt.Errorf("session %d of %d: %w", i+1, l.sessions, err)
		}
		all = append(all, c)
		if l.idle {
			if err := pause(ctx, o.apart()); err != nil {
				return all, done, err
			}
		}
	}
	return all, done, nil
}
