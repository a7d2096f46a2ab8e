package checker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// worker is one goroutine that takes and gives back locks.
type worker struct {
	*run
	client, row int
	rng         *rand.Rand
}

// work goes on until the run stops.
func (w *worker) work() {
	for {
		select {
		case <-w.stop:
			return
		case <-time.After(time.Duration(w.rng.IntN(3) * w.rng.IntN(int(w.second())))):
		}
		w.cycle(w.rng.IntN(len(w.paths)))
	}
}

// second is the measure of what workers do: a sixth of the session timeout.
func (w *worker) second() time.Duration { return w.timeout / 6 }

// cycle is one call of Lock and what follows from it.
func (w *worker) cycle(p int) {
	if l, ok := w.locks[w.client][p].(resizer); ok && w.rng.IntN(8) == 0 {
		w.resize(p, l)
	}
	h := how{try: w.rng.IntN(5) == 0, shared: w.sites[p].kind == readWrite && w.rng.IntN(2) == 0, weight: w.weight(p)}
	ctx, cancel := w.late, context.CancelFunc(func() {})
	if w.rng.IntN(3) > 0 || w.sites[p].kind == numbered && h.weight > 1 { // there may never be as many
		ctx, cancel = context.WithTimeout(ctx, time.Duration(w.rng.ExpFloat64()*float64(2*w.timeout)))
	}
	defer cancel()
	if w.rng.IntN(12) == 0 {
		w.revoke(ctx, p)
	}
	if l, ok := w.locks[w.client][p].(leader); ok && w.rng.IntN(3) == 0 {
		w.lead(ctx, p, l)
	} else if k := w.acquire(ctx, p, h); k != nil {
		w.keep(k)
		w.giveBack(k)
	}
}

// last takes and gives back a lock when nothing is wrong any more.
func (w *worker) last(p int) {
	if k := w.acquire(w.late, p, how{}); k != nil {
		w.readHolders(p, w.row)
		w.giveBack(k)
	} else if w.late.Err() == nil {
		w.violate(Liveness, w.paths[p], fmt.Sprintf("client %d was refused after all faults", w.client))
	}
}

// kept is a hold with what its client believes.
type kept struct {
	hold
	p      int
	id     int
	shared bool
	vague  bool          // nobody knows which znode stands for it since a downgrade
	seen   chan struct{} // closed when the follower has ended

	mu     sync.Mutex // guards what follows
	belief *Belief
	lost   bool
}

// acquire asks for a lock and notes the outcome; nil when it was not granted.
func (w *worker) acquire(ctx context.Context, p int, h how) *kept {
	op := Op{Client: w.row, Path: w.paths[p], Kind: Lock, Hold: w.h.NewHold(), Shared: h.shared, Weight: h.weight, Call: w.h.Now()}
	got, result, err := w.locks[w.client][p].acquire(ctx, h)
	op.Result = result
	if result != OK {
		w.refused(op, err)
		return nil
	}
	op.Return = w.h.Now()
	w.count(kinds[w.sites[p].kind])
	return w.granted(op, p, got)
}

// refused notes that a lock was not granted.
func (w *worker) refused(op Op, err error) {
	w.h.Add(op)
	switch {
	case w.late.Err() != nil:
		w.violate(Liveness, op.Path, fmt.Sprintf("client %d waits for ever", w.client))
	case err != nil:
		w.violate(Strange, op.Path, err.Error())
	}
}

// count counts a grant.
func (w *worker) count(of string) {
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	w.grants[of]++
}

// granted notes a grant, and has its end followed.
func (w *worker) granted(op Op, p int, got hold) *kept {
	op.Token = got.token()
	node := Node{got.node(), op.Token.Zxid, w.identify(got.node()).Owner}
	w.h.Bind(node, op.Hold)
	if got.passes() {
		w.h.Bind(node, Nobody)
	}
	k := &kept{hold: got, p: p, id: op.Hold, shared: op.Shared, seen: make(chan struct{})}
	k.belief = w.h.BelieveIn(&Belief{Client: w.client, Path: op.Path, Hold: op.Hold, Shared: op.Shared, Weight: op.Weight})
	w.h.Add(op)
	// Follower of one hold; ends with it, and giveBack waits for it.
	go w.follow(k)
	return k
}

// follow ends the belief when the client says so. A lock that may give itself back is noted as released by somebody who does not
// know whether it was.
func (w *worker) follow(k *kept) {
	defer close(k.seen)
	<-k.done()
	at := w.h.Instant()
	k.mu.Lock()
	k.lost = true
	k.belief.EndAt(at)
	k.mu.Unlock()
	if k.over() {
		w.h.Add(Op{Client: w.row, Path: w.paths[k.p], Kind: Unlock, Hold: k.id, All: true, Passes: k.passes(), Result: Unknown, Call: at})
	}
}

// keep holds a lock for a time and does with it what can be done.
func (w *worker) keep(k *kept) {
	for range w.rng.IntN(4) {
		d := time.Duration(w.rng.IntN(2) * w.rng.IntN(int(2*w.second())))
		if w.rng.IntN(12) == 0 {
			d = time.Duration(w.rng.IntN(int(4 * w.timeout))) // long enough for a deadline
		}
		pass(time.Duration(float64(d) * (1 + w.lengthy)))
		switch w.rng.IntN(8) {
		case 0:
			w.readHolders(k.p, w.row)
		case 1:
			if r, ok := k.hold.(reentrant); ok {
				w.again(k, r)
			}
		case 2:
			if d, ok := k.hold.(downgrader); ok && !k.shared {
				w.downgrade(k, d)
			}
		case 3, 4:
			w.write(k)
		default:
			w.use(k.p, w.row, k.id, k.token())
		}
	}
}

// giveBack releases a lock.
func (w *worker) giveBack(k *kept) {
	op := Op{Client: w.row, Path: w.paths[k.p], Kind: Unlock, Hold: k.id, Passes: k.passes(), Call: w.h.Now()}
	k.mu.Lock()
	k.belief.EndAt(op.Call)
	k.mu.Unlock()
	defer func() { <-k.seen }()
	wait := w.rng.IntN(4) > 0
	for {
		ctx, cancel := w.late, context.CancelFunc(func() {})
		if w.rng.IntN(3) == 0 {
			ctx, cancel = context.WithTimeout(ctx, time.Duration(w.rng.IntN(int(2*w.timeout))))
		}
		result, pending, err := k.release(ctx, wait)
		cancel()
		if err != nil {
			w.violate(Strange, op.Path, err.Error())
		}
		op.Result = result
		if !pending || w.late.Err() != nil || w.rng.IntN(2) == 0 {
			break
		}
	}
	w.h.Add(op)
	w.tooLate(k)
}

// tooLate does, now and then, what only a holder may do: more often when the znode may be somebody else's by then.
func (w *worker) tooLate(k *kept) {
	n := 8
	if k.passes() {
		n = 3
		pass(time.Duration(w.rng.IntN(2) * w.rng.IntN(int(w.second()))))
	}
	switch w.rng.IntN(n) {
	case 0:
		w.use(k.p, w.row, k.id, k.token()) // whether it is refused, the tokens decide
	case 1:
		w.write(k)
	}
}

// again takes a lock that the worker has.
func (w *worker) again(k *kept, r reentrant) {
	ctx, cancel := context.WithTimeout(w.late, time.Duration(w.rng.IntN(int(w.timeout))))
	defer cancel()
	op := Op{Client: w.row, Path: w.paths[k.p], Kind: Lock, Hold: k.id, Call: w.h.Now()}
	inner, result, err := r.again(ctx)
	op.Result = result
	if err != nil {
		w.violate(Strange, op.Path, err.Error())
	}
	if result != OK {
		w.h.Add(op)
		return
	}
	op.Token = inner.token()
	w.h.Add(op)
	pass(time.Duration(w.rng.IntN(int(w.second()))))
	op = Op{Client: w.row, Path: op.Path, Kind: Unlock, Hold: k.id, Passes: k.passes(), Call: w.h.Now()}
	op.Result, _, err = inner.release(ctx, true)
	if err != nil {
		w.violate(Strange, op.Path, err.Error())
	}
	w.h.Add(op)
}

// downgrade turns a write hold into a read hold.
func (w *worker) downgrade(k *kept, d downgrader) {
	ctx, cancel := context.WithTimeout(w.late, time.Duration(w.rng.IntN(int(2*w.timeout))))
	defer cancel()
	op := Op{Client: w.row, Path: w.paths[k.p], Kind: Downgrade, Hold: k.id, Call: w.h.Now()}
	k.mu.Lock()
	if !k.lost {
		k.belief = k.belief.Share(op.Call)
	}
	k.mu.Unlock()
	result, err := d.downgrade(ctx)
	if err != nil {
		w.violate(Strange, op.Path, err.Error())
	}
	op.Result = result
	w.h.Bind(w.identify(k.node()), k.id)
	w.h.Add(op)
	k.shared, k.vague = result != NotHeld, result == Unknown
}
