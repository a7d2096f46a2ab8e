package main

import (
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

func TestCoordinate(t *testing.T) {
	srv, addr := serve(t)
	say := func(phase string) {
		t.Helper()
		if err := run(t.Context(), []string{"-servers", addr, "-say", phase}, new(lines.Writer)); err != nil {
			t.Fatal(err)
		}
	}
	out, ended := new(lines.Writer), make(chan error)
	go func() { ended <- run(t.Context(), []string{"-servers", addr, "-wait", "loaded"}, out) }()
	says := func(text string) {
		t.Helper()
		if _, err := out.Wait(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	says(`it is "", waiting for "loaded"`)
	say("loading")
	says(`it is "loading", waiting for "loaded"`)
	for _, s := range srv.Sessions() {
		srv.ExpireSession(s.ID)
	}
	says(`it is "loading", waiting for "loaded"`) // looked again, in the next session
	say("loaded")
	says("it is loaded")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := run(t.Context(), []string{"-servers", addr}, out); err == nil {
		t.Error("nothing to do")
	}
}
