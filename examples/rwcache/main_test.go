package main

import (
	"bytes"
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

func TestRWCache(t *testing.T) {
	srv, addr := serve(t)
	reads := srv.On(zktest.Match{Op: proto.OpGetData, Path: "/examples/rwcache/right", Times: -1}, zktest.Verdict{})
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-servers", addr, "-readers", "4", "-changes", "5"}, &out); err != nil {
		t.Fatal(err)
	}
	if want := "4 readers have seen 5, and never half of a change\n"; out.String() != want {
		t.Errorf("%s", &out)
	}
	// Each value is read once, by whoever sees it first.
	if n := reads.Hits(); n < 1 || n > 5+1 {
		t.Errorf("%d reads of the second znode", n)
	}
}
