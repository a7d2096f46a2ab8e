package recipes

import (
	"bytes"
	"encoding/hex"
	"math"
	"math/rand/v2"
)

// A lock's znode is _c_<uuid>-lock-<sequence number>, as Curator's StandardLockInternalsDriver and protected create name
// it; go-zookeeper's Lock understands it too (docs/locks.md 2.1, 2.9).
const (
	guidStart = "_c_"
	mark      = "lock-"
	guidLen   = len("01234567-89ab-cdef-0123-456789abcdef")
)

// appendGUID appends a random UUID in its usual form. It has to be unique, not secret.
func appendGUID(dst []byte) []byte {
	var raw [16]byte
	for i := range 2 {
		v := rand.Uint64()
		for j := range 8 {
			raw[8*i+j] = byte(v >> (8 * j))
		}
	}
	for i, cut := range [...]int{4, 6, 8, 10, 16} {
		from := [...]int{0, 4, 6, 8, 10}[i]
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, raw[from:cut])
	}
	return dst
}

// parseSequence reads the sequence number of a contender's name: what follows the last "lock-", which must be digits, with
// a minus in front after the counter has wrapped. Names of any other form are not contenders.
func parseSequence(name []byte) (seq int32, ok bool) {
	i := bytes.LastIndex(name, []byte(mark))
	if i < 0 {
		return 0, false
	}
	digits := name[i+len(mark):]
	negative := len(digits) > 0 && digits[0] == '-'
	if negative {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 10 {
		return 0, false
	}
	var n int64
	for _, d := range digits {
		if d < '0' || d > '9' {
			return 0, false
		}
		n = 10*n + int64(d-'0')
	}
	if negative {
		n = -n
	}
	if n < math.MinInt32 || n > math.MaxInt32 {
		return 0, false
	}
	return int32(n), true
}

// older says whether sequence number a was given out before b. The counter is 32 bits wide and wraps, so the difference
// decides, not the order of the numbers: live contenders are never 2^31 creations apart.
func older(a, b int32) bool { return int32(uint32(a)-uint32(b)) < 0 }

// highWater is the number from which on a path is not used any more: close to its end the counter of a server since 3.6
// sticks and hands the same number out twice (docs/locks.md D1).
const highWater = math.MaxInt32 - 1<<20

// exhausted says whether a number is beyond what can be trusted.
func exhausted(seq int32) bool { return seq < 0 || seq >= highWater }
