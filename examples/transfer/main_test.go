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

func TestTransfer(t *testing.T) {
	_, addr := serve(t)
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-servers", addr, "-transfers", "10"}, &out); err != nil {
		t.Fatal(err)
	}
	const want = `/examples/transfer/left: 110
/examples/transfer/right: 90
20 transfers, together still 200
`
	if out.String() != want {
		t.Errorf("%s", &out)
	}
}
