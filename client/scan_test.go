package client_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestScanChildren(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		for _, path := range []string{"/app", "/app/a", "/app/a/x", "/app/a/y", "/app/a/z"} {
			create(t, srv, path, "")
		}
		c, ctx := connectTo(t, srv, "zk/app"), t.Context()
		var names []string
		st, err := c.ScanChildren(ctx, "/a", func(name []byte) bool {
			_, ok, err := c.Exists(ctx, "/a/"+string(name)) // the client may be used
			if err != nil || !ok {
				t.Errorf("%s: %v", name, err)
			}
			names = append(names, string(name))
			return true
		})
		must(t, err)
		_, want, err := srv.Get("/app/a")
		must(t, err)
		slices.Sort(names)
		equal(t, "names", names, []string{"x", "y", "z"})
		equal(t, "stat", st, want)
		n := 0
		st, err = c.ScanChildren(ctx, "/a", func([]byte) bool { n++; return false })
		must(t, err)
		equal(t, "names", n, 1)
		equal(t, "stat", st, want) // it stands behind the names
		st, err = c.ScanChildren(ctx, "/a", nil)
		must(t, err)
		equal(t, "stat", st, want)
		_, err = c.ScanChildren(ctx, "/missing", func([]byte) bool { t.Error("called"); return true })
		wantErr(t, err, client.ErrNoNode)
		_, err = (*client.Client)(nil).ScanChildren(ctx, "/a", nil)
		wantErr(t, err, client.ErrZeroValue)
	})
}

// Nothing that a caller gets lies in the memory of the reply: that is overwritten here, as the next round may do.
func TestResultsOutliveTheReply(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		for _, path := range []string{"/a", "/a/kid"} {
			create(t, srv, path, "data of "+path)
		}
		must(t, srv.Set("/zookeeper/config", []byte(configText)))
		c, ctx := connect(t, srv, client.MinServer("3.9")), t.Context()
		buf := make([]byte, 0, 64)
		g := c.Group()
		get, into, kids, acl := g.Get("/a", nil), g.Get("/a", buf), g.Children("/a"), g.GetACL("/a")
		made, reads, cfg := g.Create("/a/s-", nil, client.ModeEphemeralSequential, nil), g.MultiRead(client.GetOp("/a"), client.ChildrenOp("/a")), g.GetConfig()
		multi, own, who := g.Multi(client.CreateOp("/m", nil, client.ModePersistent, nil)), g.GetEphemerals("/"), g.WhoAmI()
		must(t, g.Do(ctx))
		var all []any
		keep := func(results ...any) {
			if err, ok := results[len(results)-1].(error); ok {
				t.Error(err)
			}
			all = append(all, results...)
		}
		keep(results3(get.Data()))
		keep(results3(into.Data()))
		keep(results3(kids.Names()))
		keep(results3(acl.ACL()))
		keep(results3(made.Path()))
		keep(results2(reads.Results()))
		keep(results3(cfg.Config()))
		keep(results2(multi.Results()))
		keep(results2(own.Paths()))
		keep(results2(who.Identities()))
		before := fmt.Sprintf("%q", all)
		g.Poison()
		equal(t, "results", fmt.Sprintf("%q", all), before)
		equal(t, "buffer", string(buf[:10]), "data of /a")
		if !strings.Contains(before, "/a/s-0000000001") || !strings.Contains(before, "kid") || strings.Contains(before, "\xaa") {
			t.Error(before)
		}
	})
}

func results2[A any](a A, err error) []any         { return []any{a, err} }
func results3[A, B any](a A, b B, err error) []any { return []any{a, b, err} }

// valve stops what a client receives in the middle of a reply.
type valve struct {
	mu     sync.Mutex
	left   int           // bytes that pass before it stops; negative while it is open
	opened chan struct{} // closed by open
}

func (v *valve) dial(dial func(ctx context.Context, network, addr string) (net.Conn, error)) client.Option {
	return client.Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		nc, err := dial(ctx, network, addr)
		return &valveConn{nc, v}, err
	})
}

// stopAfter lets n bytes pass.
func (v *valve) stopAfter(n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.left, v.opened = n, make(chan struct{})
}

func (v *valve) open() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.left = -1
	close(v.opened)
}

type valveConn struct {
	net.Conn
	v *valve
}

func (c *valveConn) Read(b []byte) (int, error) {
	c.v.mu.Lock()
	left, opened := c.v.left, c.v.opened
	c.v.mu.Unlock()
	switch {
	case left == 0:
		<-opened
	case left > 0:
		b = b[:min(len(b), left)]
	}
	n, err := c.Conn.Read(b)
	c.v.mu.Lock()
	if c.v.left > 0 {
		c.v.left = max(0, c.v.left-n)
	}
	c.v.mu.Unlock()
	return n, err
}

// A context that ends while the reply arrives takes its call with it and nothing else: the rest of the reply reaches
// nobody's buffer, and the connection lives on.
func TestContextEndsInsideALargeReply(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 60_000)
	for name, call := range map[string]func(ctx context.Context, t *testing.T, c *client.Client, buf []byte) error{
		"GetInto": func(ctx context.Context, _ *testing.T, c *client.Client, buf []byte) error {
			_, _, err := c.GetInto(ctx, "/large", buf)
			return err
		},
		"Group": func(ctx context.Context, _ *testing.T, c *client.Client, buf []byte) error {
			g := c.Group()
			small, h := g.Get("/small", buf), g.Get("/large", buf)
			err := g.Do(ctx)
			if _, _, err := small.Data(); err == nil {
				return nil
			}
			if data, _, err := h.Data(); err == nil || len(data) != 0 {
				return nil
			}
			return err
		},
		"ScanChildren": func(ctx context.Context, t *testing.T, c *client.Client, _ []byte) error {
			_, err := c.ScanChildren(ctx, "/wide", func(name []byte) bool {
				t.Errorf("called with %q", name)
				return false
			})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				create(t, srv, "/small", "small")
				create(t, srv, "/large", string(large))
				create(t, srv, "/wide", "")
				for i := range 2000 {
					create(t, srv, fmt.Sprintf("/wide/%0200d", i), "")
				}
				v := &valve{left: -1}
				c := connect(t, srv, v.dial(srv.Dial))
				buf := bytes.Repeat([]byte{0x55}, 1<<20)
				ctx, cancel := context.WithCancel(t.Context())
				v.stopAfter(200_000) // of 960,000 or 408,000
				result := spawn(func() error { return call(ctx, t, c, buf) })
				synctest.Wait() // for the half of the reply
				cancel()
				err := <-result
				wantErr(t, err, context.Canceled)
				outcome(t, err, client.OutcomeUnknown, false)
				later := spawn(func() error {
					data, _, err := c.Get(t.Context(), "/large")
					if !bytes.Equal(data, large) {
						t.Error("another reply than that of the request")
					}
					return err
				})
				synctest.Wait()
				v.open()
				must(t, <-later)
				for range 20 {
					data, _, err := c.Get(t.Context(), "/small")
					must(t, err)
					equal(t, "data", string(data), "small")
				}
				equal(t, "the buffer is as it was", bytes.Count(buf, []byte{0x55}), len(buf))
				equal(t, "connections", srv.Snapshot().Connections, 1)
			})
		})
	}
}

// Names are read inside a reply of almost 4 MiB, and large data goes into the caller's buffer; neither is touched by what
// comes later.
func TestLargeReplies(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/wide", "")
		const kids = 40_000
		for i := range kids {
			create(t, srv, fmt.Sprintf("/wide/%096d", i), "")
		}
		create(t, srv, "/a", strings.Repeat("a", 500_000))
		create(t, srv, "/b", strings.Repeat("b", 500_000))
		c, ctx := connect(t, srv), t.Context()
		seen := make([]bool, kids)
		_, err := c.ScanChildren(ctx, "/wide", func(name []byte) bool {
			var i int
			if _, err := fmt.Sscanf(string(name), "%d", &i); err != nil || len(name) != 96 {
				t.Errorf("name %q", name)
			}
			seen[i] = true
			return true
		})
		must(t, err)
		equal(t, "all are seen", slices.Contains(seen, false), false)
		buf := make([]byte, 0, 500_000)
		data, _, err := c.GetInto(ctx, "/a", buf)
		must(t, err)
		equal(t, "the buffer is used", &data[0] == &buf[:1][0], true)
		for range 5 {
			_, _, err := c.GetInto(ctx, "/b", nil)
			must(t, err)
		}
		equal(t, "the buffer is as it was", bytes.Count(data, []byte{'a'}), 500_000)
	})
}
