package client

import (
	"context"
	"errors"
	"sync"

	"github.com/lockkeeper/lockkeeper/session"
)

// Client is one client of an ensemble: a succession of sessions, one at a time, on one connection at a time. It reconnects by
// itself, and begins a new session by itself when one has expired; one Client per process and ensemble is enough.
//
// All methods may be called from any number of goroutines at once. Operations block until their reply, or until their context
// ends; a context that ends affects its own call and nothing else. The methods of a nil or zero Client return errors that
// match ErrZeroValue.
type Client struct {
	keep      *session.Keeper // immutable
	chroot    string          // immutable; "" for none
	acl       []ACL           // immutable: what creates use that are given none
	sendLimit int             // immutable
	events    int             // immutable: the EventBuffer of watchers
	minServer Version         // immutable: what is promised of the servers
	view      bool            // immutable: made by View, so the session is not its own

	groups sync.Pool // of *Group: one-shot calls are groups of one
}

// Connect begins a session with one of the servers of connectString, "host:port,host:port/chroot", and returns when a server
// has accepted it. Ports default to 2181, IPv6 addresses stand in brackets.
//
// With a chroot all paths of the client are below it, those it is given and those it returns, in results, events and errors;
// the chroot itself is not created, and without it operations fail with ErrNoNode. Excepted is the server's own tree:
// /zookeeper and what is below it are the same znodes with every chroot. So a znode called zookeeper, directly below
// the chroot, cannot be named; where it could appear in a result it has its name on the server. View makes further clients
// with other chroots on the same session.
//
// ctx bounds the connecting only. If it ends first, the error matches ctx's error and holds a *ConnectError that tells, per
// server, why it could not be used. Otherwise the error is a *ConnectStringError or *OptionError, or matches ErrAuthFailed.
func Connect(ctx context.Context, connectString string, opts ...Option) (*Client, error) {
	if ctx == nil {
		return nil, connectFailed(ErrNilContext)
	}
	c, cfg, err := configure(connectString, opts)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = c.open(cfg)
	}
	if err != nil {
		return nil, connectFailed(err)
	}
	if err := c.await(ctx, len(cfg.Credentials) > 0); err != nil {
		failures := c.serverFailures(cfg.Servers)
		_ = c.keep.Close() // what there is of a session is of no use; the error to report is why it came to this
		return nil, connectFailed(&ConnectError{Cause: err, Servers: failures})
	}
	return c, nil
}

// Lazy is Connect without the waiting: it returns a Client before any server has answered. Requests wait, until their
// contexts end, for the first connection. The error is a *ConnectStringError or an *OptionError.
func Lazy(connectString string, opts ...Option) (*Client, error) {
	c, cfg, err := configure(connectString, opts)
	if err == nil {
		err = c.open(cfg)
	}
	if err != nil {
		return nil, connectFailed(err)
	}
	return c, nil
}

// configure checks the arguments and returns a client that has not begun.
func configure(connectString string, opts []Option) (*Client, session.Config, error) {
	servers, chroot, err := parseConnectString(connectString)
	if err != nil {
		return nil, session.Config{}, err
	}
	o, err := collect(opts)
	if err != nil {
		return nil, session.Config{}, err
	}
	o.cfg.Servers = servers
	return &Client{chroot: chroot, acl: o.acl, sendLimit: o.cfg.SendLimit, events: o.events, minServer: o.minServer}, o.cfg, nil
}

// open begins the first session.
func (c *Client) open(cfg session.Config) (err error) {
	c.keep, err = session.Open(cfg)
	return err
}

// await waits until a server has accepted the session and, if there are any, the credentials.
func (c *Client) await(ctx context.Context, credentials bool) error {
	for change := range c.keep.Changes(ctx) {
		if !change.State.Connected() {
			continue
		}
		if !credentials || c.answered(ctx) {
			return nil
		}
	}
	if change := c.keep.State(); change.State == session.StateAuthFailed {
		return change.Err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.keep.State().Err
}

// answered reports whether a request was answered: the answers to the credentials have then gone before it, and were good.
func (c *Client) answered(ctx context.Context) bool {
	_, _, err := c.Exists(ctx, "/")
	var e *Error
	return !errors.As(err, &e) || e.Outcome == session.Rejected && !errors.Is(err, ErrAuthFailed)
}

// serverFailures tells about every server why it was of no use.
func (c *Client) serverFailures(servers []string) *ServersError {
	var known *ServersError
	if !errors.As(c.keep.Failures(), &known) {
		known = &ServersError{}
	}
	for _, server := range servers {
		if !mentions(known, server) {
			known.Servers = append(known.Servers, &ServerError{Server: server, Err: errNoAnswer})
		}
	}
	return known
}

func mentions(e *ServersError, server string) bool {
	for _, s := range e.Servers {
		if s.Server == server {
			return true
		}
	}
	return false
}

func connectFailed(err error) error {
	return &Error{Op: "connect", Err: err, Outcome: session.NotSent}
}

// usable reports whether c was made by Connect or Lazy.
func (c *Client) usable() bool { return c != nil && c.keep != nil }

// Close ends the session, and with it its ephemeral znodes and locks; leases end first, with cause ErrClosed. Requests that
// are queued fail as not sent, requests in flight with an unknown outcome, both matching ErrClosed, and so does every later
// one. Watches end with that error. Close waits for the server's answer for CloseBound at most and returns an error that
// matches ErrCloseUnconfirmed when there was none, or no connection to ask by: then the session stays until it
// expires. It may be called any number of times, from any goroutine; every call returns when all is over, with the same
// result. Close of a View does nothing and returns nil.
func (c *Client) Close() error {
	switch {
	case !c.usable():
		return &Error{Op: "close", Err: ErrZeroValue, Outcome: session.NotSent}
	case c.view:
		return nil
	}
	if err := c.keep.Close(); err != nil {
		return &Error{Op: "close", Err: err, Outcome: session.Unknown, write: true}
	}
	return nil
}

// take returns a group for one call; put gives it back.
func (c *Client) take(op, path string) (*Group, error) {
	if !c.usable() {
		return nil, &Error{Op: op, Path: path, Err: ErrZeroValue, Outcome: session.NotSent}
	}
	if g, ok := c.groups.Get().(*Group); ok {
		return g, nil
	}
	return &Group{cl: c}, nil
}

// put keeps g for another call. Nothing of the caller's stays in it.
func (c *Client) put(g *Group) {
	g.reset()
	c.groups.Put(g)
}
