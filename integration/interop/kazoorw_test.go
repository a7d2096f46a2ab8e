package interop

import (
	"context"
	"fmt"
	"testing"

	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// kazooWrites is a contender for kazoo's WriteLock. Its section is entered from here, as kazoo's program has none.
type kazooWrites struct{ contender }

// kazooWriters are these contenders.
func kazooWriters(kazoo *program) kind {
	rw := foreignKind("kazoo-write", kazoo, "kazoo-rw")
	return kind{rw.name, func(ctx context.Context, servers, path string) (contender, error) {
		ct, err := rw.open(ctx, servers, path)
		return kazooWrites{ct}, err
	}}
}

// testKazooReadWrite lets our read-write lock with kazoo's names meet kazoo's ReadLock and WriteLock, in both directions: a reader or a
// writer holds, a reader or a writer comes. Then readers and writers of ours contend with kazoo's writers; with its readers they could
// not, as readerWaitsBehind shows.
func testKazooReadWrite(t *testing.T, server *zkserver.Server, kazoo *program) {
	if kazoo == nil {
		need(t, fmt.Errorf("%w: kazoo", errMissing))
		return
	}
	ours, theirs := namedRW("ours", recipes.KazooNames()), foreignKind("kazoo", kazoo, "kazoo-rw")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	next := orders(t, server)
	var columns []string
	for _, comer := range []kind{ours, theirs} {
		columns = append(columns, comer.name+" "+string(read), comer.name+" "+string(write))
	}
	table := newTable("holds \\ comes", columns...)
	for _, holder := range []kind{ours, theirs} {
		for _, has := range []way{read, write} {
			cells := []string{holder.name + " " + string(has)}
			for _, comer := range []kind{ours, theirs} {
				for _, wants := range []way{read, write} {
					want := waits
					if has == read && wants == read {
						want = enters
					}
					v, words, err := next().try(ctx, holder, comer, has, wants)
					pair := fmt.Sprintf("%s holds (%s), %s comes (%s)", holder.name, has, comer.name, wants)
					if err != nil {
						need(t, fmt.Errorf("%s: %w", pair, err))
					}
					if v != want {
						t.Errorf("%s: it %s (%s), want: it %s", pair, v, words, want)
					}
					cells = append(cells, string(v))
				}
			}
			table.add(cells...)
		}
	}
	t.Logf("kazoo %s; who comes to a lock that is held:\n%s", kazoo.Greeting[0], table)
	t.Run("Contention", func(t *testing.T) {
		contend(t, server.Addr(), ours, []entrant{
			{ours, 3, readWriteRounds, modeReadWrite, false},
			{kazooWriters(kazoo), 2, readWriteRounds, modeMutex, false},
		})
	})
	t.Run("ReaderWaitsBehind", func(t *testing.T) {
		if err := next().readerWaitsBehind(ctx, ours, theirs); err != nil {
			need(t, err)
		}
	})
}

// readerWaitsBehind shows what kazoo 2.8 makes of a reader with a writer behind it: when it looks at the queue again it waits for that
// writer, which waits for it. Who shares a path with readers of kazoo has to give up a wait for writing at times (docs/locks.md 2.6).
func (o *order) readerWaitsBehind(ctx context.Context, ours, theirs kind) error {
	var all []contender
	for _, k := range []kind{ours, theirs, ours} {
		ct, err := k.open(ctx, o.server.Addr(), o.path)
		if err != nil {
			return err
		}
		defer ct.close(ctx) // what is left of it is of no interest
		all = append(all, ct)
	}
	first, reader, writer := all[0], all[1], all[2]
	if err := first.lock(ctx, false); err != nil {
		return err
	}
	ahead, err := o.newest(ctx)
	if err != nil {
		return err
	}
	reads := comes(ctx, reader, read)
	if err := o.waits(ctx, reads, ahead, reader); err != nil {
		return fmt.Errorf("the reader: %w", err)
	}
	middle, err := o.newest(ctx)
	if err != nil {
		return err
	}
	patient, giveUp := context.WithCancel(ctx)
	defer giveUp()
	writes := comes(patient, writer, write)
	if err := o.waits(ctx, writes, middle, writer); err != nil {
		return fmt.Errorf("the writer: %w", err)
	}
	behind, err := o.newest(ctx)
	if err != nil {
		return err
	}
	if err := first.release(ctx); err != nil {
		return err
	}
	if err := o.waits(ctx, reads, behind, reader); err != nil {
		return fmt.Errorf("the reader, for the writer behind it: %w", err)
	}
	giveUp()
	if err := <-writes; err == nil {
		return fmt.Errorf("the writer got the lock although it had given up")
	}
	return firstOf(<-reads, reader.release(ctx))
}
