package recipes

import (
	"context"
	"errors"
	"math"
	"strconv"
	"testing"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestCounter(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		n, ctx := NewCounter(c, "/counters/one"), t.Context()
		if n.Path() != "/counters/one" {
			t.Error(n.Path())
		}
		if got := must(n.Get(ctx)); got != 0 || srv.Exists("/counters/one") {
			t.Errorf("%d, exists: %v", got, srv.Exists("/counters/one"))
		}
		for i, want := range []int64{5, 2, 2} {
			if got := must(n.Add(ctx, []int64{5, -3, 0}[i])); got != want {
				t.Errorf("sum %d, want %d", got, want)
			}
		}
		if must(n.CompareAndSet(ctx, 3, 4)) || !must(n.CompareAndSet(ctx, 2, 40)) || must(n.Get(ctx)) != 40 {
			t.Error("compare and set")
		}
		if other := NewCounter(c, "/counters/two"); !must(other.CompareAndSet(ctx, 0, 7)) || must(other.CompareAndSet(ctx, 0, 8)) || must(other.Get(ctx)) != 7 {
			t.Error("compare and set of a znode that is not there")
		}
	})
}

func TestCounterLimits(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		n, ctx := NewCounter(c, "/n"), t.Context()
		for _, edge := range []struct {
			value, delta int64
			over         bool
		}{
			{math.MaxInt64, 1, true}, {math.MaxInt64, -1, false}, {math.MinInt64, -1, true}, {math.MinInt64, math.MaxInt64, false},
			{math.MaxInt64, math.MaxInt64, true}, {-1, math.MinInt64, true}, {0, math.MinInt64, false},
		} {
			now := must(n.Get(ctx))
			if !must(n.CompareAndSet(ctx, now, edge.value)) {
				t.Fatal("not set")
			}
			sum, err := n.Add(ctx, edge.delta)
			if errors.Is(err, ErrOverflow) != edge.over || err == nil && sum != edge.value+edge.delta || edge.over && must(n.Get(ctx)) != edge.value {
				t.Errorf("%d + %d: %d, %v", edge.value, edge.delta, sum, err)
			}
		}
		for _, text := range []string{"", "seven", "1 ", "9223372036854775808"} {
			if err := srv.Set("/n", []byte(text)); err != nil {
				t.Fatal(err)
			}
			if _, err := n.Add(ctx, 1); !errors.Is(err, ErrNotANumber) {
				t.Errorf("%q: %v", text, err)
			}
			if data, _, _ := srv.Get("/n"); string(data) != text {
				t.Errorf("%q became %q", text, data)
			}
		}
	})
}

func TestCounterContended(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		const each, clients = 20, 4
		var all []*call
		for range clients {
			c := dial(t, srv)
			defer c.Close()
			n := NewCounter(c, "/n")
			for range 2 {
				all = append(all, goCall(t.Context(), func(ctx context.Context) error {
					for range each {
						if _, err := n.Add(ctx, 1); err != nil {
							return err
						}
					}
					return nil
				}))
			}
		}
		for _, w := range all {
			w.ends(t, nil)
		}
		if data, _, _ := srv.Get("/n"); string(data) != strconv.Itoa(2*each*clients) {
			t.Errorf("%s", data)
		}
	})
}

// A change whose reply is lost is reported and not repeated, whether it was applied or not.
func TestCounterNeverAppliesTwice(t *testing.T) {
	for _, fault := range []struct {
		name    string
		on      func(*zktest.Server, zktest.Match) *zktest.Rule
		op      proto.Op
		first   string // what the znode holds before
		applied bool
	}{
		{"set executed", (*zktest.Server).CloseAfter, proto.OpSetData, "1", true},
		{"set not executed", (*zktest.Server).CloseBefore, proto.OpSetData, "1", false},
		{"create executed", (*zktest.Server).CloseAfter, proto.OpCreate2, "", true},
		{"create not executed", (*zktest.Server).CloseBefore, proto.OpCreate2, "", false},
	} {
		t.Run(fault.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := dial(t, srv)
				defer c.Close()
				before := int64(0)
				if fault.first != "" {
					before = 1
					must(srv.Create("/n", []byte(fault.first), proto.ModePersistent))
				}
				n := NewCounter(c, "/n")
				rule := fault.on(srv, zktest.Match{Op: fault.op})
				sum, err := n.Add(t.Context(), 10)
				if !client.MaybeApplied(err) || sum != 0 || rule.Hits() != 1 {
					t.Errorf("%d, %v, %d hits", sum, err, rule.Hits())
				}
				want := before
				if fault.applied {
					want += 10
				}
				if got := must(n.Get(t.Context())); got != want {
					t.Errorf("%d, want %d", got, want)
				}
				set, err := n.CompareAndSet(t.Context(), want, 100)
				if !set || err != nil {
					t.Errorf("%v, %v", set, err)
				}
			})
		})
	}
}

// Reads whose reply is lost are made again.
func TestCounterReadsAgain(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		n := NewCounter(c, "/n")
		must(n.Add(t.Context(), 3))
		srv.CloseAfter(zktest.Match{Op: proto.OpGetData})
		if got := must(n.Add(t.Context(), 1)); got != 4 {
			t.Error(got)
		}
		srv.CloseBefore(zktest.Match{Op: proto.OpSync})
		if got := must(n.Get(t.Context())); got != 4 {
			t.Error(got)
		}
	})
}

// Without the client's chroot there is nothing to be faster than.
func TestCounterWithoutItsChroot(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dialTo(t, srv, "one:2181/missing")
		defer c.Close()
		if _, err := NewCounter(c, "/n").Add(t.Context(), 1); !errors.Is(err, client.ErrNoNode) {
			t.Error(err)
		}
	})
}
