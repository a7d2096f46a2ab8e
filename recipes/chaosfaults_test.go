package recipes

import (
	"sync"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// fault makes one thing go wrong, and arranges for its end.
func (ch *chaos) fault() {
	m := ch.srv.Member(chaosMembers[ch.rng.IntN(len(chaosMembers))])
	ops := []proto.Op{proto.OpCreate2, proto.OpDelete, proto.OpGetChildren2, proto.OpGetData, proto.OpExists, proto.OpSync, proto.OpSetWatches,
		proto.OpMulti, proto.OpSetData}
	match := zktest.Match{Op: ops[ch.rng.IntN(len(ops))], Skip: ch.rng.IntN(3)}
	if ch.rng.IntN(2) == 0 {
		match.Member = m.Addr()
	}
	switch ch.rng.IntN(16) {
	case 0, 1:
		m.DropConnections()
	case 2:
		ch.srv.DropConnections()
	case 3, 4:
		ch.later(ch.srv.CloseAfter(match).Remove)
	case 5:
		ch.later(ch.srv.CloseBefore(match).Remove)
	case 6:
		match.Op = ops[ch.rng.IntN(2)]
		if ch.cuts.Add(lateCommit) < cutMember { // a late commit would be answered by a member that is cut off
			ch.later(ch.srv.HoldCommit(match).Release, lateCommit)
		} else {
			ch.cuts.Add(-lateCommit)
		}
	case 7:
		ch.later(ch.srv.Hold(match).Release)
	case 8:
		ch.later(ch.srv.HoldReply(match).Release)
	case 9:
		if ch.cuts.Add(cutMember)%cutMember == 0 {
			m.CutFromLeader(true)
			ch.later(func() { m.CutFromLeader(false) }, cutMember)
		} else {
			ch.cuts.Add(-cutMember)
		}
	case 10:
		m.Refuse(zktest.Refusal(ch.rng.IntN(5)))
		ch.later(func() { m.Refuse(zktest.Accept) })
	case 11:
		m.Stall(true)
		ch.later(func() { m.Stall(false) })
	case 12:
		ch.operator()
	case 13:
		ch.touch()
	case 14:
		ch.srv.Sweep()
	case 15:
		ch.endOne()
	}
}

// What chaos.cuts counts: late commits, and members that are cut off.
const (
	lateCommit = 1
	cutMember  = 1 << 16
)

// later runs f once, after some time or at the end of the run. What it ends is no longer counted then.
func (ch *chaos) later(f func(), counted ...int64) {
	var once sync.Once
	end := func() {
		f()
		for _, n := range counted {
			ch.cuts.Add(-n)
		}
	}
	d := time.Duration(ch.rng.ExpFloat64() * float64(timeout))
	t := time.AfterFunc(d, func() { once.Do(end) })
	ch.heal = append(ch.heal, func() { t.Stop(); once.Do(end) })
}

// operator deletes somebody's znode.
func (ch *chaos) operator() {
	names := ch.srv.Children("/lock")
	if len(names) == 0 {
		return
	}
	name := names[ch.rng.IntN(len(names))]
	path := "/lock/" + name
	// Whether it was the holder's is known only afterwards: those ahead may go at the same time.
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.srv.Delete(path) != nil {
		return
	}
	id := attempt(path)
	ch.deleted[id], ch.taken[id] = true, true
	k := one(exclusive)
	if ch.rw {
		k = one(writer)
	}
	if stem := chaosStem; ch.plain {
		k.stem = &stem
	}
	mine, want, _ := k.parse([]byte(name))
	for _, o := range ch.srv.Children("/lock") {
		if seq, other, ok := k.parse([]byte(o)); ok && older(seq, mine) && want.waitsFor(other) {
			ch.taken[id] = false
		}
	}
}

// touch changes the data of a znode; if that tells whose it is only the version.
func (ch *chaos) touch() {
	if names := ch.srv.Children("/lock"); len(names) > 0 {
		node := "/lock/" + names[ch.rng.IntN(len(names))]
		data := []byte("touched")
		if ch.rng.IntN(2) == 0 {
			data = []byte(revokeText)
		}
		if ch.plain {
			data, _, _ = ch.srv.Get(node)
		}
		_ = ch.srv.Set(node, data) // it may be gone by now
	}
}

// endOne ends a session, or now and then closes a client.
func (ch *chaos) endOne() {
	cc := ch.clients[ch.rng.IntN(len(ch.clients))]
	if len(ch.clients) > 3 && ch.rng.IntN(3) == 0 {
		ch.mu.Lock()
		cc.closed = true
		ch.mu.Unlock()
		_ = cc.c.Close() // the member it is connected to may not answer
		return
	}
	id := cc.c.SessionID()
	ch.mu.Lock()
	ch.expired[id] = true
	ch.mu.Unlock()
	ch.srv.ExpireSession(id)
}
