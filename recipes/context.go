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

// Value returns Lock's value.
func (c *leaseContext) Value(key any) any { return c.values.Value(key) }

// AfterFunc arranges for f to run in its own goroutine when the lease has ended, as context.AfterFunc says.
func (c *leaseContext) AfterFunc(f func()) (stop func() bool) { return c.l.afterFunc(f) }

// String names the lease, as the contexts of the standard library name themselves.
func (c *leaseContext) String() string { return "lease of " + c.l.m.dir }
