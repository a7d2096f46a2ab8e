package loopback_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/lockkeeper/lockkeeper/integration/loopback"
)

func TestPortIsRefusedUntilSomebodyListensAndTwiceUsable(t *testing.T) {
	p, err := loopback.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	if _, err := net.Dial("tcp", p.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatalf("dialling a reserved port: %v, want connection refused", err)
	}
	for range 2 {
		ln, err := net.Listen("tcp4", p.Addr())
		if err != nil {
			t.Fatalf("listening on a reserved port: %v", err)
		}
		nc, err := net.Dial("tcp", p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		_ = nc.Close()
		_ = ln.Close()
	}
}

func TestPortsDiffer(t *testing.T) {
	seen := map[int]bool{}
	for range 50 {
		p, err := loopback.Reserve()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		if seen[p.Number()] {
			t.Fatalf("port %d lent twice", p.Number())
		}
		seen[p.Number()] = true
	}
}
