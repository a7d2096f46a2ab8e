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
	// connectBound is how long a server may take to answer before the run is given up, and sessionBound how much longer for each
	// of the sessions that open at once.
	connectBound, sessionBound = 10 * time.Second, 50 * time.Millisecond
	// removeBound is how long the removal of a tree may take, also of a run that was interrupted.
	removeBound = 30 * time.Second
	// batch is how many requests go into one group.
	batch = 200
	// sweeps is how often the removal begins anew when it found nodes that were made or kept meanwhile.
	sweeps = 3
)

// Tree is what a run has on the server: its own root, and below it the znodes of the workload. It is for one goroutine, but for
// its client.
type Tree struct {
	Client *client.Client // a session of its own: the workers' may be closed, or broken
	Root   string
	Paths  []string
}

// Plant makes a tree with n znodes. After an error nothing of it is left, or the error says so.
func Plant(ctx context.Context, servers string, n int) (*Tree, error) {
	name := make([]byte, 8)
	rand.Read(name) // never fails
	c, err := connectAdmin(ctx, servers)
	if err != nil {
		return nil, err
	}
	t := &Tree{Client: c, Root: rootPrefix + hex.EncodeToString(name)}
	t.Paths = treePaths(t.Root, n)
	if err := t.create(ctx); err != nil {
		return nil, errors.Join(err, t.Remove(ctx))
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

func (t *Tree) create(ctx context.Context) error {
	data := make([]byte, DataSize)
	g := t.Client.Group()
	g.Create(t.Root, data, client.ModePersistent, nil)
	if len(t.Paths) == 0 {
		return g.Do(ctx)
	}
	for chunk := range slices.Chunk(t.Paths, batch) {
		for _, path := range chunk {
			g.Create(path, data, client.ModePersistent, nil)
		}
		if err := g.Do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Remove deletes the tree and closes its session. It does so also when ctx has ended.
func (t *Tree) Remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeBound)
	defer cancel()
	var err error
	for range sweeps {
		if err = t.sweep(ctx); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		err = fmt.Errorf("znodes are left under %s, remove them by hand: %w", t.Root, err)
	}
	// Without an answer to Close the session ends by its timeout, and leaves nothing.
	_ = t.Client.Close()
	return err
}

// sweep lists the tree level by level and deletes it from its leaves. What another has deleted meanwhile is fine.
func (t *Tree) sweep(ctx context.Context) error {
	levels := [][]string{{t.Root}}
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
func (t *Tree) list(ctx context.Context, paths []string) (below []string, err error) {
	g := t.Client.Group()
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
func (t *Tree) delete(ctx context.Context, paths []string) (failed error) {
	g := t.Client.Group()
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
