package peer

import (
	"bytes"
	"encoding/binary"

	"github.com/lockkeeper/lockkeeper/jute"
)

// node is a sequential znode that exists.
type node struct {
	path    []byte
	czxid   int64
	owner   int64 // session of an ephemeral, else 0
	watched bool  // a one-shot watch waits for its deletion
}

// nodes are the sequential znodes of one connection. Memory of deleted ones is used again.
type nodes []node

// add makes a node and returns it; it is valid until the next add or remove.
func (ns *nodes) add(prefix []byte, seq, czxid, owner int64) *node {
	n := len(*ns)
	if n < cap(*ns) {
		*ns = (*ns)[:n+1]
	} else {
		*ns = append(*ns, node{})
	}
	nd := &(*ns)[n]
	nd.path = appendSequence(append(nd.path[:0], prefix...), seq)
	nd.czxid, nd.owner, nd.watched = czxid, owner, false
	return nd
}

// find returns the index of path, or -1.
func (ns nodes) find(path []byte) int {
	for i := range ns {
		if bytes.Equal(ns[i].path, path) {
			return i
		}
	}
	return -1
}

// remove drops the node with index i, but keeps its memory behind the end.
func (ns *nodes) remove(i int) {
	last := len(*ns) - 1
	(*ns)[i], (*ns)[last] = (*ns)[last], (*ns)[i]
	*ns = (*ns)[:last]
}

// appendChildren appends the names of the nodes whose parent is path, and returns how many there are.
func (ns nodes) appendChildren(dst, path []byte) ([]byte, int) {
	count := 0
	for i := range ns {
		p := ns[i].path
		slash := bytes.LastIndexByte(p, '/')
		if !bytes.Equal(p[:slash], path) && !(slash == 0 && len(path) == 1) {
			continue
		}
		dst = jute.AppendInt(dst, int32(len(p)-slash-1))
		dst = append(dst, p[slash+1:]...)
		count++
	}
	return dst, count
}

// sequenceDigits is the number of digits of a sequence number that is not negative.
const sequenceDigits = 10

func appendSequence(dst []byte, seq int64) []byte {
	dst = append(dst, "0000000000"...)
	for i := len(dst) - 1; seq > 0; i-- {
		dst[i] = byte('0' + seq%10)
		seq /= 10
	}
	return dst
}

// sequence returns the number at the end of a name that a sequential create has made.
func sequence(path []byte) (seq int64, ok bool) {
	start := len(path) - sequenceDigits
	if start < 1 || path[start-1] != '-' {
		return 0, false
	}
	for _, c := range path[start:] {
		if c < '0' || c > '9' {
			return 0, false
		}
		seq = 10*seq + int64(c-'0')
	}
	return seq, true
}

// appendFixed appends n encoded names in the form of Curator's locks: _c_, a UUID, -lock-, the sequence number.
func appendFixed(dst []byte, base int64, n int) []byte {
	const hex = "0123456789abcdef"
	for i := range int64(n) {
		seq := base + i
		start := len(dst)
		dst = jute.AppendString(dst, "_c_00000000-0000-4000-8000-000000000000-lock-")
		uuid := dst[start+4+3:]
		for d := range 8 { // any eight digits that differ from child to child, not in the order of the numbers
			uuid[d] = hex[uint32(seq*2654435761)>>(28-4*d)&15]
		}
		dst = appendSequence(dst, seq)
		binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	}
	return dst
}
