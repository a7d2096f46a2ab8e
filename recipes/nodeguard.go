package recipes

import (
	"context"
	"sync/atomic"

	"github.com/lockkeeper/lockkeeper/client"
)

// revokeText is what a participant's znode is set to by whoever asks for the lock (Curator's Revoker and
// InterProcessMutex.makeRevocable; docs/locks.md 2.1).
const revokeText = "__REVOKE__"

// Revoke asks the participant whose znode this is, as Participants or Lease.Node name it, to give up its hold; one that
// waits is told once it has the lock. It does so by setting the znode's data, as Curator's Revoker does, so it works on
// locks of Curator that are revocable, and Curator's on ours with the option Revocable. It is a request, no more: it returns
// when the data is set, and a holder that is not revocable does not notice. The error matches client.ErrNoNode if the
// participant is gone.
func Revoke(ctx context.Context, c *client.Client, node string) error {
	if _, err := c.Set(ctx, node, []byte(revokeText), client.AnyVersion); err != nil {
		return &Error{"revoke", node, err}
	}
	return nil
}

// nodeGuard watches the znode of a hold, for WatchOwnNode and Revocable. It stays with the znode when that is handed over.
type nodeGuard struct {
	watch   client.NodeWatch
	holder  atomic.Pointer[Lease] // who has the znode now
	gone    atomic.Bool
	revoked atomic.Bool
}

// watchNode makes l the holder that is told what happens to the znode.
func (l *Lease) watchNode() {
	e := l.by
	g := e.guard
	if g == nil {
		g = &nodeGuard{}
		g.holder.Store(l)
		g.watch.Gone, g.watch.Czxid = g.tellGone, l.token.Zxid
		if l.b.revocable {
			g.watch.Changed = g.tellData
		}
		e.guard = g
		l.gen.WatchNode(&g.watch, l.Node())
		return
	}
	g.holder.Store(l)
	// What was told before that, nobody has told this holder.
	if g.gone.Load() {
		l.finish(ErrNodeGone)
	}
	if g.revoked.Load() {
		l.revoke()
	}
}

// good says whether the znode may be handed over.
func (g *nodeGuard) good() bool { return !g.gone.Load() && !g.revoked.Load() }

func (g *nodeGuard) tellGone() {
	g.gone.Store(true)
	g.holder.Load().finish(ErrNodeGone)
}

func (g *nodeGuard) tellData(data []byte) {
	if string(data) == revokeText {
		g.revoked.Store(true)
		g.holder.Load().revoke()
	}
}

// revoke tells the holder, once, that somebody asks for the lock.
func (l *Lease) revoke() {
	if l.b.onRevoke == nil {
		l.finish(ErrRevoked)
		return
	}
	l.mu.Lock()
	r := l.more()
	first := !r.revoked && l.end.cause == nil
	r.revoked = true
	l.mu.Unlock()
	if first {
		// The function given to Revocable, owned by whoever gave it; ends when it returns.
		go l.b.onRevoke(l)
	}
}
