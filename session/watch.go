package session

import (
	"math"

	"github.com/lockkeeper/lockkeeper/proto"
)

// Event is what a watch delivers. Err is set on the last event of a watch whose session has ended, and nothing else is.
type Event struct {
	Type proto.EventType
	Path string // where it happened: for a one-shot watch, the path that it was set on
	Zxid int64  // of the change, from servers of 3.9 on; -1 otherwise
	Err  error
}

// WatchKind says which changes a one-shot watch waits for.
type WatchKind uint8

// The kinds of one-shot watches (docs/protocol.md section 11).
const (
	WatchData  WatchKind = iota // left by getData, and by exists on an existing znode
	WatchExist                  // left by exists on a missing znode
	WatchChild                  // left by getChildren
	watchKinds
)

// Sink takes the event of a Watch. WatchEvent is called on the session's goroutines: it must not block, and it is for the
// packages of this module, not for user code.
type Sink interface {
	WatchEvent(w *Watch, ev Event, connNo uint64)
}

// Watch is one one-shot registration. It is given to Group.End, exists from the moment its reply is handled, and ends with
// its only event or with Session.Unwatch. It must not be changed before that, and is never used again.
type Watch struct {
	Kind WatchKind // for a request of kind WatchData whose reply is "no node" the registration becomes WatchExist
	Path string    // as sent to the server
	Sink Sink
	Tag  uint32 // for the sink's use
	Tidy bool   // the server is to forget it too, when it is taken back and nobody else here needs it there

	next    *Watch // guarded by the registry's owner: other watches of this path
	prev    *Watch // likewise
	set     bool   // likewise: registered
	dropped bool   // likewise: taken back, perhaps before its reply
	zxid    int64  // likewise: of the reply that set it
}

// registry holds the one-shot watches of a session by kind and path. The session's mu guards it.
type registry [watchKinds]map[string]*Watch

func (r *registry) add(w *Watch) {
	if r[w.Kind] == nil {
		r[w.Kind] = make(map[string]*Watch)
	}
	w.next, w.set = r[w.Kind][w.Path], true
	if w.next != nil {
		w.next.prev = w
	}
	r[w.Kind][w.Path] = w
}

// remove takes w out and says whether it was in.
func (r *registry) remove(w *Watch) bool {
	if !w.set {
		return false
	}
	if w.next != nil {
		w.next.prev = w.prev
	}
	switch m := r[w.Kind]; {
	case w.prev != nil:
		w.prev.next = w.next
	case w.next != nil:
		m[w.Path] = w.next
	default:
		delete(m, w.Path)
	}
	w.next, w.prev, w.set = nil, nil, false
	return true
}

// fired lists, per event type, the kinds of watches that it uses up. Created and changed events clear both tables, because
// a watch set anew after a reconnect can be answered with the other type (docs/protocol.md section 11).
func fired(t proto.EventType) []WatchKind {
	switch t {
	case proto.EventNodeCreated, proto.EventNodeDataChanged:
		return dataAndExist[:]
	case proto.EventNodeDeleted:
		return allKinds[:]
	case proto.EventNodeChildrenChanged:
		return childOnly[:]
	}
	return nil
}

var (
	dataAndExist = [...]WatchKind{WatchData, WatchExist}
	allKinds     = [...]WatchKind{WatchData, WatchExist, WatchChild}
	childOnly    = [...]WatchKind{WatchChild}
)

// take removes and returns the watches that an event of type t on path uses up, appended to dst in the order in which they
// were registered per kind.
func (r *registry) take(dst []*Watch, t proto.EventType, path []byte) []*Watch {
	for _, k := range fired(t) {
		w, ok := r[k][string(path)]
		if !ok {
			continue
		}
		delete(r[k], string(path))
		from := len(dst)
		for w != nil {
			next := w.next
			w.next, w.prev, w.set = nil, nil, false
			dst = append(dst, w)
			w = next
		}
		for i, j := from, len(dst)-1; i < j; i, j = i+1, j-1 {
			dst[i], dst[j] = dst[j], dst[i]
		}
	}
	return dst
}

// takeAll empties the registry.
func (r *registry) takeAll() []*Watch {
	var all []*Watch
	for k := range r {
		for _, w := range r[k] {
			for w != nil {
				next := w.next
				w.next, w.prev, w.set = nil, nil, false
				all = append(all, w)
				w = next
			}
		}
		r[k] = nil
	}
	return all
}

// oldest returns the lowest zxid of a reply that has set a watch of a kind on path.
func (r *registry) oldest(k WatchKind, path string) int64 {
	zxid := int64(math.MaxInt64)
	for w := r[k][path]; w != nil; w = w.next {
		zxid = min(zxid, w.zxid)
	}
	return zxid
}

// count returns the number of registered watches.
func (r *registry) count() int {
	n := 0
	for k := range r {
		for _, w := range r[k] {
			for ; w != nil; w = w.next {
				n++
			}
		}
	}
	return n
}

// WatchEvent makes a Queue the sink of a watch: the event becomes an item.
func (q *Queue) WatchEvent(w *Watch, ev Event, connNo uint64) {
	q.push(Item{Kind: ItemEvent, Tag: w.Tag, Conn: connNo, Event: ev}, true)
}
