package wirecount

import (
	"maps"

	"github.com/lockkeeper/lockkeeper/proto"
)

// Kind sorts operations by what they ask of an ensemble.
type Kind int

// The kinds.
const (
	Read  Kind = iota // answered by the server that is asked
	Write             // a transaction: the leader's log and a majority
	Sync              // goes to the leader and back
	Ping              // says that the client is alive
	Other             // watches that are added, taken off or set again, and identities
)

// KindOf returns the kind of an operation.
func KindOf(op proto.Op) Kind {
	switch op {
	case proto.OpSync:
		return Sync
	case proto.OpPing:
		return Ping
	case proto.OpExists, proto.OpGetData, proto.OpGetACL, proto.OpGetChildren, proto.OpGetChildren2, proto.OpMultiRead,
		proto.OpGetEphemerals, proto.OpGetAllChildrenNumber, proto.OpWhoAmI, proto.OpCheckWatches:
		return Read
	}
	if op.IsWrite() {
		return Write
	}
	return Other
}

// Tally is what has passed. The zero Tally is nothing.
type Tally struct {
	Ops           map[proto.Op]int64 // requests; the handshake is none
	Handshakes    int64              // connections that have shown a session, old or new
	Replies       int64              // to requests
	Notifications int64
	Watches       int64 // set by reads that asked for one and had success, and by addWatch; not those that are set again
	BytesIn       int64 // of all frames to servers, lengths and handshakes included
	BytesOut      int64 // of all frames from servers

	Outstanding int64 // requests without a reply, also those whose connection is gone
	Watching    int64 // connections in which a watch was set after their last write; who waits for a lock has one
}

// Requests returns how many requests of a kind there were.
func (t Tally) Requests(k Kind) (sum int64) {
	for op, n := range t.Ops {
		if KindOf(op) == k {
			sum += n
		}
	}
	return sum
}

// Packets returns how many frames went to servers, as they count them themselves.
func (t Tally) Packets() (sum int64) {
	for _, n := range t.Ops {
		sum += n
	}
	return sum + t.Handshakes
}

// Minus returns what has passed since before. Outstanding and Watching are no sums, and stay what they are in t.
func (t Tally) Minus(before Tally) Tally {
	ops := make(map[proto.Op]int64)
	for op, n := range t.Ops {
		if n -= before.Ops[op]; n != 0 {
			ops[op] = n
		}
	}
	t.Ops = ops
	t.Handshakes -= before.Handshakes
	t.Replies -= before.Replies
	t.Notifications -= before.Notifications
	t.Watches -= before.Watches
	t.BytesIn -= before.BytesIn
	t.BytesOut -= before.BytesOut
	return t
}

// clone returns a copy that shares nothing.
func (t Tally) clone() Tally {
	t.Ops = maps.Clone(t.Ops)
	return t
}
