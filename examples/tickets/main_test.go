package main

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
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

func TestTickets(t *testing.T) {
	srv, addr := serve(t)
	const stock, sellers = 25, 4
	sell := func(args ...string) string {
		var out bytes.Buffer
		if err := run(t.Context(), append([]string{"-servers", addr}, args...), &out); err != nil {
			t.Error(err)
		}
		return out.String()
	}
	for range 2 { // a second sale begins anew
		if out := sell("-stock", fmt.Sprint(stock)); out != "on sale: 25\n" {
			t.Fatal(out)
		}
		outs := make([]string, sellers)
		var wg sync.WaitGroup
		for i := range outs {
			wg.Go(func() { outs[i] = sell("-seller", fmt.Sprint("seller", i)) })
		}
		wg.Wait()
		sold := map[string]bool{}
		for _, out := range outs {
			if !strings.Contains(out, "sold out") {
				t.Errorf("without its end: %s", out)
			}
			for line := range strings.Lines(out) {
				if _, ticket, ok := strings.Cut(line, ": sold ticket "); ok {
					if sold[ticket] {
						t.Errorf("sold twice: %s", ticket)
					}
					sold[ticket] = true
				}
			}
		}
		if left, _, err := srv.Get("/examples/tickets"); len(sold) != stock || string(left) != "0" || err != nil {
			t.Errorf("%d sold, %s left, %v", len(sold), left, err)
		}
	}
}

// A sale whose reply was lost is neither repeated nor forgotten.
func TestTicketsWithALostReply(t *testing.T) {
	srv, addr := serve(t)
	if err := run(t.Context(), []string{"-servers", addr, "-stock", "3"}, new(bytes.Buffer)); err != nil {
		t.Fatal(err)
	}
	rule := srv.CloseAfter(zktest.Match{Op: proto.OpMulti, Skip: 1})
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-servers", addr}, &out); err != nil {
		t.Fatal(err)
	}
	const want = "seller: sold ticket 3\nseller: sold ticket 2\nseller: sold ticket 1\nseller: sold out, after 3 of mine\n"
	if out.String() != want || rule.Hits() != 1 {
		t.Errorf("%d replies lost: %s", rule.Hits(), &out)
	}
}
