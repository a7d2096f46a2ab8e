package main

import (
	"context"
	"sync"
	"time"

	"github.com/lockkeeper/lockkeeper/integration/wirecount"
)

// workload is what sessions do with one lock.
type workload struct {
	name     string
	short    name
	sessions int
	per      string // what costs are given for
	idle     bool   // the lock is held for a while; else it is acquired and released
}

var loads = []workload{
	{"one session, nobody else", "alone", 1, "hold", false},
	{"ten sessions contend", "contended", 10, "hold", false},
	{"one holds, nine wait", "idle", 10, "second", true},
}

func (l workload) key() string { return string(l.short) }

// waits returns when all contenders but n stand still: they have asked for the lock and watch, and nothing is under way.
func waits(ctx context.Context, counter *wirecount.Counter, n int) error {
	_, err := counter.Await(ctx, func(t wirecount.Tally) bool { return t.Outstanding == 0 && t.Watching >= int64(n) })
	return err
}

// contend lets every session have the lock share times. The first takes it before the others come, and keeps it until all of
// them wait: so they contend from the first hold to the last, and what they need does not depend on how fast they begin.
func contend(ctx context.Context, counter *wirecount.Counter, all []contender, share int) error {
	if err := all[0].lock(ctx); err != nil {
		return err
	}
	return together(ctx, all[1:], 0,
		func(ctx context.Context, c contender) error { return c.loop(ctx, share) },
		func(ctx context.Context) error {
			if err := waits(ctx, counter, len(all)-1); err != nil {
				return err
			}
			if err := all[0].release(ctx); err != nil {
				return err
			}
			return all[0].loop(ctx, share-1)
		})
}

// hold lets the first session hold the lock for a time while the others wait for it; begin and end are called at the ends of
// that time. In the end everybody has had the lock.
func hold(ctx context.Context, counter *wirecount.Counter, all []contender, o *options, begin, end func() error) error {
	if err := all[0].lock(ctx); err != nil {
		return err
	}
	return together(ctx, all[1:], o.apart(),
		func(ctx context.Context, c contender) error { return c.loop(ctx, 1) },
		func(ctx context.Context) error {
			if err := waits(ctx, counter, len(all)-1); err != nil {
				return err
			}
			if err := begin(); err != nil {
				return err
			}
			if err := pause(ctx, o.idle); err != nil {
				return err
			}
			if err := end(); err != nil {
				return err
			}
			return all[0].release(ctx)
		})
}

// apart is the time between the beginnings of two sessions, and between their calls, under a load that is idle: their heartbeats
// are to come one after another, or chance would decide whether another one of all of them is measured.
func (o *options) apart() time.Duration { return o.timeout / 40 }

// together runs one function for each of the others, so much time apart, and main beside them. The first error ends the context
// of all.
func together(ctx context.Context, others []contender, apart time.Duration, each func(context.Context, contender) error,
	main func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, c := range others {
		if err := pause(ctx, apart); err != nil {
			break // of ctx, which is returned
		}
		// Runner of one contender; owned by together, which waits; ends after its work or with ctx.
		running.Go(func() {
			if err := each(ctx, c); err != nil {
				cancel(err)
			}
		})
	}
	if err := main(ctx); err != nil {
		cancel(err)
	}
	running.Wait()
	return context.Cause(ctx)
}

// pause waits for d, or returns the error of ctx if that ends before.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
