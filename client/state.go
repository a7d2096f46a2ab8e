package client

import (
	"context"
	"iter"
	"time"

	"github.com/lockkeeper/lockkeeper/session"
)

// State returns where the client stands now; it may have changed when the caller looks. A nil or zero Client is
// StateClosed.
func (c *Client) State() State {
	if !c.usable() {
		return session.StateClosed
	}
	return c.keep.State().State
}

// States yields the state at the time of the call and then every change, in order and without a gap, until ctx or the client
// ends; what happens between the call and the loop over its result is not missed. Any number
// of goroutines may follow, each at its own pace. While the state is StateDisconnected or StateConnecting, whatever was
// learned by reads and watches may be out of date; watches stay armed across it.
func (c *Client) States(ctx context.Context) iter.Seq[Change] {
	if !c.usable() || ctx == nil {
		return func(func(Change) bool) {}
	}
	return c.keep.Changes(ctx)
}

// SessionID returns the id of the current session, 0 before a server has given one. ZooKeeper prints it as unsigned hex.
func (c *Client) SessionID() int64 {
	if !c.usable() {
		return 0
	}
	return c.keep.Current().ID()
}

// SessionTimeout returns the session timeout that the server granted, which may differ from the one that was asked for; 0
// before there is a session.
func (c *Client) SessionTimeout() time.Duration {
	if !c.usable() {
		return 0
	}
	return c.keep.Current().Timeout()
}

// Counters returns what all sessions of the client together have written and received.
func (c *Client) Counters() Counters {
	if !c.usable() {
		return Counters{}
	}
	return c.keep.Counters()
}

// CleanupsPending returns how many deletions that recipes owe, of lock znodes whose caller has gone, are not confirmed yet.
func (c *Client) CleanupsPending() int {
	if !c.usable() {
		return 0
	}
	return c.keep.Current().CleanupsPending()
}

// Chroot returns the prefix of all paths of this client, "" for none.
func (c *Client) Chroot() string {
	if c == nil {
		return ""
	}
	return c.chroot
}

// DefaultACL returns a copy of the list that creates use which are given none.
func (c *Client) DefaultACL() []ACL {
	if c == nil {
		return nil
	}
	return append([]ACL(nil), c.acl...)
}
