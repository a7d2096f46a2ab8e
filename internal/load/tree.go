package load

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
)

const (
	// rootPrefix begins the name of a run's own root.
	rootPrefix = "/lockkeeper-bench-"
	// connectBound is how long a server may take to answer before the run is given up.
	connectBound = 10 * time.Second
	// removeBound is how long the removal of a tree may take, also of a run that was interrupted.
	removeBound = 30 * time.Second
	// batch is how many requests go into one group.
	batch = 200
	// sweeps is how often the removal begins anew when it found nodes that were made or kept meanwhile.
	sweeps = 3
)

// tree is what a run has on the server: its own root, and below it the znodes of the workload.
type tree struct {
	c     *client.Client // a session of its own: the workers' may be closed, or broken
	root  string
	paths []string
}

// plant makes a tree with n znodes. After an error nothing of it is left, or the error says so.
func plant(ctx context.Context, servers string, n int) (*tree, error) {
	name := make([]byte, 8)
	rand.Read(name) // never fails
	c, err := connectAdmin(ctx, servers)
	if err != nil {
		return nil, err
	}
	t := &tree{c: c, root: rootPrefix + hex.EncodeToString(name)}
	t.paths = treePaths(t.root, n)
	if err := t.create(ctx); err != nil {
		return nil, errors.Join(err, t.remove(ctx))
	}
	return t, nil
}

func connectAdmin(ctx context.Context, servers string) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, connectBound)
	defer cancel()
	return client.Connect(ctx, servers)
}

// treePaths returns the paths of n znodes under root.
func treePaths(root string, n int) []string {
	paths := make([]string, n)
	for i := range paths {
		paths[i] = root + "/lock-" + strconv.Itoa(i)
	}
	return paths
}

func (t *tree) create(ctx context.Context) error {
	data := make([]byte, DataSize)
	g := t.c.Group()
	g.Create(t.root, data, client.ModePersistent, nil)
	for chunk := range slices.Chunk(t.paths, batch) {
		for _, path := range chunk {
			g.Create(path, data, client.ModePersistent, nil)
		}
		if err := g.Do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes the tree and closes its session. It does so also when ctx has ended.
func (t *tree) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeBound)
	defer cancel()
	var err error
	for range sweeps {
		if err = t.sweep(ctx); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		err = fmt.Errorf("znodes are left under %s, remove them by hand: %w", t.root, err)
	}
	// Without an answer to Close the session ends by its timeout, and leaves nothing.
	_ = t.c.Close()
	return err
}

// sweep lists the tree level by level and deletes it from its leaves. What another has deleted meanwhile is fine.
func (t *tree) sweep(ctx context.Context) error {
	levels := [][]string{{t.root}}
	for {
		below, err := t.list(ctx, levels[len(levels)-1])
		if err != nil {
			return err
		}
		if len(below) == 0 {
			break
		}
		levels = append(levels, below)
	}
	var failed error
	for _, level := range slices.Backward(levels) {
		if err := t.delete(ctx, level); err != nil && failed == nil {
			failed = err
		}
	}
	return failed
}

// list returns the paths of all children of the znodes.
func (t *tree) list(ctx context.Context, paths []string) (below []string, err error) {
	g := t.c.Group()
	for chunk := range slices.Chunk(paths, batch) {
		calls := make([]client.ChildrenCall, len(chunk))
		for i, path := range chunk {
			calls[i] = g.Children(path)
		}
		_ = g.Do(ctx) // every call tells its own error
		for i, path := range chunk {
			names, _, err := calls[i].Names()
			if err != nil && !errors.Is(err, client.ErrNoNode) {
				return nil, err
			}
			for _, name := range names {
				below = append(below, path+"/"+name)
			}
		}
	}
	return below, nil
}

// delete deletes the znodes and returns the first error that means one is still there.
func (t *tree) delete(ctx context.Context, paths []string) (failed error) {
	g := t.c.Group()
	for chunk := range slices.Chunk(paths, batch) {
		calls := make([]client.DeleteCall, len(chunk))
		for i, path := range chunk {
			calls[i] = g.Delete(path, client.AnyVersion)
		}
		_ = g.Do(ctx) // every call tells its own error
		for i := range calls {
			if err := calls[i].Err(); err != nil && !errors.Is(err, client.ErrNoNode) && failed == nil {
				failed = err
			}
		}
	}
	return failed
}
