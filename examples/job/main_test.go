package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/client"
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

func TestJob(t *testing.T) {
	srv, addr := serve(t)
	out, ended := new(lines.Writer), make(chan error)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { ended <- run(ctx, []string{"-servers", addr, "-last", "1h"}, out) }()
	if _, err := out.Wait(t.Context(), "job: runs"); err != nil {
		t.Fatal(err)
	}
	once := func() string {
		t.Helper()
		var out bytes.Buffer
		if err := run(t.Context(), []string{"-servers", addr, "-last", "0s"}, &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if out := once(); !strings.Contains(out, "is run by another instance: host=") {
		t.Errorf("%s", out)
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if out := once(); out != "job: runs\njob: done\n" {
		t.Errorf("%s", out)
	}
	// The job ends when its lock is lost.
	go func() { ended <- run(t.Context(), []string{"-servers", addr, "-last", "1h"}, out) }()
	if _, err := out.Wait(t.Context(), "job: runs"); err != nil {
		t.Fatal(err)
	}
	for _, s := range srv.Sessions() {
		srv.ExpireSession(s.ID)
	}
	if err := <-ended; !errors.Is(err, client.ErrSessionExpired) {
		t.Error(err)
	}
}
