package recipes

import (
	"bytes"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"strconv"
)

// A lock's znode is _c_<uuid>-<mark><sequence number>, as Curator's StandardLockInternalsDriver, InterProcessReadWriteLock and
// protected create name it; go-zookeeper's Lock understands those of a mutex too (docs/locks.md 2.1, 2.2, 2.9).
const (
	guidStart = "_c_"
	guidLen   = len("01234567-89ab-cdef-0123-456789abcdef")
	lockMark  = "lock-"
	readMark  = "__READ__"
	writeMark = "__WRIT__"
	leaseMark = "lease-"
	kazooMark = "__lock__"
	kazooRead = "__rlock__"
	latchMark = "latch-"
)

// kind is what a contender wants.
type kind uint8

const (
	exclusive kind = iota // a mutex
	writer
	reader
	permit // of a semaphore
	lease  // of a semaphore as Curator has it
	latch  // of an election as Curator has it
	fixed  // a mutex without a queue
)

// claim is what a contender wants, as the name of its znode says.
type claim struct {
	kind     kind
	layout   layout
	foreign  bool    // names of other layouts count as well
	weight   int     // permits that it takes; 1 but for a semaphore
	capacity int     // permits that there are; 1 but for a semaphore, and 0 when the path's znode says how many
	stem     *string // all that the name has before its number, with PlainNames; a pointer, as each lease has a claim
}

// layout is whose names the znodes of a mutex or read-write lock have.
type layout uint8

const (
	curatorLayout layout = iota
	goZKLayout           // as Curator's, with another form of the UUID; of mutexes only
	kazooLayout
)

// one is the claim of a contender for a lock that is not a semaphore.
func one(k kind) claim { return claim{kind: k, weight: 1, capacity: 1} }

// of returns the claim of another kind that may stand in the same queue as c.
func (c claim) of(k kind) claim { c.kind = k; return c }

// mark is what the name has before its number.
func (c claim) mark() string {
	switch {
	case c.stem != nil:
		return *c.stem
	case c.layout == kazooLayout && c.kind == reader:
		return kazooRead
	case c.layout == kazooLayout:
		return kazooMark
	}
	switch c.kind {
	case writer:
		return writeMark
	case reader:
		return readMark
	case permit:
		return "n" + strconv.Itoa(c.capacity) + "-w" + strconv.Itoa(c.weight) + "-"
	case lease:
		return leaseMark
	case latch:
		return latchMark
	}
	return lockMark
}

// parse reads the name of a contender for the same lock as c's: its number, and what it wants. Of a read-write lock's name
// what follows the last marker counts, the read marker before the other (Curator's getSortingSequence).
func (c claim) parse(name []byte) (seq int32, other claim, ok bool) {
	if c.stem != nil {
		seq, ok = parsePlain(name, *c.stem)
		return seq, c, ok
	}
	switch c.kind {
	case reader, writer:
		if seq, ok = parseSequence(name, c.of(reader).mark()); ok {
			return seq, c.of(reader), true
		}
		seq, ok = parseSequence(name, c.of(writer).mark())
		return seq, c.of(writer), ok
	case permit:
		return parsePermit(name)
	case lease: // Curator counts every child
		seq, _ = parseSequence(name, leaseMark)
		return seq, c, true
	}
	if seq, ok = parseSequence(name, c.mark()); !ok && c.foreign {
		seq, ok = parseForeign(name)
	}
	return seq, c, ok
}

// parseForeign reads the names of mutexes of other clients: Curator's, those of kazoo's Lock, ReadLock and WriteLock, and of
// ZooKeeper's own WriteLock, x-<session>-<number>.
func parseForeign(name []byte) (seq int32, ok bool) {
	for _, mark := range [...]string{lockMark, kazooMark, kazooRead} {
		if seq, ok = parseSequence(name, mark); ok {
			return seq, true
		}
	}
	if i := bytes.LastIndexByte(name, '-'); i > len("x-") && bytes.HasPrefix(name, []byte("x-")) {
		if name[i-1] == '-' { // of a number below zero
			i--
		}
		return parseNumber(name[i+1:])
	}
	return 0, false
}

// parsePermit reads the name of a semaphore's contender, which ends in n<capacity>-w<weight>-<number>.
func parsePermit(name []byte) (seq int32, c claim, ok bool) {
	i := bytes.LastIndex(name, []byte("-w"))
	j := bytes.LastIndex(name[:max(i, 0)], []byte("-n"))
	if j < 0 {
		return 0, claim{}, false
	}
	weight, _, cut := bytes.Cut(name[i+len("-w"):], []byte{'-'})
	w, okW := parsePermits(weight)
	n, okN := parsePermits(name[j+len("-n") : i])
	seq, ok = parseSequence(name, string(name[i:i+len("-w")+len(weight)])+"-")
	return seq, claim{kind: permit, weight: w, capacity: n}, ok && cut && okW && okN && w > 0
}

// maxPermits bounds the capacity of a semaphore.
const maxPermits = 1 << 20

// parsePermits reads a number of permits.
func parsePermits(digits []byte) (n int, ok bool) {
	for _, d := range digits {
		if n = 10*n + int(d-'0'); d < '0' || d > '9' || n > maxPermits {
			return 0, false
		}
	}
	return n, len(digits) > 0
}

// waitsFor says whether a contender that claims c waits for one ahead of it that claims other.
func (c claim) waitsFor(other claim) bool { return c.kind != reader || other.kind != reader }

// shares says whether others may hold the lock at the same time.
func (c claim) shares() bool {
	return c.kind == reader || (c.kind == permit || c.kind == lease) && c.capacity != 1
}

// appendPrefix appends what makes the name of a znode unique: a random UUID, as the layout writes it. Plain names are not.
func (c claim) appendPrefix(dst []byte) []byte {
	if c.stem != nil {
		return dst
	}
	switch c.layout {
	case kazooLayout:
		return appendGUID(dst, false)
	case goZKLayout:
		return append(appendGUID(append(dst, guidStart...), false), '-')
	}
	return append(appendGUID(append(dst, guidStart...), true), '-')
}

// appendGUID appends a random UUID, in its usual form or without dashes. It has to be unique, not secret.
func appendGUID(dst []byte, dashes bool) []byte {
	var raw [16]byte
	for i := range 2 {
		v := rand.Uint64()
		for j := range 8 {
			raw[8*i+j] = byte(v >> (8 * j))
		}
	}
	for i, cut := range [...]int{4, 6, 8, 10, 16} {
		from := [...]int{0, 4, 6, 8, 10}[i]
		if i > 0 && dashes {
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
	return parseNumber(name[i+len(mark):])
}

// parseNumber reads the digits of a sequence number.
func parseNumber(digits []byte) (seq int32, ok bool) {
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
