package checker

import (
	"fmt"
	"slices"
)

// Belief is an interval in which a client was certain to hold a lock: from the return of Lock to the call of Unlock or the
// signal that the hold is lost. It must not overlap with another's on the same path, unless both are for reading, and must end
// before the ensemble has given up the hold; see History.Margin. The exception is what a client cannot know in time: an operator who deletes a
// znode or ends a session (Evict). From then on a belief is excused; tokens and guards are for that.
type Belief struct {
	h      *History
	Client int
	Path   string
	Hold   int
	Shared bool
	Weight int // permits of a semaphore, which belong to it; 0 means one
	Start  Stamp
	End    Stamp // 0: not over

	evicted Stamp // when an operator ended the hold behind its holder's back; 0: not
	gone    Stamp // when the ensemble was seen to have ended the hold; 0: not
}

// Believe begins a belief, now.
func (h *History) Believe(client int, path string, hold int, shared bool) *Belief {
	return h.BelieveIn(&Belief{Client: client, Path: path, Hold: hold, Shared: shared})
}

// BelieveIn begins b, now.
func (h *History) BelieveIn(b *Belief) *Belief {
	b.h, b.Start = h, h.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.beliefs = append(h.beliefs, b)
	return b
}

// EndAt ends the belief at a moment, unless it has ended.
func (b *Belief) EndAt(s Stamp) {
	b.h.mu.Lock()
	defer b.h.mu.Unlock()
	if b.End == 0 {
		b.End = s
	}
}

// Share turns the belief into one for reading: the belief so far ends at a moment, before the call that gives up writing, and the
// one for reading begins there.
func (b *Belief) Share(s Stamp) *Belief {
	b.EndAt(s)
	b.h.mu.Lock()
	defer b.h.mu.Unlock()
	r := &Belief{h: b.h, Client: b.Client, Path: b.Path, Hold: b.Hold, Shared: true, Start: s}
	b.h.beliefs = append(b.h.beliefs, r)
	return r
}

// resolve finds out, from the losses, when the holds have ended that were believed in.
func (h *History) resolve() []Belief {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []Belief
	for _, p := range h.beliefs {
		b := *p
		if b.End == 0 {
			b.End = h.end
		}
		for _, op := range h.ops {
			if op.Kind != Lost || op.Path != b.Path {
				continue
			}
			switch node := op.Nodes[0]; {
			case op.Evicted && slices.Contains(h.standsFor(node), b.Hold):
				b.evicted = op.Call
			case !op.Evicted && b.gone == 0 && node.Zxid != 0 && slices.Contains(h.boundTo(node), b.Hold):
				b.gone = op.Return // for certain: whose znode it was is known
			}
		}
		if b.evicted != 0 {
			b.End = min(b.End, b.evicted)
		}
		out = append(out, b)
	}
	return out
}

// checkBeliefs returns what is wrong with what clients believed.
func (h *History) checkBeliefs() []Violation {
	var bad []Violation
	all, margin := h.resolve(), Stamp(h.Margin)*perNano
	for i, b := range all {
		if b.gone != 0 && b.evicted == 0 && b.End > b.gone+margin {
			bad = append(bad, Violation{Late, b.Path, fmt.Sprintf("client %d believes in hold %d for %v after its end", b.Client, b.Hold,
				(b.End - b.gone).Time())})
		}
		if limit := h.most(b.Path); limit > 0 {
			bad = append(bad, crowd(all, b, limit, margin)...)
			continue
		}
		for _, o := range all[:i] {
			if o.Path != b.Path || o.Hold == b.Hold || o.Shared && b.Shared {
				continue
			}
			if from, to := max(o.Start, b.Start), min(o.End, b.End); from+margin < to {
				bad = append(bad, Violation{Overlap, b.Path, fmt.Sprintf("clients %d and %d both believe for %v, from %v, in holds %d and %d",
					o.Client, b.Client, (to - from).Time(), from.Time(), o.Hold, b.Hold)})
			}
		}
	}
	return bad
}

// most returns the largest number of permits that a path ever had; 0 if it is no semaphore's. A lower number takes nothing from those
// who hold, so only the largest bounds beliefs at any moment; SemaphoreModel has the others.
func (h *History) most(path string) int {
	n, ok := h.Permits[path]
	if !ok {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, op := range h.ops {
		if op.Path == path && op.Kind == Resize {
			n = max(n, op.Weight)
		}
	}
	return n
}

// crowd returns a violation if those who believe at the beginning of b, and still a margin later, have more permits than the limit.
func crowd(all []Belief, b Belief, limit int, margin Stamp) []Violation {
	n := 0
	for _, o := range all {
		if o.Path == b.Path && o.Start <= b.Start && b.Start+margin < o.End {
			n += max(o.Weight, 1)
		}
	}
	if n <= limit {
		return nil
	}
	return []Violation{{Overlap, b.Path, fmt.Sprintf("%d permits of %d are believed in at %v", n, limit, b.Start.Time())}}
}
