// Package admin asks ZooKeeper servers how they are, with the four-letter words srvr, ruok, mntr, isro, cons and wchs
// (docs/protocol.md section 19), and gives their answers as typed values. Other words are sent by Server.Word, which returns
// the text.
//
//	s := admin.Server{Addr: "zk1:2181"}
//	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
//	defer cancel()
//	st, err := s.Srvr(ctx)
//	switch {
//	case errors.Is(err, admin.ErrNotServing): // up, and without a leader
//	case err != nil: // down, stopped, or it does not know the word
//	case st.Mode == admin.ModeLeader:
//	}
//
// A word needs no session and goes to one server, not to an ensemble: each call dials, asks, reads until the server closes,
// and closes. It works over TLS as it does without. A server answers only the words of its whitelist
// (4lw.commands.whitelist); unless it is configured, that is srvr, and isro where the read-only mode is enabled.
//
// # Time
//
// The context bounds all of a call: dial, TLS handshake, question and answer. Nothing else does, so it should have a deadline:
// a server that is stopped accepts connections in the kernel, and never answers.
//
// # Errors
//
// Each error is an *Error with the word and the server. Its cause is found with errors.Is and errors.As:
//
//	ErrNotServing       the server is up, and looks for a leader, starts or stops
//	ErrNotWhitelisted   the server's configuration does not allow the word
//	ErrNoAnswer         the server closed without a word: it does not know this one, or has nothing to say to it
//	ErrBadWord          not sent: no four-letter word, or stmk, which needs an argument
//	*TooLargeError      the answer is over Server.ReceiveLimit
//	*ParseError         the answer is not what the word's answers look like; it names the line and the field
//	*conn.AddrError     Server.Addr is no address, as in the zero Server
//	*conn.Error         dial, TLS handshake, write or read failed, or the context ended then, which errors.Is sees
//
// # Versions
//
// Answers of the servers 3.4 to 3.9 are read. Numbers are read strictly. Lines and fields that this package does not know are
// no error; they are kept in the fields called Extra and, for mntr, in Metrics.Values.
//
// The package starts no goroutine. It is stable in the sense of the module: what is exported stays, and may get company.
package admin
