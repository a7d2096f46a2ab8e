package client

import "github.com/lockkeeper/lockkeeper/session"

// ErrTemporarySession is the answer to Detach while the session is that of a read-only server, which no other server knows.
var ErrTemporarySession = session.ErrTemporarySession

// ReadOnly lets a session begin on a server that is cut off from its ensemble and configured to go on with reads. Without it
// such servers are not used, and with only those left nothing is served.
//
// On a read-only server the state is StateConnectedReadOnly. Reads and watches work on what the server knew when it was cut
// off; nothing changes there. Writes and Sync fail with ErrNotReadOnly, which is certain: they had no effect. The session is
// temporary: SessionID is an id that no other server knows, and Detach fails with ErrTemporarySession. Meanwhile the client
// asks the other servers whether they serve writes, after pauses that grow from 100 ms to a minute, and goes to the first that
// does. There it gets another id, in the same Generation; what waits is sent there, and watches are kept as across any
// reconnect: a Watch is told of what it missed, a Watcher has an EventGap. Reads do not go back: a server that has seen less
// than the read-only one is not used.
//
// A session that was begun with the whole ensemble is never exchanged for a temporary one, since ephemeral znodes depend on
// it. When no server has a quorum it is StateDisconnected until it is resumed, or expires by its own clock; only the session
// that follows (see FinalExpiry) may be read-only.
//
// There are no locks on a read-only server: a Lock fails with recipes.ErrReadOnly at once, and does not wait for a server with
// quorum; who wants that waits for StateConnected. A lease never sees a read-only server: its session is not served there, and
// it ends by the lease clock.
//
// From 3.7 on, servers give sessions without quorum only if localSessionsEnabled is set; others refuse the client, as if it
// had not asked. The servers that are searched must answer the word isro: by default those do that have readonlymode.enabled
// set, as all servers of an ensemble should.
func ReadOnly() Option {
	return option(func(o *options) *OptionError {
		o.cfg.ReadOnly = true
		return nil
	})
}
