package main

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/leakcheck"
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

func TestConnLimit(t *testing.T) {
	srv, addr := serve(t)
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-servers", addr, "-limit", "2", "-clients", "6"}, &out); err != nil {
		t.Fatal(err)
	}
	var opened, most int
	if _, err := fmt.Sscanf(out.String(), "%d connections, at most %d at the same time\n", &opened, &most); err != nil || opened != 12 || most < 1 || most > 2 {
		t.Errorf("%v: %s", err, &out)
	}
	if left := srv.Children("/examples/connlimit"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
