// Package session keeps one session with a ZooKeeper ensemble alive, and a succession of them.
//
// A Session lives from its handshake to its end, across any number of connections. It takes groups of encoded requests,
// writes them in the order in which they were queued, matches the replies, delivers the events of watches in between, in
// the order of the wire, and tells what has become of every request, exactly once. A Keeper begins the next session when
// one has expired. It is not a public API of records and paths: that is package client's.
//
//	k, err := session.Open(session.Config{Servers: []string{"zk1:2181", "zk2:2181"}})
//	g := session.NewGroup()
//	i := g.End(req.AppendTo(g.Begin(proto.OpGetData)), nil)
//	kept, err := k.Do(ctx, g)
//	outcome, err := g.Result(i)
//
// # States
//
//	from                 event                                        to
//	connecting           handshake answered                           connected, or connected read-only
//	connected            connection broken, silent or without proof   disconnected
//	connected            session clock ran out                        expired
//	connected read-only  connection broken or silent, or a server     disconnected
//	                     with quorum was found
//	disconnected         handshake answered with this session's id    connected
//	disconnected         after read-only: handshake answered with     connected, or connected read-only
//	                     a new id
//	disconnected         handshake answered "expired"; clock ran out  expired
//	any                  credentials refused, or required             auth failed
//	any                  Close                                        closed
//
// The last three are terminal. After expired the Keeper begins the next generation in connecting, unless
// Config.FinalExpiry is set. A session that has never been connected, or only read-only, does not expire.
//
// # Authentication
//
// With Config.SASL run does an exchange of tokens on each connection between its handshake and its loops, so that nothing else
// is on the wire, and only then tells that the session is connected. Credentials come after that, first among all requests. A
// refusal is final, and so is a reply of any kind with -124, by which a server says that it serves nobody without an
// authentication. What comes from the network stage of a server credits no clock.
//
// # Read-only servers
//
// With Config.ReadOnly a session may begin on a server that is cut off from its ensemble and serves reads
// (docs/protocol.md section 18). Writes and syncs are refused there, and nothing can be held. The id that it gives is
// temporary: it is forgotten with the connection, and the next server gives another one, in the same generation, so
// that calls go on waiting and watches are set again, with what was missed told as after any reconnect. What was read is not taken
// back either: the next server must have seen as much. Meanwhile the others are asked whether they serve writes, after
// pauses that grow from 100 ms to a minute, and the first that does is where the session goes.
//
// A session that a server with quorum has given is never exchanged for a temporary one. Without quorum it is refused
// everywhere until its clock ends it; it is told as expired, and the next generation may begin read-only.
//
// # Goroutines
//
//	name       owner       begins           ends                                     waits for
//	run        Keeper      Open             Close, auth failed, final expiry         timers, a connection's end, Close
//	readLoop   connection  each handshake   the connection is closed                 the socket only
//	writeLoop  connection  each handshake   the connection is given up               queued groups, the socket
//	searchLoop connection  handshake with   the connection is given up, or a server  timers, other servers
//	                       a read-only      with quorum is found
//	                       server
//
// run waits for the loops of a connection before it tells what was in flight, so the completion of calls passes from the
// reader to run without a lock: Group.left and the results of a submitted group belong to whichever of them is active.
// The lease timer (time.AfterFunc) runs leaseDue for a moment when a lease deadline may have passed.
//
// # Order of locks
//
//	Session.mu, then one of cleaner.mu, changes.mu and Keeper.mu; hosts.mu, Queue.mu is taken alone, Cleanup.mu
//	and NodeWatch.mu last.
//
// No lock is held during I/O, a channel operation that can block, a call to a Holder, a Sink, or a log handler.
//
// # Clocks
//
// All run on the monotonic clock, to which the time is added for which the machine was suspended (on Linux, where the
// boot-time clock tells; elsewhere such a machine is not covered). All are derived from T, the session timeout of the current connection.
//
// The connection clock: any byte received within two thirds of T keeps a connection. A ping goes out when nothing has been
// written for T/3 (10 s at most); there is never more than one in flight, and it goes ahead of everything queued.
//
// A connection on which bytes arrive but nothing has been answered for five sixths of T is left too, since what is sent on it
// seems to be lost.
//
// The session clock: T after the send time of the newest answered request the session is over for us. It is checked before
// any reply completes, so a process that was stopped for too long learns of its end first.
//
// The lease clock: a follower cut off from its leader goes on answering pings, so a hold needs better proof. While there
// are holds or contenders the heartbeat is a sync, at least every T/4, and a hold lasts until T after the newest touch
// that the leader has heard of for certain; type clock says how that is known. No answer to a sync for T/3 makes the
// session leave its server, at most once per T. With Config.NoProof leases follow the session clock: then a holder on a
// follower that is cut off may believe in its lease for several seconds after the ensemble has given it to somebody else
// (up to syncLimit ticks less T).
//
// # Watches
//
// A Watch is a one-shot registration, which exists from the moment the reply of its request is handled. A Stream is a
// persistent one: any number on one path share a single watch of the server, in a way that has the same result whether the
// server keeps one mode per path or lets modes add up (type coverage). After a reconnect all are set again before any request
// goes out; streams are told that there is a gap, since no server tells what they have missed. A Watch that is Tidy, and a
// Stream, are taken off the server too when nobody else in the session needs them there.
//
// # Handing over
//
// Keeper.Detach ends a Keeper and leaves its session to the ensemble, Config.Resume goes on with it. Keeper.SetServers
// replaces the server list, Keeper.Shutdown waits for holds to end. A Trace is told of everything that happens.
//
// # Outcomes
//
// A call is Replied, Rejected by the server, NotSent, or Unknown. The distinction is made where it is known: the writer
// moves a group from the queue to the FIFO, and from then on a missing reply means Unknown.
package session
