package recipes

import (
	"bytes"
	"context"
	"errors"
	"iter"

	"github.com/lockkeeper/lockkeeper/client"
)

// Election chooses one leader among candidates, first come first served; when the leader resigns or its session ends, the next
// one leads. Anybody can see who leads, and follow that. It is a mutex whose holder is called leader, and has the failure
// model of Mutex: leadership ends with the session, noticed or not, so what only a leader may do must listen to the context of
// the leadership or be guarded by its token.
//
// Its znodes have the names of Curator's LeaderSelector, with which, and with InterProcessMutex, it can share the path; with LatchNames
// those of LeaderLatch. Their data is the candidate's, for those who observe; LeaderLatch calls it the participant's id.
type Election struct{ b *base }

// NewElection returns the election of path. data is what others are shown of this candidate, such as its address; it is copied.
func NewElection(c *client.Client, path string, data []byte, opts ...Option) *Election {
	return &Election{newBase(c, path, latch, append([]Option{Data(data)}, opts...))}
}

func (e *Election) base() *base {
	if e == nil {
		return nil
	}
	return e.b
}

// claim is what candidates want.
func (e *Election) claim() claim {
	if b := e.base(); b != nil && b.latch {
		return one(latch)
	}
	return one(exclusive)
}

// Path returns the path of the election, "" of a nil one.
func (e *Election) Path() string { return e.base().path() }

// Leadership is the lease of a leader. A nil or zero one is not held.
type Leadership struct{ *Lease }

// Resign ends the leadership, as Lease.Release ends a hold: the next candidate leads.
func (l *Leadership) Resign(ctx context.Context) error { return l.Release(ctx) }

// Campaign waits until this candidate leads or ctx ends, as Mutex.Lock does. While it waits it is a standby, which takes over
// with the event of the leader's end, and no round trip after it.
func (e *Election) Campaign(ctx context.Context) (*Leadership, error) {
	l, err := e.base().acquire(ctx, "campaign", e.claim(), false)
	if err != nil {
		return nil, err
	}
	return &Leadership{l}, nil
}

// TryCampaign leads if there is no other candidate, as Mutex.TryLock does.
func (e *Election) TryCampaign(ctx context.Context) (*Leadership, error) {
	l, err := e.base().acquire(ctx, "trycampaign", e.claim(), true)
	if err != nil {
		return nil, err
	}
	return &Leadership{l}, nil
}

// Lead campaigns, runs f while leading, and resigns when f has returned, for which it waits as long as ctx lasts, and at least
// for CleanupGrace. The context of f has the values of ctx; it ends when the leadership does, and when ctx does. The error is that of
// the campaign, or f's, joined with that of the resignation: one that matches ErrLost means that f did not lead to its end.
func (e *Election) Lead(ctx context.Context, f func(context.Context, *Leadership) error) error {
	l, err := e.Campaign(ctx)
	if err != nil {
		return err
	}
	inner, cancel := context.WithCancelCause(l.Context())
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	defer stop()
	// However f ends, the next one should not have to wait for the session to expire.
	defer func() { _ = l.ReleasePipelined() }()
	err = f(inner, l)
	return errors.Join(err, l.releaseWithin(ctx))
}

// releaseWithin releases, and waits as long as ctx lasts, and if that has ended, perhaps long before, for CleanupGrace.
func (l *Lease) releaseWithin(ctx context.Context) error {
	err := l.Release(ctx)
	if errors.Is(err, ErrReleasePending) {
		grace, cancel := graceful(ctx)
		defer cancel()
		err = l.Release(grace)
	}
	return err
}

// Leader returns who leads at this moment, as a server that has caught up knows it. Without a candidate the error matches
// ErrNoLeader.
func (e *Election) Leader(ctx context.Context) (Participant, error) {
	ps, err := e.Participants(ctx)
	if err != nil {
		return Participant{}, err
	}
	if len(ps) == 0 {
		return Participant{}, &Error{"leader", e.Path(), ErrNoLeader}
	}
	return ps[0], nil
}

// Participants returns the candidates: the leader, then those who will follow it, in order.
func (e *Election) Participants(ctx context.Context) ([]Participant, error) {
	return e.base().participants(ctx, e.claim())
}

// Observe yields the leader, and then every later one, until the loop or ctx ends, or something fails, whose error is yielded
// last. A Participant without Node says that there is no candidate. Leaders that were replaced before the loop came back are
// passed over; a change of the leader's data is yielded as well. An observer watches the znode of the leader, or of the path
// when there is none, so a change costs each of them a few requests. It goes on through reconnects, and in the next session.
func (e *Election) Observe(ctx context.Context) iter.Seq2[Participant, error] {
	return func(yield func(Participant, error) bool) {
		if err := e.base().usable(ctx, "observe"); err != nil {
			yield(Participant{}, err)
			return
		}
		var last Participant
		var losses pace
		for first := true; ; {
			leader, w, err := e.observed(ctx)
			if err == nil && (first || leader.Node != last.Node || !bytes.Equal(leader.Data, last.Data)) {
				first, last = false, leader
				if !yield(leader, nil) {
					w.Close()
					return
				}
			}
			if err == nil {
				_, err = w.Wait(ctx)
				w.Close()
			}
			if errors.Is(err, client.ErrSessionExpired) && ctx.Err() == nil && e.b.c.Generation().Err() == nil {
				continue // what was seen last may be outdated, which looking again tells
			}
			if errors.Is(err, client.ErrConnectionLoss) {
				err = losses.lost(ctx)
			}
			if err != nil {
				yield(Participant{}, &Error{"observe", e.b.path(), err})
				return
			}
		}
	}
}

// observed returns the leader, or the zero Participant, and a watch that tells when that may have changed.
func (e *Election) observed(ctx context.Context) (Participant, *client.Watch, error) {
	b := e.b
	for {
		ps, err := b.queue(ctx, e.claim())
		if err != nil {
			return Participant{}, nil, err
		}
		if len(ps) == 0 {
			if w, err := e.nobody(ctx); w != nil || err != nil {
				return Participant{}, w, err
			}
			continue
		}
		leader := ps[0]
		node, w, err := b.c.GetWatch(ctx, leader.Node)
		switch {
		case errors.Is(err, client.ErrNoNode):
			continue // gone in between
		case err != nil:
			return Participant{}, nil, err
		}
		b.fill(&leader, node.Data, node.Stat)
		leader.Holds = true
		return leader, w, nil
	}
}

// nobody returns a watch that tells when there may be a candidate, or nil if that is so already.
func (e *Election) nobody(ctx context.Context) (*client.Watch, error) {
	list, w, err := e.b.c.ChildrenWatch(ctx, e.b.dir)
	if errors.Is(err, client.ErrNoNode) {
		node, w, err := e.b.c.ExistsWatch(ctx, e.b.dir)
		if err == nil && node.Exists {
			w.Close()
			return nil, nil
		}
		return w, err
	}
	if err != nil {
		return nil, err
	}
	want := e.b.named(e.claim())
	for _, name := range list.Names {
		if _, _, ok := want.parse([]byte(name)); ok {
			w.Close()
			return nil, nil
		}
	}
	return w, nil
}
