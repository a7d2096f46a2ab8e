package checker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// multiPart is what a recipes.MultiLock has of one path.
type multiPart struct {
	make func(h how) recipes.Part // nil if the locks of the path cannot be parts
	traits
}

// combine has some clients of some runs lock several paths as one.
func (r *run) combine() {
	rng := r.rand(ofSetup + 500)
	if !r.multi || len(r.paths) < 2 || rng.IntN(2) == 0 && !r.each {
		return
	}
	for _, c := range r.clients[:1+rng.IntN(len(r.clients))] {
		var parts []multiPart
		whole := 0
		for _, s := range r.sites {
			parts = append(parts, newPart(c, s, rng))
			if parts[len(parts)-1].make != nil {
				whole++
			}
		}
		if whole < 2 {
			return
		}
		r.parts = append(r.parts, parts)
	}
	r.sorted = rng.IntN(2) == 0
}

// newPart makes the part that a path gives.
func newPart(c *client.Client, s site, rng *rand.Rand) multiPart {
	opts, tr := someOptions(latches, rng) // those that parts may have
	switch s.kind {
	case readWrite:
		rw := recipes.NewRWMutex(c, s.path, opts...)
		return multiPart{func(h how) recipes.Part {
			if h.shared {
				return rw.RPart()
			}
			return rw.Part()
		}, tr}
	case semaphores:
		sem := recipes.NewSemaphore(c, s.path, s.permits, opts...)
		return multiPart{func(h how) recipes.Part { return sem.Part(h.weight) }, tr}
	case lines:
		sem := recipes.NewSemaphore(c, s.path, s.permits*lineUnit, opts...)
		return multiPart{func(h how) recipes.Part { return sem.Part(h.weight * lineUnit) }, tr}
	case numbered:
		sem := recipes.NewSemaphore(c, s.path, recipes.FromZnode, opts...)
		return multiPart{func(h how) recipes.Part { return sem.Part(h.weight) }, tr}
	case latches, curators, fixeds:
		return multiPart{}
	case plains:
		opts = append(opts, recipes.PlainNames(plainMark))
	}
	m := recipes.NewMutex(c, s.path, opts...) // which re-entrant ones and elections wait for
	return multiPart{func(how) recipes.Part { return m.Part() }, tr}
}

// multiWorker is one goroutine that takes and gives back several locks as one, or one after the other. It holds nothing else meanwhile.
type multiWorker struct{ *worker }

// work goes on until the run stops.
func (w *multiWorker) work() {
	for {
		select {
		case <-w.stop:
			return
		case <-time.After(time.Duration(w.rng.IntN(4) * w.rng.IntN(int(w.second())))):
		}
		ctx, cancel := context.WithTimeout(w.late, time.Duration(w.rng.ExpFloat64()*float64(3*w.timeout)))
		want := w.choose()
		if w.sorted && w.rng.IntN(2) == 0 && !w.tooMany(want) {
			cancel()
			ctx = w.late // a deadlock is to show
		}
		if w.sorted && w.rng.IntN(2) == 0 {
			w.oneByOne(ctx, want)
		} else if ks := w.acquire(ctx, want, w.rng.IntN(5) == 0); ks != nil {
			w.keep(ks)
			w.giveBack(ks)
		}
		cancel()
	}
}

// tooMany says whether there may never be as many permits as are wanted.
func (w *multiWorker) tooMany(want map[int]how) bool {
	for p, h := range want {
		if w.sites[p].kind == numbered && h.weight > 1 {
			return true
		}
	}
	return false
}

// oneByOne takes one lock after the other, in the order of their paths, while it holds those before it.
func (w *multiWorker) oneByOne(ctx context.Context, want map[int]how) {
	var held [][]*kept
	for p := range w.paths {
		if h, ok := want[p]; ok {
			ks := w.acquire(ctx, map[int]how{p: h}, false)
			if ks == nil {
				break
			}
			held = append(held, ks)
		}
	}
	if len(held) == len(want) {
		w.count("several locks one by one")
	}
	for _, ks := range slices.Backward(held) {
		w.keep(ks)
		w.giveBack(ks)
	}
}

// last takes and gives back all locks when nothing is wrong any more.
func (w *multiWorker) last() {
	want := make(map[int]how)
	for p, part := range w.parts[w.client] {
		if part.make != nil {
			want[p] = how{weight: min(w.weight(p), 1)}
		}
	}
	if ks := w.acquire(w.late, want, false); ks != nil {
		w.giveBack(ks)
	} else if w.late.Err() == nil {
		w.violate(Liveness, "", fmt.Sprintf("client %d was refused several locks after all faults", w.client))
	}
}

// choose chooses two or more paths.
func (w *multiWorker) choose() map[int]how {
	want, rare := make(map[int]how), 2
	if w.each {
		rare = 4 // of many paths a few
	}
	for len(want) < 2 {
		for p, part := range w.parts[w.client] {
			if part.make != nil && w.rng.IntN(rare) == 0 {
				want[p] = how{shared: w.sites[p].kind == readWrite && w.rng.IntN(2) == 0, weight: w.weight(p)}
			}
		}
	}
	return want
}

// multiHold is the hold of one part of several. It is over when any of them is.
type multiHold struct {
	leaseHold
	whole *recipes.MultiLease
}

func (h multiHold) done() <-chan struct{} { return h.whole.Done() }

// acquire asks for locks as one, and notes the outcome on each path: a call of Lock from the same moment to the same moment.
func (w *multiWorker) acquire(ctx context.Context, want map[int]how, try bool) (ks []*kept) {
	var order []int
	for p := range w.paths {
		if _, ok := want[p]; ok {
			order = append(order, p)
		}
	}
	w.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	var parts []recipes.Part
	for _, p := range order {
		parts = append(parts, w.parts[w.client][p].make(want[p]))
	}
	m := recipes.NewMultiLock(parts...)
	if w.sorted && !w.careless {
		m = m.Ordered()
	}
	f := m.Lock
	if try {
		f = m.TryLock
	}
	call := w.h.Now()
	whole, err := f(ctx)
	end, result := w.h.Now(), OK
	if err != nil {
		result, err = refusal(ctx, how{try: try}, err)
		switch {
		case w.late.Err() != nil:
			w.violate(Liveness, w.paths[order[0]], fmt.Sprintf("client %d waits for several locks for ever", w.client))
		case err != nil:
			w.violate(Strange, w.paths[order[0]], err.Error())
		}
	} else if len(order) > 1 {
		w.count("several locks as one")
		if w.sorted {
			w.count("several locks as one, beside others one by one")
		}
	}
	for i, p := range order {
		op := Op{Client: w.row, Path: w.paths[p], Kind: Lock, Hold: w.h.NewHold(), Shared: want[p].shared, Weight: want[p].weight, Result: result, Call: call}
		if result != Unknown {
			op.Return = end
		}
		if result != OK {
			w.h.Add(op)
			continue
		}
		ks = append(ks, w.granted(op, p, multiHold{leaseHold{whole.Leases()[i], w.parts[w.client][p].traits}, whole}))
	}
	return ks
}

// keep holds the locks for a time and uses what they protect.
func (w *multiWorker) keep(ks []*kept) {
	for range w.rng.IntN(4) {
		pass(time.Duration(w.rng.IntN(2) * w.rng.IntN(int(2*w.second()))))
		switch k := ks[w.rng.IntN(len(ks))]; w.rng.IntN(6) {
		case 0:
			w.readHolders(k.p, w.row)
		case 1:
			w.write(k)
		case 2:
			w.downgradeOne(ks)
		default:
			w.use(k.p, w.row, k.id, k.token())
		}
	}
}

// downgradeOne turns a part that is held for writing, if there is one, into one for reading.
func (w *multiWorker) downgradeOne(ks []*kept) {
	for _, k := range ks {
		if w.sites[k.p].kind == readWrite && !k.shared {
			w.count("write parts of several locks, downgraded")
			w.downgrade(k, rwHold{k.hold.(multiHold).leaseHold})
			return
		}
	}
}

// giveBack releases the locks. Which of them it was that had an error nobody is told.
func (w *multiWorker) giveBack(ks []*kept) {
	whole, call := ks[0].hold.(multiHold).whole, w.h.Now()
	for _, k := range ks {
		k.mu.Lock()
		k.belief.EndAt(call)
		k.mu.Unlock()
	}
	result := w.release(whole)
	end := w.h.Now()
	for _, k := range ks {
		op := Op{Client: w.row, Path: w.paths[k.p], Kind: Unlock, Hold: k.id, Result: result, Call: call}
		if result == OK {
			op.Return = end
		}
		w.h.Add(op)
		<-k.seen
	}
}

// release is the call, again and again while it says that the release is pending.
func (w *multiWorker) release(whole *recipes.MultiLease) Result {
	if w.rng.IntN(4) == 0 {
		_, _, err := released(whole.ReleasePipelined(), false)
		if err != nil {
			w.violate(Strange, whole.Node(), err.Error())
		}
		return Unknown
	}
	for {
		ctx, cancel := w.late, context.CancelFunc(func() {})
		if w.rng.IntN(3) == 0 {
			ctx, cancel = context.WithTimeout(ctx, time.Duration(w.rng.IntN(int(2*w.timeout))))
		}
		result, pending, err := released(whole.Release(ctx), true)
		cancel()
		if err != nil {
			w.violate(Strange, whole.Node(), err.Error())
		}
		switch {
		case pending && w.late.Err() == nil:
		case result == OK:
			return OK
		default:
			return Unknown
		}
	}
}
