// Package client is a client of ZooKeeper (servers from 3.6 on) in one package: connect, read, write, watch. It links
// nothing but the standard library and the layers below it. Locks and what follows from them are in package recipes.
//
//	c, err := client.Connect(ctx, "zk1:2181,zk2:2181,zk3:2181/app", client.SessionTimeout(10*time.Second))
//	if err != nil {
//		return err // says, per server, why
//	}
//	defer c.Close()
//
//	data, stat, err := c.Get(ctx, "/config")
//	if errors.Is(err, client.ErrNoNode) {
//		_, stat, err = c.Create(ctx, "/config", first, client.ModePersistent, nil)
//	}
//	stat, err = c.Set(ctx, "/config", next, stat.Version) // unless somebody else has changed it
//
//	node, watch, err := c.GetWatch(ctx, "/config") // for the next change
//	ev, err := watch.Wait(ctx)
//
//	w, err := c.Watch(ctx, "/services", client.Recursive) // for all changes
//	defer w.Close()
//	for ev, err := range w.Events(ctx) { ... }
//
//	g := c.Group() // several requests in one round trip
//	e, d := g.Exists("/a"), g.Get("/b", buf)
//	err = g.Do(ctx)
//	stat, ok, err := e.Stat()
//
// What takes several requests: CreateAll makes missing parents, CreateOrSet does either, DeleteAll and Walk go over trees,
// CreateProtected survives a lost reply. View gives clients with other chroots on the same session.
//
// A Client reconnects by itself, to another server if need be, with the same session: it need not, and should not, be
// replaced after an error. When a session has expired it begins the next one by itself; ephemeral znodes and watches of the
// old one are gone then, and their watches say so.
//
// # Guarantees
//
// Requests are written in the order in which they were made, and are answered in that order. Those of a Group stand next to
// each other, with nothing of anybody else in between.
//
// Every request completes exactly once: with a reply, with an error of the server, or with an error that says whether it
// was sent. A context that ends takes its own call with it and leaves the connection to the others.
//
// A watch exists from the moment its reply is handled. Its event is delivered before any later reply completes: whoever sees
// the new data has been told of the change, also of the client's own. It ends exactly once; a reconnect does not end it. A Watch
// is told of a change that came while there was no connection. For a Watcher no server does that: it has an EventGap then, and
// where its buffer was full; it never drops an event silently. What is closed here is removed from the server too.
//
// What was accepted in one session is never carried into the next. Nothing is logged without a Logger, and credentials never
// appear in errors or logs. The package starts no goroutines; those of the session, three when connected, four on a
// read-only server, end with Close.
//
// # Errors
//
// Operations return an *Error with the operation, the path, the reason, and what is known of the request (Outcome).
// MaybeApplied and SafeToRetry answer the two questions that matter; errors.Is finds the reason:
//
//	what                      when                                             applied?    retry?
//	ErrNoNode, ErrNodeExists, the server refused the request                   no          when the reason is gone
//	  ErrBadVersion and all
//	  other codes
//	ErrThrottled              the server was overloaded                        no          later
//	ErrNotReadOnly            a write or a Sync on a read-only server          no          when StateConnected is back
//	*MultiError               an op of a Multi failed: matches its code        no, no op   when the reason is gone
//	*DeleteAllError           a DeleteAll came to an end before its time       in part     yes: it goes on where it ended
//	context.Canceled,         the context ended before the request             no          yes: SafeToRetry
//	  DeadlineExceeded        was written
//	the same                  the context ended in flight                      perhaps (1) reads: yes; writes: look first
//	ErrConnectionLoss         the connection broke in flight                   perhaps (1) reads: yes; writes: look first
//	ErrDisconnected           there was no connection (option FailFast)        no          yes: SafeToRetry
//	ErrSessionExpired         the session ended, the request was queued        no          yes: SafeToRetry
//	the same                  the session ended, the request was in flight     perhaps (1) look first; ephemerals are gone
//	ErrAuthFailed             a server refused the credentials, or requires    as above    no: the client is of no use
//	                          others (ErrSessionClosedRequireSASL)
//	ErrClosed                 Close was called                                 as above    no
//	*PathError, *ModeError,   the arguments cannot be sent                     no          no
//	  *TTLError,
//	  *ReconfigError,
//	  *RequestTooLargeError,
//	  ErrWatcherType,
//	  ErrWatchMode,
//	  ErrZeroValue,
//	  ErrNilContext,
//	  ErrForeignGuard,
//	  ErrProtected, ErrView
//	*VersionError             older servers may not know the operation         no          with another MinServer
//	ErrGroupRefused           another request of the group cannot be sent      no          without that one
//	*conn.TooLargeError,      the reply exceeds the ReceiveLimit, or           perhaps (1) no: it would come again
//	  *jute.DecodeError,      makes no sense
//	  *ReplyError
//	ErrTemporarySession       Detach on a read-only server                     -           no: the client has ended
//	ErrWatchClosed            the Watch or Watcher was closed                  -           -
//	ErrWatcherBusy            another goroutine reads the Watcher              -           when that has ended
//	ErrCloseUnconfirmed       Close got no answer                              perhaps     no: the session expires
//	*ConnectError             Connect gave up: matches its context's error     no          yes
//	*ConnectStringError,      Connect, Lazy: the arguments                     no          no
//	  *OptionError
//
//	(1) MaybeApplied is true for writes; reads change nothing.
//
// ErrSessionExpired, ErrAuthFailed and ErrClosed of a session match net.ErrClosed as well.
//
// # Defaults
//
//	SessionTimeout   10 s                 what is asked for; the server has the last word
//	ReceiveLimit     4 MiB                bytes of a reply's frame
//	SendLimit        1,048,575            bytes of a request's frame
//	InFlight         16,384 and 64 MiB    requests, and their bytes, queued and in flight
//	CloseBound       1 s                  how long Close waits for the server
//	Backoff          100 ms to 10 s       pause between rounds of connection attempts, with jitter
//	DefaultACL       world:anyone, all    what creates use that are given none
//	EventBuffer      1,024                events of one Watcher that wait to be read
//	MinServer        3.6.0                operations that are younger are not sent
//	LeaderProof      true                 leases prove that the leader knows the session
//	FailFast         off                  requests wait while disconnected, until their context ends
//	FinalExpiry      off                  a new session follows an expired one
//	ReadOnly         off                  servers without quorum are not used
//	Auth             none
//	SASL             none
//	SASLOptional     off                  a server without SASL is not used
//	TLS              off                  with it: at least TLS 1.2, never a fall-back to plain connections
//	Dialer           net.Dialer
//	Resolver         net.DefaultResolver  before each attempt; with a Dialer, that resolves
//	Logger           none                 nothing is logged
//	Tracer           none                 nothing is traced
//	Attach           none                 a new session is asked for
//	Rand             math/rand/v2
//
// Of the recipes, which have options of their own: a Lock that fails waits 1 s at most for its clean-up
// (recipes.CleanupGrace), and znodes have the names that Curator gives them. The oldest server that is supported is 3.6.
//
// # Nil and zero values
//
// Methods of a nil or zero Client, Group, Watch or Generation, and of the zero handle of a call, never panic: they return
// errors that match ErrZeroValue. A nil context gives ErrNilContext.
//
// # Stability
//
// Before version 1 names may still change; each change is in the changelog.
package client
