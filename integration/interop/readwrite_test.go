package interop

import (
	"context"
	"fmt"
	"testing"

	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

// readWriteRounds is how often each contender takes the lock, for reading, for writing, or both.
const readWriteRounds = 30

// testReadWrite lets readers and writers of both sides contend for one lock. Curator's downgrade is understood from 5.5 on: in 5.4
// the reader that a writer becomes has a place of its own at the end of the queue.
func testReadWrite(t *testing.T, servers string, curator54, curator57 *program) {
	contend(t, servers, rwKind(), []entrant{
		{rwKind(), 2, readWriteRounds, modeDowngrades, false},
		{rwKind(), 1, readWriteRounds, modeReadWrite, false},
		{foreignKind("Curator-5.4", curator54, "rw"), 2, readWriteRounds, modeReadWrite, false},
		{foreignKind("Curator-5.7", curator57, "rw"), 2, readWriteRounds, modeDowngrades, false},
	})
}

// testReadWriteOrder lets a reader or a writer come while a reader or a writer holds the lock, or one that was a writer.
func testReadWriteOrder(t *testing.T, server *zkserver.Server, curator54, curator57 *program) {
	kinds := []kind{rwKind(), foreignKind("Curator-5.4", curator54, "rw"), foreignKind("Curator-5.7", curator57, "rw")}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	next := orders(t, server)
	var columns []string
	for _, comer := range kinds {
		columns = append(columns, comer.name+" "+string(read), comer.name+" "+string(write))
	}
	table := newTable("holds \\ comes", columns...)
	for _, holder := range kinds {
		for _, has := range waysOf(holder) {
			cells := []string{holder.name + " " + string(has)}
			for _, comer := range kinds {
				for _, wants := range []way{read, write} {
					v, words, err := next().try(ctx, holder, comer, has, wants)
					want := waits
					if has != write && wants == read {
						want = enters
					}
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
	t.Logf("who comes to a lock that is held:\n%s", table)
}

// waysOf returns how a client can have the lock.
func waysOf(k kind) []way {
	if k.name == "Curator-5.4" {
		return []way{read, write}
	}
	return []way{read, write, downgraded, downgrades}
}
