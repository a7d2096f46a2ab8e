package checker

import "testing"

// written is a write of the guarded znode by a hold.
func written(hold int, version int32, r Result) Op {
	return Op{Kind: Guarded, Hold: hold, Version: version, Result: r}
}

// passed is an operation of a hold whose znode may be passed on.
func passed(op Op) Op {
	op.Passes = true
	return op
}

func TestGuardModel(t *testing.T) {
	nodes := map[string]int{"/l/a": 1, "/l/b": 2}
	tell(t, LockModel(), []story{
		{name: "by the holder", ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, written(1, 1, OK)), at(5, 6, written(1, 2, OK)), at(7, 8, unlocked(1, OK))}},
		{name: "by a reader", ops: []Op{at(1, 2, shared(1, 5)), at(3, 4, written(1, 1, OK)), at(5, 6, unlocked(1, OK))}},
		{name: "by the holder, refused", illegal: true, ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, written(1, 0, Refused)), at(5, 6, unlocked(1, OK))}},
		{name: "twice", illegal: true, ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, written(1, 2, OK)), at(5, 6, unlocked(1, OK))}},
		{name: "after the release", illegal: true, ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, unlocked(1, OK)), at(5, 6, written(1, 1, OK))}},
		{name: "after the release, refused", ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, unlocked(1, OK)), at(5, 6, written(1, 0, Refused))}},
		{name: "by an old holder", illegal: true, nodes: nodes, ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, lost("/l/a", false)), at(5, 6, granted(2, 6)),
			at(7, 8, written(1, 1, OK))}},
		{name: "by an old holder, refused", nodes: nodes, ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, lost("/l/a", false)), at(5, 6, granted(2, 6)),
			at(7, 8, written(1, 0, Refused)), at(9, 10, written(2, 1, OK))}},
		{name: "of unknown outcome, carried out late", ops: []Op{at(1, 2, granted(1, 5)), at(3, 0, written(1, 0, Unknown)), at(5, 9, unlocked(1, OK)),
			at(6, 11, granted(2, 6)), at(12, 13, written(2, 2, OK))}},
		{name: "of unknown outcome, carried out too late", illegal: true, ops: []Op{at(1, 2, granted(1, 5)), at(3, 0, written(1, 0, Unknown)),
			at(5, 6, unlocked(1, OK)), at(7, 8, granted(2, 6)), at(9, 10, written(2, 1, OK)), at(11, 12, written(2, 3, OK))}},
		{name: "while the znode is passed on", ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, passed(unlocked(1, OK))), at(5, 6, passed(written(1, 1, OK))), at(7, 8, granted(2, 6))}},
		{name: "after the znode was passed on", illegal: true, ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, passed(unlocked(1, OK))), at(5, 6, granted(2, 6)),
			at(7, 8, passed(written(1, 1, OK)))}},
	})
	tell(t, SemaphoreModel(2), []story{
		{name: "by both holders", ops: []Op{at(1, 2, granted(1, 5)), at(1, 2, granted(2, 6)), at(3, 4, written(1, 1, OK)), at(5, 6, written(2, 2, OK))}},
		{name: "after the return of the permit", illegal: true, ops: []Op{at(1, 2, granted(1, 5)), at(1, 2, granted(2, 6)), at(3, 4, unlocked(1, OK)), at(5, 6, written(1, 1, OK))}},
		{name: "a znode is gone, perhaps that of the permit", nodes: nodes, unsure: []string{"/l/a"}, ops: []Op{at(1, 2, granted(1, 5)),
			at(3, 4, lost("/l/a", true)), at(5, 6, written(1, 1, OK))}},
		{name: "the znode of the permit is gone", illegal: true, nodes: nodes, ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, lost("/l/a", true)),
			at(5, 6, written(1, 1, OK))}},
	})
}

// What an observer of an election is told must have been true at some moment since it was told something else.
func TestObserverModel(t *testing.T) {
	nodes := map[string]int{"/l/a": 1, "/l/b": 2}
	first, second := holders(true, "/l/a"), holders(true, "/l/b")
	leaders := []Op{at(1, 2, granted(1, 5)), at(21, 22, unlocked(1, OK)), at(23, 24, granted(2, 6)), at(41, 42, unlocked(2, OK))}
	tell(t, LockModel(), []story{
		{name: "each in turn", nodes: nodes, ops: append(leaders[:4:4], at(0, 3, first), at(4, 25, second), at(26, 43, holders(false)))},
		{name: "the first is passed over", nodes: nodes, ops: append(leaders[:4:4], at(0, 25, second), at(26, 43, holders(false)))},
		{name: "the wrong order", illegal: true, nodes: nodes, ops: append(leaders[:4:4], at(0, 25, second), at(26, 40, first))},
		{name: "one that has gone", illegal: true, nodes: nodes, ops: append(leaders[:4:4], at(0, 3, holders(false)), at(23, 25, first))},
		{name: "nobody while somebody leads", illegal: true, nodes: nodes, ops: append(leaders[:4:4], at(3, 20, holders(false)))},
	})
}
