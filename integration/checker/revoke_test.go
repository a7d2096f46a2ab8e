package checker

import (
	"context"
	"errors"
	"sync"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// asked is which holds of a lock were given back by its function of Revocable: their leases, and the nodes of these, since the levels
// of a re-entrant lock do not show the lease.
type asked struct{ any sync.Map }

// revocable is the option: with a function that gives the lock back, or without one.
func revocable(gives bool, tr *traits) recipes.Option {
	if !gives {
		return recipes.Revocable(nil)
	}
	a := &asked{}
	tr.limited, tr.asked = true, a
	return recipes.Revocable(func(l *recipes.Lease) {
		a.any.Store(l, true)
		a.any.Store(l.Node(), true)
		_ = l.ReleasePipelined() // somebody else may have been faster
	})
}

// givenBack says whether the function has given the hold back.
func (l leaseHold) givenBack() bool {
	if l.asked == nil {
		return false
	}
	_, lease := l.asked.any.Load(l.lease)
	_, node := l.asked.any.Load(l.node())
	return lease || node
}

// released says what the result of a release means, also of a hold that may have been given back before: when that was, the result
// does not tell.
func (l leaseHold) released(err error, waited bool) (Result, bool, error) {
	if l.givenBack() && (err == nil || errors.Is(err, recipes.ErrNotHeld) || errors.Is(err, recipes.ErrLost)) {
		return Unknown, false, nil
	}
	return released(err, waited)
}

// revoke asks one of those who hold a lock or wait for it to give it up.
func (w *worker) revoke(ctx context.Context, p int) {
	if w.sites[p].kind == plains { // whose data tells whose they are
		return
	}
	folder := w.sites[p].folder()
	names, err := w.children(folder)
	if err != nil || len(names) == 0 {
		return
	}
	node := folder + "/" + names[w.rng.IntN(len(names))]
	w.touched.Store(node, true)
	err = recipes.Revoke(ctx, w.clients[w.client], node)
	switch {
	case err == nil:
		w.count("requests to give up")
	case errors.Is(err, client.ErrNoNode), errors.Is(err, client.ErrConnectionLoss), errors.Is(err, client.ErrSessionExpired),
		ctx.Err() != nil && errors.Is(err, ctx.Err()):
	default:
		w.violate(Strange, w.paths[p], err.Error())
	}
}
