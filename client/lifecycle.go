package client

import (
	"context"

	"github.com/lockkeeper/lockkeeper/session"
)

// Ticket is what it takes to go on with a session elsewhere; see Client.Detach. Its password is hidden by every way of
// printing it: store the fields, and keep them secret, because whoever has them can take the session over or end it.
type Ticket = session.Ticket

// Secret is bytes that all ways of printing hide.
type Secret = session.Secret

// Trace is a set of functions that are told what happens, for metrics and logs; see the option Tracer.
type Trace = session.Trace

// Shutdown waits until every lease has been released, grants no new one meanwhile, and closes. If ctx ends first it closes
// at once, and the error matches ctx's. Shutdown of a View does nothing and returns nil.
func (c *Client) Shutdown(ctx context.Context) error {
	switch {
	case !c.usable():
		return &Error{Op: "shutdown", Err: ErrZeroValue, Outcome: session.NotSent}
	case ctx == nil:
		return &Error{Op: "shutdown", Err: ErrNilContext, Outcome: session.NotSent}
	case c.view:
		return nil
	}
	return c.keep.Shutdown(ctx)
}

// Detach ends the client but not its session: ephemeral znodes stay until the session timeout has passed, or for as long as
// a client goes on with the session by the option Attach. Leases end first. The error says why there is no session to go on
// with; the client has ended in any case. A View cannot be detached: the error matches ErrView, and nothing happens.
func (c *Client) Detach() (Ticket, error) {
	switch {
	case !c.usable():
		return Ticket{}, &Error{Op: "detach", Err: ErrZeroValue, Outcome: session.NotSent}
	case c.view:
		return Ticket{}, &Error{Op: "detach", Err: ErrView, Outcome: session.NotSent}
	}
	return c.keep.Detach()
}

// Context returns a context that ends with the client; context.Cause then matches ErrClosed, ErrAuthFailed or, with the
// option FinalExpiry, ErrSessionExpired. That of a nil or zero Client has ended.
func (c *Client) Context() context.Context {
	if !c.usable() {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(ErrZeroValue)
		return ctx
	}
	return c.keep.Context()
}

// SetServers replaces the servers, "host:port,host:port" without a chroot, while the client runs. A connection to a server
// that is still listed stays; otherwise the session goes on with another one at once, or after the attempt to connect that is
// under way. The error is a *ConnectStringError.
func (c *Client) SetServers(servers string) error {
	if !c.usable() {
		return &Error{Op: "set servers", Err: ErrZeroValue, Outcome: session.NotSent}
	}
	list, chroot, err := parseConnectString(servers)
	if err == nil && chroot != "" {
		err = &ConnectStringError{Part: chroot, Reason: "the chroot of a client cannot be changed"}
	}
	if err != nil {
		return &Error{Op: "set servers", Err: err, Outcome: session.NotSent}
	}
	return c.keep.SetServers(list)
}

// Attach makes Connect go on with a session that was detached, with its ephemeral znodes, instead of asking for a new one.
// If it has expired meanwhile the client begins a new session, unless FinalExpiry is given too: then Connect fails with
// ErrSessionExpired.
func Attach(t Ticket) Option {
	return option(func(o *options) *OptionError {
		t.Passwd = cloneBytes(t.Passwd)
		o.cfg.Resume = &t
		return require(t.ID != 0, "Attach", "session id is 0")
	})
}

// Tracer has the functions of t told what happens; those that are nil are left out. The struct is copied.
func Tracer(t Trace) Option {
	return option(func(o *options) *OptionError {
		o.cfg.Trace = &t
		return nil
	})
}
