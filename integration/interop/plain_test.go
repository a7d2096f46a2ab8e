package interop

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// handWritten is a contender as many programs have it: it creates a znode of a plain name and a number, sorts all children, and
// waits for the end of the one before its own.
type handWritten struct {
	c            *zk.Conn
	path, prefix string
	node         string // name of its own znode
	done         func()
}

func handWrittenKind(prefix string) kind {
	return kind{"hand-written", func(ctx context.Context, servers, path string) (contender, error) {
		ct, err := goZKKind().open(ctx, servers, path) // for its connection
		if err != nil {
			return nil, err
		}
		g := ct.(*goZK)
		return &handWritten{c: g.c, path: path, prefix: prefix, done: sync.OnceFunc(g.c.Close)}, nil
	}}
}

func (h *handWritten) session() int64 { return h.c.SessionID() }

func (h *handWritten) lock(ctx context.Context, _ bool) error {
	flags := int32(zk.FlagEphemeral | zk.FlagSequence)
	path, err := h.c.Create(h.path+"/"+h.prefix, nil, flags, zk.WorldACL(zk.PermAll))
	if errors.Is(err, zk.ErrNoNode) {
		if _, err := h.c.Create(h.path, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
		path, err = h.c.Create(h.path+"/"+h.prefix, nil, flags, zk.WorldACL(zk.PermAll))
	}
	if err != nil {
		return err
	}
	h.node = path[strings.LastIndexByte(path, '/')+1:]
	for {
		names, _, err := h.c.Children(h.path)
		if err != nil {
			return err
		}
		slices.Sort(names)
		i := slices.Index(names, h.node)
		switch {
		case i < 0:
			return errors.New("its znode " + h.node + " is gone")
		case i == 0:
			return nil
		}
		there, _, event, err := h.c.ExistsW(h.path + "/" + names[i-1])
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		select {
		case <-event:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (h *handWritten) downgrade(context.Context) error { return errNoDowngrade }

func (h *handWritten) release(context.Context) error { return h.c.Delete(h.path+"/"+h.node, -1) }

func (h *handWritten) close(context.Context) error {
	h.done()
	return nil
}

// plainElectionKind is our election, as one more kind of contender.
func plainElectionKind(prefix string) kind {
	k := electionKind(recipes.PlainNames(prefix))
	k.name = "ours-election"
	return k
}

// TestPlainNames lets hand-written clients of both forms, <name>-<number> and <name><number>, and ours contend for one lock,
// and has each come while the other holds it.
func TestPlainNames(t *testing.T) { // docs/locks.md A4
	for _, version := range zkserver.Versions() {
		t.Run(cmp.Or(version, "given"), func(t *testing.T) {
			ens := zkserver.Require(t, zkserver.Options{Version: version})
			for _, prefix := range []string{"lock-", "n_"} {
				ours := mutexKind(recipes.PlainNames(prefix))
				t.Run(prefix, func(t *testing.T) {
					contend(t, ens.ConnectString(), ours, []entrant{
						{ours, 2, mutexRounds, modeMutex, false},
						{reentrantKind(recipes.PlainNames(prefix)), 1, mutexRounds, modeMutex, false},
						{plainElectionKind(prefix), 1, mutexRounds, modeMutex, false},
						{handWrittenKind(prefix), 4, mutexRounds, modeMutex, false},
					})
					contend(t, ens.ConnectString(), handWrittenKind(prefix), []entrant{
						{ours, 3, mutexRounds, modeMutex, false},
						{handWrittenKind(prefix), 3, mutexRounds, modeMutex, false},
					})
					testPlainOrder(t, ens.Server(1), ours, handWrittenKind(prefix))
				})
			}
		})
	}
}

// testPlainOrder has each of two come while the other, or one of its own kind, holds the lock.
func testPlainOrder(t *testing.T, server *zkserver.Server, kinds ...kind) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	next := orders(t, server)
	for _, holder := range kinds {
		for _, comer := range kinds {
			v, words, err := next().try(ctx, holder, comer, write, write)
			need(t, err)
			if v != waits {
				t.Errorf("%s holds, %s comes: it %s (%s)", holder.name, comer.name, v, words)
			}
		}
	}
}
