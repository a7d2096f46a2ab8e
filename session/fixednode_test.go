package session

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// fixedNode is what the tests delete; the link's session is 0x77.
var fixedNode = FixedNode{Path: "/l", Counter: "/l-counter", Mark: "mine", Zxid: 9, Version: 4}

// expectFixed takes the deletion of a fixed znode and checks its versions; without a counter there is nothing of that.
func (l *link) expectFixed(version, counted int32, counter bool) got {
	l.t.Helper()
	g := l.expect(proto.OpMulti)
	want := NewGroup()
	beside := fixedNode.Counter
	if !counter {
		beside = ""
	}
	appendFixedDelete(want, fixedNode.Path, version, beside, counted)
	require.Equal(l.t, want.buf[12:], g.body) // behind length, xid and opcode
	return g
}

// fixedAnswer is the body of the answer to a deletion, which the operation with this index has failed; none for less than 0.
func fixedAnswer(failed int, code proto.Code) []byte {
	results := []proto.MultiResult{{Op: proto.OpSetData}, {Op: proto.OpDelete}}
	if failed >= 0 {
		for i := range results {
			if i >= failed {
				results[i].Err = proto.ErrRuntimeInconsistency
			}
		}
		results[failed].Err = code
	}
	return proto.AppendMultiReply(nil, results)
}

// answerLook answers a look. A Stat without Czxid says that there is no such znode.
func (l *link) answerLook(mark string, counter, node proto.Stat) {
	l.t.Helper()
	l.reply(l.expect(proto.OpSync), 1, 0, nil)
	get, ex := l.expect(proto.OpGetData), l.expect(proto.OpExists)
	if counter.Czxid == 0 {
		l.reply(get, 1, proto.ErrNoNode, nil)
	} else {
		l.reply(get, 1, 0, counter.AppendTo(jute.AppendBuffer(nil, []byte(mark))))
	}
	if node.Czxid == 0 {
		l.reply(ex, 1, proto.ErrNoNode, nil)
	} else {
		l.reply(ex, 1, 0, node.AppendTo(nil))
	}
}

// fixed runs f with a connected link and closes everything behind it.
func fixed(t *testing.T, f func(t *testing.T, s *script, ss *Session, l *link) *link) {
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, nil)
		l = f(t, s, k.Current(), l)
		assert.Zero(t, k.Current().CleanupsPending())
		finishWith(k, l)
	})
}

func deleteFixed(ss *Session, n FixedNode) *Cleanup {
	c := new(Cleanup)
	ss.DeleteFixed(c, n, nil)
	return c
}

func TestFixedDelete(t *testing.T) { // docs/locks.md A9
	fixed(t, func(t *testing.T, _ *script, ss *Session, l *link) *link {
		c := deleteFixed(ss, fixedNode)
		l.reply(l.expectFixed(FixedVersion, 4, true), 10, 0, fixedAnswer(-1, 0))
		assert.NoError(t, c.Wait(t.Context()))
		assert.NotNil(t, c.TakeGroup())

		// A refusal that says nothing about the versions is the result, and a busy server is asked again.
		c = deleteFixed(ss, fixedNode)
		l.reply(l.expectFixed(FixedVersion, 4, true), 10, 0, fixedAnswer(1, proto.ErrNoAuth))
		assert.ErrorIs(t, c.Wait(t.Context()), proto.ErrNoAuth)
		c = deleteFixed(ss, fixedNode)
		l.reply(l.expectFixed(FixedVersion, 4, true), 10, proto.ErrThrottled, nil)
		l.reply(l.expectFixed(FixedVersion, 4, true), 10, 0, fixedAnswer(-1, 0))
		assert.NoError(t, c.Wait(t.Context()))
		return l
	})
}

// Somebody else's znode is at the path: of another session, or of another transaction of ours.
func TestFixedDeleteSparesOthers(t *testing.T) {
	counter := proto.Stat{Czxid: 1, Mzxid: 12, Version: 6}
	for name, node := range map[string]proto.Stat{
		"none": {}, "another session's": {Czxid: 9, EphemeralOwner: 0x78}, "another one of ours": {Czxid: 12, EphemeralOwner: 0x77},
	} {
		for failed, code := range []proto.Code{proto.ErrBadVersion, proto.ErrNoNode} {
			t.Run(name, func(t *testing.T) {
				fixed(t, func(t *testing.T, _ *script, ss *Session, l *link) *link {
					c := deleteFixed(ss, fixedNode)
					l.reply(l.expectFixed(FixedVersion, 4, true), 10, 0, fixedAnswer(failed, code))
					l.answerLook("yours", counter, node)
					assert.ErrorIs(t, c.Wait(t.Context()), proto.ErrNoNode)
					return l
				})
			})
		}
	}
}

// What others have written meanwhile changes the versions, and not whose znode it is.
func TestFixedDeleteByTheVersionsThereAre(t *testing.T) {
	node := proto.Stat{Czxid: 9, EphemeralOwner: 0x77, Version: 3}
	fixed(t, func(t *testing.T, _ *script, ss *Session, l *link) *link {
		c := deleteFixed(ss, fixedNode)
		l.reply(l.expectFixed(FixedVersion, 4, true), 10, 0, fixedAnswer(1, proto.ErrBadVersion))
		l.answerLook("", proto.Stat{Czxid: 1, Mzxid: 11, Version: 5}, node)
		l.reply(l.expectFixed(3, 5, true), 10, 0, fixedAnswer(0, proto.ErrNoNode))
		l.answerLook("", proto.Stat{}, node) // the counter has been deleted
		l.reply(l.expectFixed(3, 0, false), 10, 0, proto.AppendMultiReply(nil, []proto.MultiResult{{Op: proto.OpDelete}}))
		assert.NoError(t, c.Wait(t.Context()))
		return l
	})
}

// When a reply is lost a look tells what has become of the request; it is repeated too, until the session ends.
func TestFixedDeleteIsLost(t *testing.T) { // H1
	fixed(t, func(t *testing.T, s *script, ss *Session, l *link) *link {
		c := deleteFixed(ss, fixedNode)
		l.expectFixed(FixedVersion, 4, true)
		_ = l.fc.Close()
		l, _ = s.serve(0x77, testTimeout)
		l.expect(proto.OpSync) // and lost again
		_ = l.fc.Close()
		l, _ = s.serve(0x77, testTimeout)
		l.answerLook("mine", proto.Stat{Czxid: 1, Mzxid: 9, Version: 4}, proto.Stat{Czxid: 9, EphemeralOwner: 0x77, Version: FixedVersion})
		l.expectFixed(FixedVersion, 4, true)
		_ = l.fc.Close()
		l, _ = s.serve(0x77, testTimeout)
		l.answerLook("", proto.Stat{Czxid: 1, Mzxid: 10, Version: 5}, proto.Stat{})
		assert.NoError(t, c.Wait(t.Context()), "gone by the deletion that was lost")

		c = deleteFixed(ss, fixedNode)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		assert.ErrorIs(t, c.Wait(ctx), context.Canceled)
		l.expectFixed(FixedVersion, 4, true)
		_ = l.fc.Close()
		s.serve(0, 0)
		assert.ErrorIs(t, c.Wait(t.Context()), ErrSessionExpired)
		l, _ = s.serve(5, testTimeout)
		return l
	})
}

// Of a transaction whose outcome is unknown the mark tells whether it has made a znode.
func TestFixedDeleteInDoubt(t *testing.T) { // A10 rule 10
	doubt := fixedNode
	doubt.Zxid, doubt.Several = 0, true
	ours := proto.Stat{Czxid: 9, EphemeralOwner: 0x77, Version: 1}
	fixed(t, func(t *testing.T, _ *script, ss *Session, l *link) *link {
		c := deleteFixed(ss, doubt)
		l.answerLook("mine", proto.Stat{Czxid: 1, Mzxid: 9, Version: 7}, ours)
		l.reply(l.expectFixed(1, 7, true), 10, 0, fixedAnswer(-1, 0))
		l.answerLook("mine", proto.Stat{Czxid: 1, Mzxid: 11, Version: 9}, proto.Stat{Czxid: 11, EphemeralOwner: 0x77, Version: 1})
		l.reply(l.expectFixed(1, 9, true), 12, 0, fixedAnswer(-1, 0)) // another copy
		l.answerLook("", proto.Stat{Czxid: 1, Mzxid: 12, Version: 10}, proto.Stat{})
		assert.NoError(t, c.Wait(t.Context()))

		for name, look := range map[string]func(){
			"another mark":        func() { l.answerLook("yours", proto.Stat{Czxid: 1, Mzxid: 9}, ours) },
			"another transaction": func() { l.answerLook("mine", proto.Stat{Czxid: 1, Mzxid: 8}, ours) },
			"another session":     func() { l.answerLook("mine", proto.Stat{Czxid: 1, Mzxid: 9}, proto.Stat{Czxid: 9, EphemeralOwner: 1}) },
			"no counter":          func() { l.answerLook("", proto.Stat{}, ours) },
			"nothing":             func() { l.answerLook("mine", proto.Stat{Czxid: 1, Mzxid: 9}, proto.Stat{}) },
		} {
			c = deleteFixed(ss, doubt)
			look()
			assert.ErrorIs(t, c.Wait(t.Context()), proto.ErrNoNode, name)
		}
		return l
	})
}

// Behind the known znode of an attempt with several transactions another one may come.
func TestFixedDeleteOfSeveral(t *testing.T) {
	several := fixedNode
	several.Several = true
	fixed(t, func(t *testing.T, _ *script, ss *Session, l *link) *link {
		c := deleteFixed(ss, several)
		l.reply(l.expectFixed(FixedVersion, 4, true), 10, 0, fixedAnswer(-1, 0))
		l.answerLook("mine", proto.Stat{Czxid: 1, Mzxid: 11, Version: 6}, proto.Stat{Czxid: 11, EphemeralOwner: 0x77, Version: 1})
		l.reply(l.expectFixed(1, 6, true), 12, 0, fixedAnswer(-1, 0))
		l.answerLook("", proto.Stat{Czxid: 1, Mzxid: 12, Version: 7}, proto.Stat{})
		assert.NoError(t, c.Wait(t.Context()))

		c = deleteFixed(ss, several) // the known one is gone
		l.reply(l.expectFixed(FixedVersion, 4, true), 10, 0, fixedAnswer(0, proto.ErrBadVersion))
		l.answerLook("mine", proto.Stat{Czxid: 1, Mzxid: 11, Version: 6}, proto.Stat{Czxid: 11, EphemeralOwner: 0x77, Version: 1})
		l.answerLook("mine", proto.Stat{Czxid: 1, Mzxid: 11, Version: 6}, proto.Stat{Czxid: 11, EphemeralOwner: 0x77, Version: 1})
		l.reply(l.expectFixed(1, 6, true), 12, 0, fixedAnswer(-1, 0))
		l.answerLook("", proto.Stat{Czxid: 1, Mzxid: 12, Version: 7}, proto.Stat{})
		assert.NoError(t, c.Wait(t.Context()))
		return l
	})
}

// Without an answer to the sync ahead of it a look proves nothing, and what it needs must be readable.
func TestFixedLookIsRefused(t *testing.T) { // K3
	doubt := fixedNode
	doubt.Zxid = 0
	ours := (&proto.Stat{Czxid: 9, EphemeralOwner: 0x77, Version: 1}).AppendTo(nil)
	look := func(l *link, sync, get, ex proto.Code) {
		l.reply(l.expect(proto.OpSync), 1, sync, nil)
		g, e := l.expect(proto.OpGetData), l.expect(proto.OpExists)
		l.reply(g, 1, get, nil)
		l.reply(e, 1, ex, ours)
	}
	fixed(t, func(t *testing.T, _ *script, ss *Session, l *link) *link {
		c := deleteFixed(ss, doubt)
		look(l, proto.ErrThrottled, 0, 0)
		look(l, 0, proto.ErrThrottled, 0)
		look(l, 0, 0, proto.ErrThrottled)
		look(l, proto.ErrNoAuth, 0, 0)
		assert.ErrorIs(t, c.Wait(t.Context()), proto.ErrNoAuth)
		c = deleteFixed(ss, doubt)
		look(l, 0, proto.ErrNoAuth, 0)
		assert.ErrorIs(t, c.Wait(t.Context()), proto.ErrNoAuth)
		c = deleteFixed(ss, doubt)
		look(l, 0, proto.ErrNoNode, proto.ErrNoAuth)
		assert.ErrorIs(t, c.Wait(t.Context()), proto.ErrNoAuth)

		c = deleteFixed(ss, fixedNode) // whose znode is known: the counter need not be readable
		l.reply(l.expectFixed(FixedVersion, 4, true), 10, 0, fixedAnswer(1, proto.ErrBadVersion))
		look(l, 0, proto.ErrNoAuth, 0)
		l.reply(l.expectFixed(1, 0, false), 10, 0, proto.AppendMultiReply(nil, []proto.MultiResult{{Op: proto.OpDelete}}))
		assert.NoError(t, c.Wait(t.Context()))

		wrapped := fixedNode
		wrapped.Version = anyVersion // with which the first deletion would check nothing
		c = deleteFixed(ss, wrapped)
		l.answerLook("mine", proto.Stat{Czxid: 1, Mzxid: 9, Version: anyVersion}, proto.Stat{Czxid: 9, EphemeralOwner: 0x77, Version: 1})
		l.reply(l.expectFixed(1, anyVersion, true), 10, 0, fixedAnswer(-1, 0))
		assert.NoError(t, c.Wait(t.Context()))
		return l
	})
}
