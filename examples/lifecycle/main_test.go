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

func TestLifecycle(t *testing.T) {
	srv, addr := serve(t)
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-servers", addr, "-wait", "20ms"}, &out); err != nil {
		t.Fatal(err)
	}
	const want = `first copy: has the lock, held
second copy: waited for 20ms and gave up
first copy: released it, its context says: lease released
second copy: has the lock, with a higher token: true
`
	if out.String() != want {
		t.Errorf("%s", &out)
	}
	if left := srv.Children("/examples/lifecycle"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
