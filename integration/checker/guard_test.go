package checker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// register makes the znodes that are written with the guards of holds, one for each lock.
func (r *run) register(ctx context.Context) error {
	for p := range r.paths {
		if _, _, err := r.clients[0].CreateAll(ctx, r.guardedBy(p), nil, client.ModePersistent, nil); err != nil {
			return err
		}
	}
	return nil
}

// guardedBy is the znode that the holders of a lock write.
func (r *run) guardedBy(p int) string { return fmt.Sprintf("/guarded/%d", p) }

// write writes it, whether the hold stands or not. How often it has been written its version tells.
func (w *worker) write(k *kept) {
	if k.vague {
		return // its guard is documented to be of the one znode, and the hold may be the other
	}
	ctx, cancel := context.WithTimeout(w.late, time.Duration(w.rng.IntN(int(2*w.timeout))))
	defer cancel()
	op := Op{Client: w.row, Path: w.paths[k.p], Kind: Guarded, Hold: k.id, Passes: k.passes(), Call: w.h.Now()}
	results, err := w.clients[w.client].Multi(ctx, append(k.guards(), client.SetOp(w.guardedBy(k.p), nil, client.AnyVersion))...)
	_, touched := w.touched.Load(k.node())
	switch {
	case err == nil:
		op.Result, op.Version = OK, results[len(results)-1].Stat.Version
	case errors.Is(err, recipes.ErrUnguarded) && k.passes(), errors.Is(err, client.ErrBadVersion) && touched:
		return // which any write to the znode brings about
	case errors.Is(err, client.ErrNoNode), errors.Is(err, client.ErrBadVersion) && (k.passes() || w.sites[k.p].kind == fixeds):
		op.Result = Refused
	case client.MaybeApplied(err):
		op.Result = Unknown
	case errors.Is(err, client.ErrConnectionLoss), errors.Is(err, client.ErrSessionExpired), ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return
	default:
		w.violate(Strange, op.Path, err.Error())
		return
	}
	w.count("guarded writes, " + op.Result.String())
	w.h.Add(op)
}
