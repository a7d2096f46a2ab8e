package cache_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/cache"
	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

const timeout = 10 * time.Second

// bubble runs f in virtual time, with a server in memory.
func bubble(t *testing.T, f func(t *testing.T, srv *zktest.Server), opts ...zktest.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.New(opts...)
		t.Cleanup(func() { srv.Close() })
		f(t, srv)
	})
}

// versions runs f with servers of both kinds.
func versions(t *testing.T, f func(t *testing.T, srv *zktest.Server)) {
	t.Helper()
	for _, v := range []zktest.Version{zktest.Version380, zktest.Version393} {
		t.Run(v.String(), func(t *testing.T) { bubble(t, f, zktest.Imitate(v)) })
	}
}

// connect returns a client of srv, which is closed at the end of the test.
func connect(t *testing.T, srv *zktest.Server, opts ...client.Option) *client.Client {
	t.Helper()
	return connectTo(t, srv, "zk:2181", opts...)
}

func connectTo(t *testing.T, srv *zktest.Server, connectString string, opts ...client.Option) *client.Client {
	t.Helper()
	c, err := client.Connect(t.Context(), connectString, append([]client.Option{client.Dialer(srv.Dial), client.SessionTimeout(timeout)}, opts...)...)
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// open returns a cache, which is closed at the end of the test.
func open(t *testing.T, cl *client.Client, path string, opts ...cache.Option) *cache.Cache {
	t.Helper()
	c, err := cache.Open(t.Context(), cl, path, opts...)
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("error is %v, want one that matches %v", err, target)
	}
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// create makes znodes on the server, from outside: "/a=data" or "/a".
func create(t *testing.T, srv *zktest.Server, nodes ...string) {
	t.Helper()
	for _, n := range nodes {
		p, data, _ := strings.Cut(n, "=")
		_, err := srv.Create(p, []byte(data), client.ModePersistent)
		must(t, err)
	}
}

// text is a snapshot in words: "/a=data /a/b=".
func text(s *cache.Snapshot) string {
	var out []string
	for p, n := range s.All() {
		switch {
		case n.Err != nil:
			out = append(out, p+"!")
		default:
			out = append(out, p+"="+string(n.Data))
		}
	}
	return strings.Join(out, " ")
}

// changes is what an update has changed, in words.
func changes(u cache.Update) string {
	var out []string
	for c := range u.Changes() {
		word := fmt.Sprintf("%v %s", c.Type, c.Path)
		if c.Type != cache.Removed {
			word += "=" + string(c.New.Data)
		}
		out = append(out, word)
	}
	return strings.Join(out, ", ")
}

// compare holds a snapshot against the tree of the server.
func compare(t *testing.T, srv *zktest.Server, s *cache.Snapshot) {
	t.Helper()
	n := 0
	var check func(p string)
	check = func(p string) {
		data, st, err := srv.Get(p)
		if err != nil {
			return
		}
		n++
		node, ok := s.Get(p)
		switch {
		case !ok:
			t.Errorf("%s is not in the snapshot", p)
		case string(node.Data) != string(data):
			t.Errorf("%s is %q, want %q", p, node.Data, data)
		case node.Stat != st:
			t.Errorf("%s has the Stat %+v, want %+v", p, node.Stat, st)
		case node.Err != nil || node.ChildrenErr != nil:
			t.Errorf("%s: %v, %v", p, node.Err, node.ChildrenErr)
		}
		for _, name := range srv.Children(p) {
			check(path.Join(p, name))
		}
	}
	check(s.Path())
	if s.Len() != n {
		t.Errorf("the snapshot has %d znodes, want %d: %s", s.Len(), n, text(s))
	}
}

// spawn runs f in a goroutine and returns the channel on which its result comes.
func spawn[T any](f func() T) <-chan T {
	result := make(chan T, 1)
	// The test that spawns it ends it, with f.
	go func() { result <- f() }()
	return result
}

// pass lets virtual time pass.
func pass(d time.Duration) { <-time.After(d) }

// reader is a reader whose updates are asked for one by one; it is stopped at the end of the test.
type reader struct {
	t    *testing.T
	next chan struct{}
	got  chan step
}

type step struct {
	u   cache.Update
	err error
}

func read(t *testing.T, c *cache.Cache) *reader {
	ctx, cancel := context.WithCancel(t.Context())
	r := &reader{t, make(chan struct{}), make(chan step, 1)}
	// The test that makes it ends it, by the context.
	go func() {
		defer close(r.got)
		for u, err := range c.Updates(ctx) {
			select {
			case <-r.next:
				r.got <- step{u, err}
			case <-ctx.Done():
			}
		}
	}()
	t.Cleanup(cancel)
	return r
}

func (r *reader) update() cache.Update {
	r.t.Helper()
	r.next <- struct{}{}
	s := <-r.got
	must(r.t, s.err)
	return s.u
}
