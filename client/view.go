package client

import (
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/session"
)

// View returns a client with another chroot on the same session: its paths are below path, which is one of c's and need not
// exist. It shares everything else with c: connection, watches' events, credentials, options, and generations; a guard made
// by one of them is refused by the other with ErrForeignGuard, unless their chroots are the same. Views cost next to
// nothing, and can be made of views. "/" gives another client with c's chroot.
//
// The session belongs to the client that Connect or Lazy has made. Only there does Close end it, and every view with it;
// a view's Close and Shutdown do nothing, so that whoever is given a view can treat it as a client of its own, and its Detach
// fails with ErrView. The error of View is that of an invalid path, or matches ErrZeroValue.
func (c *Client) View(path string) (*Client, error) {
	if !c.usable() {
		return nil, &Error{Op: "view", Path: path, Err: ErrZeroValue, Outcome: session.NotSent}
	}
	if err := proto.ValidatePath(path); err != nil {
		return nil, &Error{Op: "view", Path: path, Err: err, Outcome: session.NotSent}
	}
	chroot := proto.JoinChroot(c.chroot, path)
	if chroot == "/" {
		chroot = ""
	}
	return c.rooted(chroot), nil
}

// rooted returns a view with a chroot of the server's, "" for none.
func (c *Client) rooted(chroot string) *Client {
	return &Client{keep: c.keep, chroot: chroot, acl: c.acl, sendLimit: c.sendLimit, events: c.events, minServer: c.minServer, view: true}
}
