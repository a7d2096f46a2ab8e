package main

import (
	"context"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/leakcheck"
	"github.com/lockkeeper/lockkeeper/internal/lines"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// serve starts a server in memory and returns its address.
func serve(t *testing.T) (*zktest.Server, string) {
	t.Helper()
	srv := zktest.New()
	t.Cleanup(func() { srv.Close() })
	addr, err := srv.Listen()
	if err != nil {
		t.Fatal(err)
	}
	return srv, addr
}

// start runs the program until the test, or what is returned, ends it.
func start(t *testing.T, args ...string) (*lines.Writer, func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, ended := new(lines.Writer), make(chan error)
	go func() { ended <- run(ctx, args, out) }()
	stop := func() {
		t.Helper()
		if cancel == nil {
			return
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		cancel = nil
	}
	t.Cleanup(stop)
	return out, stop
}

func says(t *testing.T, out *lines.Writer, text string) {
	t.Helper()
	if _, err := out.Wait(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

func TestLeader(t *testing.T) {
	srv, addr := serve(t)
	watch, _ := start(t, "-servers", addr, "-watch")
	says(t, watch, "nobody leads")
	a, stopA := start(t, "-servers", addr, "-name", "a")
	says(t, a, "a: leads")
	says(t, watch, "leader: a")
	b, stopB := start(t, "-servers", addr, "-name", "b")
	says(t, b, "b: stands by, a leads")
	stopA()
	says(t, a, "a: leads no more: context canceled")
	says(t, b, "b: leads")
	says(t, watch, "leader: b")
	if all := strings.Join(a.All(), "\n"); strings.Contains(all, "stands by") {
		t.Errorf("%s", all)
	}
	// A leader that has lost its session says so, and leads again in the next one.
	for _, s := range srv.Sessions() {
		if len(s.Ephemerals) > 0 {
			srv.ExpireSession(s.ID)
		}
	}
	says(t, b, "b: leads no more")
	says(t, b, "b: leads")
	stopB()
	says(t, watch, "nobody leads")
}
