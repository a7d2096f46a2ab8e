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
//	from          event                                        to
//	connecting    handshake answered                           connected, or connected read-only
//	connected     connection broken, silent or without proof   disconnected
//	connected     session clock ran out                        expired
//	disconnected  handshake answered with this session's id    connected
//	disconnected  handshake answered "expired"; clock ran out  expired
//	any           credentials refused                          auth failed
//	any           Close                                        closed
//
// The last three are terminal. After expired the Keeper begins the next generation in connecting, unless
// Config.FinalExpiry is set. A session that has never been connected does not expire.
//
// # Goroutines
//
//	name       owner       begins           ends                                     waits for
//	run        Keeper      Open             Close, auth failed, final expiry         timers, a connection's end, Close
//	readLoop   connection  each handshake   the connection is closed                 the socket only
//	writeLoop  connection  each handshake   the connection is given up               queued groups, the socket
//
// run waits for both loops of a connection before it tells what was in flight, so the completion of calls passes from the
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
