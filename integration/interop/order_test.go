package interop

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

// verdict is what becomes of who comes to a lock that somebody holds.
type verdict string

const (
	waits  verdict = "waits"  // and gets it from the holder
	enters verdict = "enters" // although the lock is held
	fails  verdict = "fails"
)

// lookPause is between two looks at a real server.
const lookPause = 5 * time.Millisecond

// way is how somebody has the lock, or wants it.
type way string

const (
	write      way = "write" // or just so, where there is nothing else
	read       way = "read"
	downgraded way = "downgraded" // a write hold, made a read hold before anybody comes
	downgrades way = "downgrades" // the same, when somebody waits already
)

// sequenceLen is how long the number is at the end of a name.
const sequenceLen = len("0000000000")

// order lets one contender take a fresh lock and another come while it is held.
type order struct {
	server *zkserver.Server
	c      *client.Client
	path   string
}

// try returns what has become of the second. Its words are for a verdict that is not expected.
func (o *order) try(ctx context.Context, holder, comer kind, has, wants way) (v verdict, words string, err error) {
	a, err := holder.open(ctx, o.server.Addr(), o.path)
	if err != nil {
		return "", "", err
	}
	defer func() { err = firstOf(err, a.close(ctx)) }()
	b, err := comer.open(ctx, o.server.Addr(), o.path)
	if err != nil {
		return "", "", err
	}
	defer func() { err = firstOf(err, b.close(ctx)) }()
	if err := a.lock(ctx, has == read); err != nil {
		return "", "", err
	}
	if has == downgraded {
		if err := a.downgrade(ctx); err != nil {
			return "", "", err
		}
	}
	nodes, _, err := o.c.Children(ctx, o.path)
	if err != nil || len(nodes) != 1 {
		return "", "", fmt.Errorf("the holder has the znodes %q: %v", nodes, err)
	}
	done := comes(ctx, b, wants)
	v, words, err = o.outcome(ctx, done, nodes[0], b)
	if err == nil && v == waits && has == downgrades {
		if err := a.downgrade(ctx); err != nil {
			return "", "", err
		}
		v, words, err = o.outcome(ctx, done, downgradedName(nodes[0]), b)
	}
	if err != nil {
		return "", "", err
	}
	return o.end(ctx, a, b, done, v, words)
}

// comes lets a contender take the lock, and returns what says that it has it, or why not.
func comes(ctx context.Context, ct contender, wants way) <-chan error {
	done := make(chan error, 1)
	// Comer; owned by the test; ends with the lock, or with its session.
	go func() { done <- ct.lock(ctx, wants == read) }()
	return done
}

// downgradedName is what is left of the name of a writer's znode in that of the reader which it becomes.
func downgradedName(writer string) string { return "__READ__" + writer[len(writer)-sequenceLen:] }

// outcome waits until the second contender has the lock, has failed, or waits for a znode whose name ends so.
func (o *order) outcome(ctx context.Context, done <-chan error, node string, b contender) (verdict, string, error) {
	for {
		select {
		case err := <-done:
			if err != nil {
				return fails, err.Error(), nil
			}
			return enters, "", nil
		case <-time.After(lookPause):
		}
		watched, err := o.watched(ctx, node, b.session())
		if err != nil {
			return "", "", err
		}
		if watched {
			return waits, "", nil
		}
	}
}

// end lets go of the lock: who waits for it must get it.
func (o *order) end(ctx context.Context, a, b contender, done <-chan error, v verdict, words string) (verdict, string, error) {
	if err := a.release(ctx); err != nil {
		return "", "", err
	}
	if v == waits {
		if err := <-done; err != nil {
			return fails, "after the holder's release: " + err.Error(), nil
		}
	}
	if v == fails {
		return v, words, nil
	}
	return v, words, b.release(ctx)
}

// watched asks the server whether a session watches a child whose name ends so.
func (o *order) watched(ctx context.Context, node string, session int64) (bool, error) {
	return o.watches(ctx, session, func(path string) bool {
		return strings.HasPrefix(path, o.path+"/") && strings.HasSuffix(path, node)
	})
}

// watches asks the server whether a session watches such a path. Its answer to wchp is a line with a path, then one with each
// session that watches it.
func (o *order) watches(ctx context.Context, session int64, such func(path string) bool) (bool, error) {
	text, err := o.server.Ask(ctx, "wchp")
	if err != nil {
		return false, err
	}
	if strings.Contains(text, "not in the whitelist") {
		return false, fmt.Errorf("%w: on this server, the command wchp", errMissing)
	}
	id := "\t0x" + strconv.FormatUint(uint64(session), 16)
	path := ""
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case !strings.HasPrefix(line, "\t"):
			path = line
		case line == id && such(path):
			return true, nil
		}
	}
	return false, nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// orders makes locks for tests of order.
func orders(t *testing.T, server *zkserver.Server) (next func() *order) {
	c, root := plant(t, t.Context(), server.Addr())
	n := 0
	return func() *order {
		n++
		o := &order{server, c, fmt.Sprintf("%s/%d", root, n)}
		// Not every client makes parents, and those of some are containers, which others do not make anew.
		if _, _, err := c.Create(t.Context(), o.path, nil, client.ModePersistent, nil); err != nil {
			t.Fatal(err)
		}
		return o
	}
}
