package scale

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/internal/load"
)

const (
	// restoreBound is how long a client may take to set its watches again, and fireBound how long a watch to tell of a change.
	restoreBound, fireBound = 60 * time.Second, 10 * time.Second
)

// watches leaves x watches in one session and looks what they occupy. Then it cuts the connection, waits until the server has
// confirmed all of them on the next one, and makes sure that one works. The znodes do not exist, so the server is asked for nothing
// but watches.
func watches(ctx context.Context, r *runner, s subject, x int) (values []float64, err error) {
	t, err := load.Plant(ctx, r.site.Addr, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.Remove(ctx)) }()
	server, chroot := firstOf(r.site.Addr)
	p, err := newTap(server)
	if err != nil {
		return nil, err
	}
	defer p.close()
	open, err := openAll(ctx, s.driver, p.addr()+chroot, 1)
	if err != nil {
		return nil, err
	}
	defer closeAll(open)
	ws, ok := open[0].(load.Watching)
	if !ok {
		return nil, fmt.Errorf("%s leaves no watches: %w", s.name, errors.ErrUnsupported)
	}
	paths, left := make([]string, x), make([]any, x)
	for i := range paths {
		paths[i] = fmt.Sprintf("%s/watched-%07d", t.Root, i)
	}
	before := occupied()
	err = spread(x, func(i int) (err error) {
		left[i], err = ws.Watch(ctx, paths[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	each := occupied().since(before).heap / float64(x)
	o, err := p.restored(ctx, x)
	if err != nil {
		return nil, err
	}
	if err := fires(ctx, t.Client, ws, paths[x-1], left[x-1]); err != nil {
		return nil, fmt.Errorf("a watch was set again and says nothing: %w", err)
	}
	runtime.KeepAlive(left)
	return []float64{each, millis(o.restored.Sub(o.shook)), millis(o.restored.Sub(o.cut))}, nil
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// restored cuts the connection and waits until n watches have been set again.
func (p *tap) restored(ctx context.Context, n int) (outage, error) {
	ctx, cancel := context.WithTimeout(ctx, restoreBound)
	defer cancel()
	select {
	case o := <-p.cut(n):
		return o, nil
	case <-ctx.Done():
		return outage{}, fmt.Errorf("%d watches were not set again: %w", n, ctx.Err())
	}
}

// fires makes the znode of a watch and waits for its event.
func fires(ctx context.Context, c *client.Client, ws load.Watching, path string, watch any) error {
	ctx, cancel := context.WithTimeout(ctx, fireBound)
	defer cancel()
	if _, _, err := c.Create(ctx, path, nil, client.ModePersistent, nil); err != nil {
		return err
	}
	return ws.Wait(ctx, watch)
}

// firstOf returns the first server of a connect string, and its chroot.
func firstOf(servers string) (server, chroot string) {
	if i := strings.IndexByte(servers, '/'); i >= 0 {
		servers, chroot = servers[:i], servers[i:]
	}
	server, _, _ = strings.Cut(servers, ",")
	return server, chroot
}
