package recipes

import (
	"bytes"
	"encoding/hex"
	"math"
	"math/rand/v2"
)

// A lock's znode is _c_<uuid>-<mark><sequence number>, as Curator's StandardLockInternalsDriver, InterProcessReadWriteLock and
// protected create name it; go-zookeeper's Lock understands those of a mutex too (docs/locks.md 2.1, 2.2, 2.9).
const (
	guidStart = "_c_"
	guidLen   = len("01234567-89ab-cdef-0123-456789abcdef")
	lockMark  = "lock-"
	readMark  = "__READ__"
	writeMark = "__WRIT__"
)

// kind is what a contender wants.
type kind uint8

const (
	exclusive kind = iota // a mutex
	writer
	reader
)

// mark is what the name has before its number.
func (k kind) mark() string {
	switch k {
	case writer:
		return writeMark
	case reader:
		return readMark
	}
	return lockMark
}

// parse reads the name of a contender for the same lock as k's: its number, and what it wants. Of a read-write lock's name
// what follows the last marker counts, the read marker before the other (Curator's getSortingSequence).
func (k kind) parse(name []byte) (seq int32, other kind, ok bool) {
	if k == exclusive {
		seq, ok = parseSequence(name, lockMark)
		return seq, exclusive, ok
	}
	if seq, ok = parseSequence(name, readMark); ok {
		return seq, reader, true
	}
	seq, ok = parseSequence(name, writeMark)
	return seq, writer, ok
}

// waitsFor says whether a contender that wants k waits for one ahead of it that wants other.
func (k kind) waitsFor(other kind) bool { return k != reader || other != reader }

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

// parseSequence reads the sequence number of a contender's name: what follows the last mark, which must be digits, with a
// minus in front after the counter has wrapped. Names of any other form are not contenders.
func parseSequence(name []byte, mark string) (seq int32, ok bool) {
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
