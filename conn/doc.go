// Package conn is one framed connection to a ZooKeeper server, or from a client: dial, handshake, read a frame, write a
// batch. It knows lengths, the two records of the handshake and the size of a reply header, and nothing of requests, xids or
// sessions. It is also what a tool that sends hand-made bytes uses.
//
//	fc, err := conn.Dial(ctx, "zk1:2181", &conn.Config{})
//	defer fc.Close()
//	rep, err := fc.Handshake(ctx, &proto.ConnectRequest{TimeOut: 10_000, Passwd: make([]byte, 16)})
//	b, start := conn.BeginFrame(nil)
//	b = (&proto.RequestHeader{Xid: 1, Type: int32(proto.OpExists)}).AppendTo(b)
//	b = (&proto.ExistsRequest{Path: "/a"}).AppendTo(b)
//	conn.EndFrame(b, start)
//	err = fc.WriteBatch(b)
//	body, err := fc.ReadFrame()
//
// # Passive
//
// A Conn starts no goroutine and sets no deadline that its caller did not ask for. While Dial and Handshake wait they are
// bound to their context by context.AfterFunc, which runs a goroutine only when the context ends (and, for a context type
// that the standard library does not know, one until the call returns); package net and crypto/tls may use their own while
// they connect. None is left when the call has returned.
//
// # Memory
//
// There is one read buffer, and ReadFrame returns slices of it. It starts at 4 KiB, grows to what the traffic needs and
// falls back to 4 KiB when the large frames stop. An announced length is checked before anything is allocated for it, and a
// long frame is taken in steps, so that what a peer can make us allocate is never more than 64 KiB ahead of what it sent.
//
// # Limits
//
// The first frame of a connection is the handshake's and has at most 4 KiB. Later ones have at least the size of a header
// and at most Config.ReceiveLimit; one above it, up to 16 times, is read and thrown away, reported as a *TooLargeError, and
// the connection goes on. Everything else is a *FrameError, after which there is no way to find the next frame
// (docs/protocol.md section 1).
//
// # Errors
//
// Each error of this package says which server it is about: *Error, *HandshakeError, *FrameError, *TooLargeError carry the
// address. The cause is found with errors.Is and errors.As.
//
// The package is stable in the sense of the module: what is exported stays, and may get company.
package conn
