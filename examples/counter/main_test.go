package main

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/leakcheck"
	"github.com/lockkeeper/lockkeeper/proto"
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

func TestCounter(t *testing.T) {
	srv, addr := serve(t)
	// Two read the number before either writes it, so that at least one count is lost.
	read := zktest.Match{Op: proto.OpGetData, Path: "/examples/counter/number"}
	first := srv.HoldReply(read)
	read.Skip = 1
	second := srv.HoldReply(read)
	go func() {
		<-second.Hit()
		first.Release()
		second.Release()
	}()
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-servers", addr, "-goroutines", "10", "-rounds", "5"}, &out); err != nil {
		t.Fatal(err)
	}
	var without, with int
	if _, err := fmt.Sscanf(out.String(), "without the lock: %d of 50\nwith the lock: %d of 50\n", &without, &with); err != nil {
		t.Fatalf("%v: %s", err, &out)
	}
	if without < 5 || without > 49 || with != 50 {
		t.Errorf("%d without the lock, %d with it", without, with)
	}
	if data, _, err := srv.Get("/examples/counter/number"); err != nil || string(data) != "50" {
		t.Errorf("%s, %v", data, err)
	}
}
