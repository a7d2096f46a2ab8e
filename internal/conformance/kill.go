package conformance

import "github.com/lockkeeper/lockkeeper/proto"

// kill ends the session of the client behind tp as nobody but its owner can: by a second connection that knows its
// password, and closes it (docs/field-cases.md section 0, KILL). The client learns of it when it comes back.
func (e *env) kill(tp *tap) {
	e.Helper()
	_, conns := tp.counts()
	answer := answerOf(e, tp, conns)
	tp.part() // or the client, which is cut, would take its session back before the end
	r := e.attach(proto.ConnectRequest{TimeOut: answer.TimeOut, SessionID: answer.SessionID, Passwd: answer.Passwd})
	r.ok(proto.OpCloseSession, none, nil)
	r.gone()
	tp.refuse(false)
}
