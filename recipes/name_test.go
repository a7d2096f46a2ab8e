package recipes

import (
	"math"
	"regexp"
	"testing"
)

func TestNames(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for range 100 {
		g := string(appendGUID(nil, true))
		if !form.MatchString(g) || len(g) != guidLen || seen[g] {
			t.Fatal(g)
		}
		seen[g] = true
	}
}

func TestParseSequence(t *testing.T) { // K22, D8, F86
	for name, want := range map[string]int64{
		"_c_1-lock-0000000007":   7,
		"lock-2147483647":        math.MaxInt32,
		"lock--2147483648":       math.MinInt32,
		"lock--000000005":        -5,
		"a-lock-lock-0000000001": 1,
		"lock-":                  none, "lock--": none, "lock-12345678901": none, "lock-2147483648": none, "lock-x": none,
		"lock-00000000 1": none, "x-0000000001": none, "": none, "lock-1-": none, "__lock__0000000001": none,
	} {
		seq, ok := parseSequence([]byte(name), lockMark)
		if ok != (want != none) || ok && int64(seq) != want {
			t.Errorf("%q: %d %v", name, seq, ok)
		}
	}
}

const none = math.MaxInt64

func TestOrderAcrossTheWrap(t *testing.T) { // C151
	numbers := []int32{math.MaxInt32 - 1, math.MaxInt32, math.MinInt32, math.MinInt32 + 1}
	for i := range numbers {
		for j := range numbers {
			if older(numbers[i], numbers[j]) != (i < j) {
				t.Errorf("older(%d, %d)", numbers[i], numbers[j])
			}
		}
	}
	if !older(0, 1) || !older(-1, 0) || older(1, 1) {
		t.Error("plain order")
	}
	for seq, want := range map[int32]bool{0: false, highWater - 1: false, highWater: true, math.MaxInt32: true, -1: true} {
		if exhausted(seq) != want {
			t.Errorf("exhausted(%d)", seq)
		}
	}
}
