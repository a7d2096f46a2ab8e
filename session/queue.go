package session

import (
	"context"
	"sync"
)

// ItemKind says what an Item of a Queue is.
type ItemKind uint8

// The kinds of items.
const (
	ItemNone  ItemKind = iota
	ItemReply          // a group that was sent To the queue is complete
	ItemEvent          // a watch whose sink is the queue fired
)

// Item is one thing that happened, in the order of the wire.
type Item struct {
	Kind  ItemKind
	Tag   uint32 // of the group or watch
	Conn  uint64 // number of the connection that carried it; 0 when none did
	Event Event  // for ItemEvent
}

// Queue brings replies and events to one consumer in the order in which they arrived, which separate channels could not
// (docs/locks.md A10 rule 3). The consumer drains it before it decides anything. Pushing never blocks: its length is
// bounded by the number of groups and watches that point to it. Next and TryNext are for one goroutine at a time.
type Queue struct {
	mu      sync.Mutex // guards what follows; innermost lock
	items   []Item
	head    int
	forward func(Item)

	wake chan struct{} // a token when items may be there
}

// NewQueue returns an empty queue.
func NewQueue() *Queue { return &Queue{wake: make(chan struct{}, 1)} }

// TryNext returns the oldest item, if there is one.
func (q *Queue) TryNext() (Item, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.head == len(q.items) {
		return Item{}, false
	}
	it := q.items[q.head]
	q.items[q.head] = Item{}
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return it, true
}

// Next waits for the oldest item, or for the end of the context, whose error it returns.
func (q *Queue) Next(ctx context.Context) (Item, error) {
	for {
		if it, ok := q.TryNext(); ok {
			return it, nil
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return Item{}, ctx.Err()
		}
	}
}

// Wake returns the channel that holds a token when TryNext may have something, for use in a select.
func (q *Queue) Wake() <-chan struct{} { return q.wake }

// Forward gives the items that are left and all later ones to f instead. f is called on the session's goroutines; it must
// not block and must not call back into the queue.
func (q *Queue) Forward(f func(Item)) {
	q.mu.Lock()
	rest := q.items[q.head:]
	q.items, q.head, q.forward = nil, 0, f
	q.mu.Unlock()
	for _, it := range rest {
		f(it)
	}
}

// Reset empties the queue for its next use. Nothing may be under way to it.
func (q *Queue) Reset() {
	q.mu.Lock()
	clear(q.items)
	q.items, q.head, q.forward = q.items[:0], 0, nil
	q.mu.Unlock()
	select {
	case <-q.wake:
	default:
	}
}

// push appends an item; signal wakes the consumer at once, otherwise flush does later.
func (q *Queue) push(it Item, signal bool) {
	q.mu.Lock()
	if f := q.forward; f != nil {
		q.mu.Unlock()
		f(it)
		return
	}
	q.items = append(q.items, it)
	q.mu.Unlock()
	if signal {
		q.flush()
	}
}

// flush wakes the consumer.
func (q *Queue) flush() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
