package recipes

import (
	"context"
	"time"
)

// leaseContext is the context of a lease. It is a type of its own so that it costs no goroutine: what is derived from it
// hooks itself in by AfterFunc, which package context looks for.
type leaseContext struct {
	l      *Lease
	values context.Context // Lock's, cut off from its end
}

// Deadline reports none: the lease deadline moves on with every sign of life of the session.
func (c *leaseContext) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done is closed when the hold is no longer safe.
func (c *leaseContext) Done() <-chan struct{} { return c.l.Done() }

// Err returns nil while the lease is good, and then an error that matches both context.Canceled and the cause.
func (c *leaseContext) Err() error { return c.l.endErr() }

// Value returns Lock's value, or the lease for whoever looks for a hold of this lock.
func (c *leaseContext) Value(key any) any {
	if key == c.l.b.key {
		return c.l
	}
	return c.values.Value(key)
}

// AfterFunc arranges for f to run in its own goroutine when the lease has ended, as context.AfterFunc says.
func (c *leaseContext) AfterFunc(f func()) (stop func() bool) { return c.l.afterFunc(f) }

// String names the lease, as the contexts of the standard library name themselves.
func (c *leaseContext) String() string { return "lease of " + c.l.b.dir }

// holdKey is the key under which the context of a lease carries the lease: the client, the lock's path with the chroot, and
// which names its contenders have. Whether the session is still the same has to be looked at as well.
type holdKey struct {
	client any
	path   string
	names  string
}

// carried returns the hold of this lock that ctx carries, nil if there is none, or none any more.
func (b *base) carried(ctx context.Context) *Lease {
	l, _ := ctx.Value(b.key).(*Lease)
	if l == nil || !l.gen.Same(b.c.Generation()) || l.State() == Lost || l.spent() {
		return nil
	}
	return l
}

// nested is why a hold of this lock cannot be had by whoever has l already.
func (l *Lease) nested(k kind) error {
	if k == writer && l.Shared() {
		return ErrUpgrade
	}
	return ErrNested
}
