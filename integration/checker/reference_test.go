package checker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
)

// refLock is a lock, or with more than one permit a semaphore, that is written for reading and not for speed, upon the client's
// public calls. Its switch makes one of the mistakes that the checker must find.
type refLock struct {
	c       *client.Client
	dir     string
	permits int
	wrong   mistake
	prefix  string // of a GUID that is used for all attempts of one client, one after the other
	attempt int
	mu      sync.Mutex // guards attempt
}

// mistake is what a lock does wrong.
type mistake int

const (
	noMistake mistake = iota
	ignoresPredecessor
	keepsAfterExpiry
	createsWithoutSearch
	searchesWithoutSync
	trustsOldSession
	deletesBySequence
	countsBeforeCreate
	ordersText
	resendsWrites // of the client itself: see writer_test.go
	registersLate
)

func reference(wrong mistake, permits int) maker {
	return func(c *client.Client, s site, rng *rand.Rand) lock {
		guid := fmt.Sprintf("%08x-0000-4000-8000-%012x", rng.Uint32(), rng.Uint64()&(1<<48-1))
		return &refLock{c: c, dir: s.path, permits: permits, wrong: wrong, prefix: guid}
	}
}

// refAttempt is one call of Lock.
type refAttempt struct {
	*refLock
	gen    client.Generation
	prefix string // of the znode's name, up to its number
	unsure bool   // a create with this prefix was lost
	node   string
	czxid  int64
}

// errGone says that the own znode is not there any more, so that a new one is needed.
var errGone = errors.New("own znode is gone")

func (l *refLock) acquire(ctx context.Context, h how) (hold, Result, error) {
	l.mu.Lock()
	l.attempt++
	a := &refAttempt{refLock: l, prefix: fmt.Sprintf("_c_%s%04d-lock-", l.prefix[:len(l.prefix)-4], l.attempt)}
	l.mu.Unlock()
	for {
		a.gen = l.c.Generation()
		got, err := a.try(ctx, h)
		switch {
		case err == nil && got != nil:
			return got, OK, nil
		case errors.Is(err, client.ErrSessionExpired) && ctx.Err() == nil:
			a.node = "" // the same name serves in the next session
			continue
		case errors.Is(err, errGone) && ctx.Err() == nil:
			a.node, a.unsure = "", false
			continue
		}
		clean := a.clean()
		if err != nil && ctx.Err() == nil {
			return nil, Unknown, err
		}
		select {
		case <-clean:
			return nil, NotGranted, nil
		case <-time.After(time.Second):
			return nil, Unknown, nil
		}
	}
}

// try makes a znode and waits until it is granted; neither hold nor error says that somebody is ahead and h does not want to wait.
func (a *refAttempt) try(ctx context.Context, h how) (*refHold, error) {
	if a.wrong == countsBeforeCreate {
		if err := a.count(ctx); err != nil {
			return nil, err
		}
	}
	if err := a.create(ctx); err != nil {
		return nil, err
	}
	for {
		queue, conn, err := a.list(ctx, true)
		if err != nil {
			return nil, err
		}
		ahead, found := a.ahead(queue)
		if !found {
			return nil, errGone
		}
		switch {
		case len(ahead) < a.permits, a.wrong == ignoresPredecessor, a.wrong == countsBeforeCreate:
			if got, err := a.grant(conn); got != nil || err != nil {
				return got, err
			}
			if err := rest(ctx, a.gen.Timeout()/4); err != nil {
				return nil, err
			}
		case h.try:
			return nil, nil
		default:
			if err := a.wait(ctx, ahead); err != nil {
				return nil, err
			}
		}
	}
}

// create makes the znode. When the reply is lost it looks whether it exists: behind a sync, or the server that answers could be behind;
// and only one of this session counts.
func (a *refAttempt) create(ctx context.Context) error {
	for {
		if a.unsure && a.wrong != createsWithoutSearch {
			if err := a.search(ctx); err != nil || a.node != "" {
				return err
			}
		}
		g := a.gen.Group()
		made := g.Create(a.dir+"/"+a.prefix, nil, client.ModeEphemeralSequential, nil)
		_ = g.Do(ctx) // made has the error
		node, stat, err := made.Path()
		switch {
		case err == nil:
			a.node, a.czxid = node, stat.Czxid
			return nil
		case errors.Is(err, client.ErrNoNode):
			if err := a.parents(ctx); err != nil {
				return err
			}
		default:
			a.unsure = a.unsure || client.MaybeApplied(err)
			if !errors.Is(err, client.ErrConnectionLoss) {
				return err
			}
		}
	}
}

// parents makes the path.
func (a *refAttempt) parents(ctx context.Context) error {
	_, _, err := a.c.CreateAll(ctx, a.dir, nil, client.ModeContainer, nil)
	for _, harmless := range []error{client.ErrNodeExists, client.ErrNoNode, client.ErrConnectionLoss} {
		if errors.Is(err, harmless) {
			return nil
		}
	}
	return err
}

// search looks for the znode by its name.
func (a *refAttempt) search(ctx context.Context) error {
	queue, _, err := a.list(ctx, a.wrong != searchesWithoutSync)
	if errors.Is(err, errGone) {
		return nil // the path is not there yet
	}
	if err != nil {
		return err
	}
	for _, c := range queue {
		if !strings.HasPrefix(c.name, a.prefix) {
			continue
		}
		node := a.dir + "/" + c.name
		stat, ok, err := a.c.Exists(ctx, node)
		switch {
		case err != nil && ctx.Err() == nil && errors.Is(err, client.ErrConnectionLoss):
			return a.search(ctx)
		case err != nil:
			return err
		case ok && (stat.EphemeralOwner == a.gen.SessionID() || a.wrong == trustsOldSession):
			a.node, a.czxid = node, stat.Czxid
			return nil
		}
	}
	return nil
}

// list returns the queue and the connection that brought it.
func (a *refAttempt) list(ctx context.Context, sync bool) ([]contender, uint64, error) {
	for {
		g := a.gen.Group()
		if sync {
			g.Sync(a.dir)
		}
		kids := g.Children(a.dir)
		_ = g.Do(ctx) // kids has the error that matters
		names, _, err := kids.Names()
		switch {
		case err == nil:
			return contenders(names), kids.Conn(), nil
		case errors.Is(err, client.ErrNoNode):
			return nil, 0, errGone
		case !errors.Is(err, client.ErrConnectionLoss):
			return nil, 0, err
		}
	}
}

// ahead returns the names of those ahead of the own znode, and whether that is in the queue.
func (a *refAttempt) ahead(queue []contender) (names []string, found bool) {
	var own contender
	for _, c := range queue {
		if a.dir+"/"+c.name == a.node {
			own, found = c, true
		}
	}
	if !found {
		return nil, false
	}
	for _, c := range queue {
		if a.wrong == ordersText {
			if number(c.name) < number(own.name) {
				names = append(names, c.name)
			}
		} else if int32(uint32(c.seq)-uint32(own.seq)) < 0 {
			names = append(names, c.name)
		}
	}
	return names, found
}

// number is the number of a znode as text.
func number(name string) string { return name[strings.LastIndex(name, lockMark)+len(lockMark):] }

// count waits until fewer have a permit than there are, which is worth nothing by the time the znode is made.
func (a *refAttempt) count(ctx context.Context) error {
	for {
		list, w, err := a.c.ChildrenWatch(ctx, a.dir)
		if errors.Is(err, client.ErrNoNode) || err == nil && len(list.Names) < a.permits {
			w.Close()
			return nil
		}
		if err == nil {
			_, err = w.Wait(ctx)
		}
		if err != nil && !errors.Is(err, client.ErrConnectionLoss) {
			return err
		}
	}
}

func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
