package main

import (
	"bytes"
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

func TestStock(t *testing.T) {
	_, addr := serve(t)
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-servers", addr, "-pieces", "20", "-tills", "4", "-take", "3"}, &out); err != nil {
		t.Fatal(err)
	}
	if want := "sold 18, left 2, of 20\na write without the lock is refused\n"; out.String() != want {
		t.Errorf("%s", &out)
	}
}
