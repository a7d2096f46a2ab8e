package conformance

import "github.com/lockkeeper/lockkeeper/proto"

// What frames can be matched by; conditions are joined with all.

// sent matches a request of the client.
func sent(op proto.Op) func(*frame) bool {
	return func(f *frame) bool { return f.out && !f.shake && f.op == op }
}

// anySent matches every request of the client but for pings.
func anySent(f *frame) bool {
	return f.out && !f.shake && f.op != proto.OpPing
}

// replied matches the reply to a request.
func replied(op proto.Op) func(*frame) bool {
	return func(f *frame) bool { return !f.out && !f.shake && f.op == op && f.xid != proto.XidNotification }
}

// anEvent matches every notification.
func anEvent(f *frame) bool { return !f.out && !f.shake && f.xid == proto.XidNotification }

// greeting matches the ConnectRequest of a connection.
func greeting(f *frame) bool { return f.out && f.shake }

// welcome matches the ConnectResponse of a connection.
func welcome(f *frame) bool { return !f.out && f.shake }

// onConn matches what passes on the connection with a number.
func onConn(number int) func(*frame) bool {
	return func(f *frame) bool { return f.conn == number }
}

// at matches requests for a path, their replies, and events of it.
func at(path string) func(*frame) bool {
	return func(f *frame) bool { return f.path == path }
}

// all joins conditions.
func all(conditions ...func(*frame) bool) func(*frame) bool {
	return func(f *frame) bool {
		for _, c := range conditions {
			if !c(f) {
				return false
			}
		}
		return true
	}
}
