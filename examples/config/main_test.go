package main

import (
	"context"
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

func TestConfig(t *testing.T) {
	srv, addr := serve(t)
	set := func(setting string) {
		t.Helper()
		if err := run(t.Context(), []string{"-servers", addr, "-set", setting}, new(lines.Writer)); err != nil {
			t.Fatal(err)
		}
	}
	set("timeout=1s")
	ctx, stop := context.WithCancel(t.Context())
	out, ended := new(lines.Writer), make(chan error)
	go func() { ended <- run(ctx, []string{"-servers", addr}, out) }()
	says := func(text string) {
		t.Helper()
		if _, err := out.Wait(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	says("timeout=1s")
	set("timeout=2s")
	says("timeout=2s")
	set("colour=green")
	says("colour=green")
	srv.DropConnections()
	says("not connected")
	set("timeout=3s")
	says("timeout=3s")
	if err := srv.Delete("/examples/config/colour"); err != nil {
		t.Fatal(err)
	}
	says("colour is removed")
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := run(t.Context(), []string{"-servers", addr, "-set", "colour"}, out); err == nil {
		t.Error("a setting without a value")
	}
}
