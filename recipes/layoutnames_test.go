package recipes

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
)

func TestParsePermit(t *testing.T) { // K22, D8, F86
	const own = "_c_01234567-89ab-cdef-0123-456789abcdef-"
	for name, want := range map[string][3]int64{ // number, capacity, weight
		own + "n5-w2-0000000007":                   {7, 5, 2},
		own + "n0-w1-0000000000":                   {0, 0, 1},
		own + "n1048576-w1048576-2147483647":       {math.MaxInt32, 1048576, 1048576},
		own + "n1-w1--2147483648":                  {math.MinInt32, 1, 1},
		own + "n1-w1--000000005":                   {-5, 1, 1},
		own + "n5-w2-n7-w3-0000000001":             {1, 7, 3}, // the last one counts
		own + "n05-w02-0000000001":                 {1, 5, 2},
		"-n2-w9-1":                                 {1, 2, 9}, // more than there are: whoever wrote that has it, or nobody ever will
		own + "n5-w0-0000000001":                   {none},
		own + "n1048577-w1-0000000001":             {none},
		own + "n1-w1048577-0000000001":             {none},
		own + "n99999999999999999999-w1-1":         {none},
		own + "n1-w18446744073709551617-1":         {none},
		own + "n-1-w1-0000000001":                  {none},
		own + "n1-w-1-0000000001":                  {none},
		own + "n-w1-0000000001":                    {none},
		own + "n1-w-0000000001":                    {none},
		own + "n1-w1-":                             {none},
		own + "n1-w1":                              {none},
		own + "n1-w":                               {none},
		own + "n1-w1-x":                            {none},
		own + "n1-w1-2147483648":                   {none},
		own + "n1-w1-12345678901":                  {none},
		own + "n1-w1---1":                          {none},
		own + "n1-w1-1-":                           {none},
		own + "w1-n1-0000000001":                   {none},
		own + "n+1-w1-0000000001":                  {none},
		own + "n1 -w1-0000000001":                  {none},
		own + "n١-w1-0000000001":                   {none}, // another script's one
		"n5-w2-0000000001":                         {none}, // no prefix
		own + "lock-0000000001":                    {none},
		"":                                         {none},
		"-":                                        {none},
		"-w":                                       {none},
		"-n-w":                                     {none},
		"-w-n":                                     {none},
		strings.Repeat("-n1-w1", 1000):             {none},
		"-n1-w" + strings.Repeat("1", 1000) + "-1": {none},
	} {
		seq, c, ok := parsePermit([]byte(name))
		if ok != (want[0] != none) || ok && (int64(seq) != want[0] || int64(c.capacity) != want[1] || int64(c.weight) != want[2] || c.kind != permit) {
			t.Errorf("%.60q: %d %+v %v", name, seq, c, ok)
		}
	}
}

func TestParseForeign(t *testing.T) { // K19, K22, 2.6 to 2.9
	for name, want := range map[string]int64{
		"_c_01234567-89ab-cdef-0123-456789abcdef-lock-0000000007": 7,
		"_c_0123456789abcdef0123456789abcdef-lock-0000000007":     7,
		"0123456789abcdef0123456789abcdef__lock__0000000007":      7,
		"0123456789abcdef0123456789abcdef__rlock__0000000007":     7,
		"0123456789abcdef0123456789abcdef__rlock__-000000007":     -7,
		"0123456789abcdef0123456789abcdef__lock__-2147483648":     math.MinInt32,
		"x-72057594037927936-0000000007":                          7,
		"x--72057594037927936-0000000007":                         7, // a session with a negative id
		"x-72057594037927936--000000007":                          -7,
		"x--72057594037927936--2147483648":                        math.MinInt32,
		"x-0100000000000000-0000000007":                           7, // the C client's
		"x-1-2147483647":                                          math.MaxInt32,
		"x-1-2147483648":                                          none,
		"x-1-12345678901":                                         none,
		"x-1-":                                                    none,
		"x-1--":                                                   none,
		"x-1":                                                     none,
		"x--1":                                                    none,
		"x-":                                                      none,
		"x":                                                       none,
		"":                                                        none,
		"-":                                                       none,
		"y-1-0000000007":                                          none,
		"config":                                                  none,
		"a__lock__":                                               none,
		"a__lock__x":                                              none,
		"a__lock__12345678901":                                    none,
		"_c_01234567-89ab-cdef-0123-456789abcdef-__WRIT__0000000001": none,
		"_c_01234567-89ab-cdef-0123-456789abcdef-n1-w1-0000000001":   none,
	} {
		seq, ok := parseForeign([]byte(name))
		if ok != (want != none) || ok && int64(seq) != want {
			t.Errorf("%q: %d %v", name, seq, ok)
		}
	}
}

// fuzzClaims are all that a name can be parsed for: those that options allow.
func fuzzClaims() (cs []claim) {
	for k := exclusive; k <= latch; k++ {
		for l := curatorLayout; l <= kazooLayout; l++ {
			for _, foreign := range []bool{false, true} {
				s := settings{layout: l, foreign: foreign, curator: k == lease}
				of := k
				if k == lease {
					of = permit
				}
				if s.check(of) == nil {
					c := one(k)
					c.layout, c.foreign = l, foreign
					cs = append(cs, c)
				}
			}
		}
	}
	for _, stem := range []string{"lock-", "n_", "-n1-w"} {
		c := one(exclusive)
		c.stem = &stem
		cs = append(cs, c)
	}
	return cs
}

// FuzzParseName: no name makes the parsers panic or report what cannot be, and what a contender writes is read back.
func FuzzParseName(f *testing.F) {
	for _, name := range []string{"", "-", "-w", "-n-w", "x--", "x-1--5", "lock-", "__lock__-1", "_c_-n5-w2-0000000001", "a__rlock__0000000003", "__READ__1__WRIT__2",
		"lease-0000000001", "latch-0000000001", "-n1048577-w1-1", "lock-99999999999", "-n1-w1--2147483648"} {
		f.Add(name, int32(1), 1, 1)
	}
	f.Add("", int32(math.MinInt32), maxPermits, maxPermits)
	f.Fuzz(func(t *testing.T, name string, seq int32, capacity, weight int) {
		for _, c := range fuzzClaims() {
			got, other, ok := c.parse([]byte(name))
			if !ok {
				continue
			}
			if other.weight < 1 || other.weight > maxPermits || other.capacity < 0 || other.capacity > maxPermits {
				t.Errorf("%+v of %q: %+v", c, name, other)
			}
			digits := strconv.Itoa(int(got))
			if c.kind != lease && !strings.HasSuffix(strings.TrimLeft(name[max(0, len(name)-10):], "-0"), strings.TrimLeft(digits, "-0")) {
				t.Errorf("%+v of %q: number %d", c, name, got)
			}
		}
		for _, c := range fuzzClaims() {
			if c.kind == permit {
				c.capacity, c.weight = capacity, weight
				if capacity < 0 || capacity > maxPermits || weight < 1 || weight > maxPermits {
					continue
				}
			}
			written := string(c.appendPrefix(nil)) + c.mark() + fmt.Sprintf("%010d", seq)
			got, other, ok := c.parse([]byte(written))
			if !ok || got != seq || other.kind != c.kind || other.weight != c.weight || other.capacity != c.capacity {
				t.Errorf("%+v wrote %q and read %d, %+v, %v", c, written, got, other, ok)
			}
		}
	})
}

// What each layout writes, in full.
func TestLayoutNames(t *testing.T) {
	stem := "n_"
	for _, tc := range []struct {
		c    claim
		want string // with the digits of the GUID as 0, if there is one
	}{
		{claim{kind: exclusive, stem: &stem}, "n_"},
		{claim{kind: exclusive}, "_c_00000000-0000-0000-0000-000000000000-lock-"},
		{claim{kind: writer}, "_c_00000000-0000-0000-0000-000000000000-__WRIT__"},
		{claim{kind: reader}, "_c_00000000-0000-0000-0000-000000000000-__READ__"},
		{claim{kind: permit, capacity: 5, weight: 2}, "_c_00000000-0000-0000-0000-000000000000-n5-w2-"},
		{claim{kind: permit, weight: 1}, "_c_00000000-0000-0000-0000-000000000000-n0-w1-"},
		{claim{kind: lease}, "_c_00000000-0000-0000-0000-000000000000-lease-"},
		{claim{kind: latch}, "_c_00000000-0000-0000-0000-000000000000-latch-"},
		{claim{kind: exclusive, layout: goZKLayout}, "_c_00000000000000000000000000000000-lock-"},
		{claim{kind: exclusive, layout: kazooLayout}, "00000000000000000000000000000000__lock__"},
		{claim{kind: writer, layout: kazooLayout}, "00000000000000000000000000000000__lock__"},
		{claim{kind: reader, layout: kazooLayout}, "00000000000000000000000000000000__rlock__"},
	} {
		prefix := tc.c.appendPrefix(nil)
		start := max(strings.Index(tc.want, "00"), 0)
		guid := strings.Map(func(r rune) rune {
			if strings.ContainsRune("0123456789abcdef", r) {
				return '0'
			}
			return r
		}, string(prefix[start:]))
		if got := string(prefix[:start]) + guid + tc.c.mark(); got != tc.want {
			t.Errorf("%+v: %s, want %s", tc.c, got, tc.want)
		}
	}
}
