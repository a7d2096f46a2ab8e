package checker

// span is the time in which an operation has taken effect, as far as the checker has to look: from its Call to last.
type span struct {
	last    Stamp
	excused bool // see input
}

// spans returns the times of the operations of one path, which are in the order of their calls. Where that changes nothing they are
// narrower than what the callers have seen, since every open operation doubles the work of a search:
//
//   - a Lock that was not granted, or whose outcome is unknown, changes no state, so that it does not matter when it happened;
//   - a grant comes before the end of the znode that was granted;
//   - a release of unknown outcome deletes one znode by its name, and has no effect any more once that is gone; nor has a guarded write;
//   - nor has it once somebody else was granted the lock for writing with a higher token: the hold cannot be there any more, or the
//     history is illegal in any case.
func (h *History) spans(ops []Op, ends map[int]end) []span {
	out := make([]span, len(ops))
	tokens := make(map[int]Token) // by hold
	for i, op := range ops {
		s, e := span{last: op.Return}, ends[op.Hold]
		s.excused = e.evicted != 0 && (e.evicted < op.Call || e.shared && e.evicted < op.Return)
		switch {
		case op.Kind == Lock && op.Result != OK:
			s.last = op.Call
		case op.Kind == Lock:
			if !s.excused && e.gone != 0 && !e.shared {
				s.last = max(op.Call, min(op.Return, e.gone))
			}
			if _, ok := tokens[op.Hold]; !ok {
				tokens[op.Hold] = op.Token
			}
		case op.Return != 0:
		case (op.Kind == Unlock || op.Kind == Guarded) && e.gone != 0 && !e.shared:
			s.last = max(op.Call, e.gone)
		default:
			s.last = h.end
		}
		out[i] = s
	}
	if _, ok := h.Permits[ops[0].Path]; ok {
		return out
	}
	for i, op := range ops {
		if op.Return != 0 || op.Kind != Unlock && op.Kind != Downgrade && op.Kind != Guarded {
			continue
		}
		for j, o := range ops {
			if o.Kind == Lock && o.Result == OK && !o.Shared && !out[j].excused && tokens[op.Hold].Less(o.Token) {
				out[i].last = max(op.Call, min(out[i].last, out[j].last))
			}
		}
	}
	return out
}

// end says when the znode of a hold was gone.
type end struct {
	gone    Stamp // seen; 0: never, or it is not known, since the znode has been changed for another
	evicted Stamp // by an operator; 0: not
	shared  bool  // it stood for other holds too, one after the other
}

// ends returns the ends of the holds. The caller holds mu.
func (h *History) ends() map[int]end {
	ends := make(map[int]end)
	several := make(map[int]bool) // holds that had more than one znode
	for _, bound := range h.nodes {
		for _, b := range bound {
			e, ok := ends[b.hold]
			several[b.hold] = several[b.hold] || ok
			e.shared = len(h.boundTo(b.Node)) > 1
			e.gone = h.went[Node{Path: b.Path, Zxid: b.Zxid}]
			ends[b.hold] = e
		}
	}
	for _, op := range h.ops {
		switch op.Kind {
		case Lost:
			h.lose(op, ends)
		case Downgrade:
			several[op.Hold] = true
		}
	}
	for hold := range several {
		if several[hold] {
			e := ends[hold]
			e.gone = 0
			ends[hold] = e
		}
	}
	return ends
}

// lose enters a loss.
func (h *History) lose(op Op, ends map[int]end) {
	if op.Evicted {
		for _, hold := range h.standsFor(op.Nodes[0]) {
			e := ends[hold]
			e.evicted = op.Call
			ends[hold] = e
		}
	}
	if op.Nodes[0].Zxid == 0 {
		return // it may be another of the same name
	}
	for _, hold := range h.boundTo(op.Nodes[0]) {
		e := ends[hold]
		if e.gone == 0 || op.Return < e.gone {
			e.gone = op.Return
		}
		ends[hold] = e
	}
}
