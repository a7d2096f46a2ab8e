package interop

import (
	"context"
	"fmt"
	"testing"

	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

// testDowngradeAhead lets a writer wait behind a reader that waits behind a writer. That one becomes a reader, in the place that it
// had: a znode appears ahead of both, with a number that is older than theirs. The reader gets the lock as well, and goes; the
// writer must not follow, although everybody that it ever saw ahead is gone (docs/locks.md D3).
func testDowngradeAhead(t *testing.T, server *zkserver.Server, curator54, curator57 *program) {
	ours, c54, c57 := rwKind(), foreignKind("Curator-5.4", curator54, "rw"), foreignKind("Curator-5.7", curator57, "rw")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	next := orders(t, server)
	n := 0
	for _, holder := range []kind{ours, c57} {
		for _, reader := range []kind{ours, c54, c57} {
			for _, writer := range []kind{ours, c54, c57} {
				if err := next().downgradeAhead(ctx, holder, reader, writer); err != nil {
					need(t, fmt.Errorf("%s holds, %s reads, %s writes: %w", holder.name, reader.name, writer.name, err))
				}
				n++
			}
		}
	}
	t.Logf("%d queues of a writer that becomes a reader, a reader and a writer", n)
}

func (o *order) downgradeAhead(ctx context.Context, holder, reader, writer kind) error {
	var all []contender
	for _, k := range []kind{holder, reader, writer} {
		ct, err := k.open(ctx, o.server.Addr(), o.path)
		if err != nil {
			return err
		}
		defer ct.close(ctx) // what is left of it is of no interest
		all = append(all, ct)
	}
	a, r, w := all[0], all[1], all[2]
	if err := a.lock(ctx, false); err != nil {
		return err
	}
	first, err := o.newest(ctx)
	if err != nil {
		return err
	}
	reads := comes(ctx, r, read)
	if err := o.waits(ctx, reads, first, r); err != nil {
		return fmt.Errorf("the reader: %w", err)
	}
	second, err := o.newest(ctx)
	if err != nil {
		return err
	}
	writes := comes(ctx, w, write)
	if err := o.waits(ctx, writes, second, w); err != nil {
		return fmt.Errorf("the writer: %w", err)
	}
	if err := a.downgrade(ctx); err != nil {
		return err
	}
	if err := firstOf(<-reads, r.release(ctx)); err != nil {
		return fmt.Errorf("the reader: %w", err)
	}
	// Whoever looks ahead may watch the new znode while it has not been told yet that the reader is gone, so that is not enough:
	// another look gives it time to do what it must not.
	for range 3 {
		if err := o.waits(ctx, writes, downgradedName(first), w); err != nil {
			return fmt.Errorf("the writer after the downgrade: %w", err)
		}
	}
	return firstOf(a.release(ctx), <-writes, w.release(ctx))
}

// waits returns an error if a contender does not wait for a znode.
func (o *order) waits(ctx context.Context, done <-chan error, node string, ct contender) error {
	v, words, err := o.outcome(ctx, done, node, ct)
	if err == nil && v != waits {
		err = fmt.Errorf("it %s (%s), want: it %s", v, words, waits)
	}
	return err
}

// newest returns the name of the child that was made last, by its number.
func (o *order) newest(ctx context.Context) (name string, err error) {
	names, _, err := o.c.Children(ctx, o.path)
	if err != nil {
		return "", err
	}
	for _, n := range names {
		if name == "" || n[len(n)-sequenceLen:] > name[len(name)-sequenceLen:] {
			name = n
		}
	}
	return name, nil
}
