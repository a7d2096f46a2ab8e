package recipes

import (
	"context"
	"iter"

	"github.com/lockkeeper/lockkeeper/client"
)

// What MultiLease and Leadership have of Lease would panic for a nil one if it were promoted: a nil Lease is not held, and neither are
// these.

func (ml *MultiLease) whole() *Lease {
	if ml == nil {
		return nil
	}
	return ml.Lease
}

func (l *Leadership) whole() *Lease {
	if l == nil {
		return nil
	}
	return l.Lease
}

// Node is Lease.Node of the first part.
func (ml *MultiLease) Node() string { return ml.whole().Node() }

// Token is Lease.Token.
func (ml *MultiLease) Token() Token { return ml.whole().Token() }

// Shared is Lease.Shared of the first part.
func (ml *MultiLease) Shared() bool { return ml.whole().Shared() }

// Guard is Lease.Guard of the first part alone; Guards has those of all.
func (ml *MultiLease) Guard() client.Op { return ml.whole().Guard() }

// Context is Lease.Context.
func (ml *MultiLease) Context() context.Context { return ml.whole().Context() }

// State is Lease.State.
func (ml *MultiLease) State() State { return ml.whole().State() }

// States is Lease.States.
func (ml *MultiLease) States(ctx context.Context) iter.Seq[State] { return ml.whole().States(ctx) }

// Done is Lease.Done.
func (ml *MultiLease) Done() <-chan struct{} { return ml.whole().Done() }

// Downgrade is Lease.Downgrade of the first part.
func (ml *MultiLease) Downgrade(ctx context.Context) error { return ml.whole().Downgrade(ctx) }

// Node is Lease.Node.
func (l *Leadership) Node() string { return l.whole().Node() }

// Token is Lease.Token.
func (l *Leadership) Token() Token { return l.whole().Token() }

// Shared is Lease.Shared.
func (l *Leadership) Shared() bool { return l.whole().Shared() }

// Guard is Lease.Guard.
func (l *Leadership) Guard() client.Op { return l.whole().Guard() }

// Guards is Lease.Guards.
func (l *Leadership) Guards() []client.Op { return l.whole().Guards() }

// Context is Lease.Context.
func (l *Leadership) Context() context.Context { return l.whole().Context() }

// State is Lease.State.
func (l *Leadership) State() State { return l.whole().State() }

// States is Lease.States.
func (l *Leadership) States(ctx context.Context) iter.Seq[State] { return l.whole().States(ctx) }

// Done is Lease.Done.
func (l *Leadership) Done() <-chan struct{} { return l.whole().Done() }

// Downgrade is Lease.Downgrade.
func (l *Leadership) Downgrade(ctx context.Context) error { return l.whole().Downgrade(ctx) }

// Release is Lease.Release.
func (l *Leadership) Release(ctx context.Context) error { return l.whole().Release(ctx) }

// ReleasePipelined is Lease.ReleasePipelined.
func (l *Leadership) ReleasePipelined() error { return l.whole().ReleasePipelined() }
