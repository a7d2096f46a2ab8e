package conformance

import (
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// multiBody makes a record of the answer to a multi.
type multiBody struct{ results []proto.MultiResult }

// ReadFrom implements decoder.
func (m *multiBody) ReadFrom(r *jute.Reader) { m.results = proto.ReadMultiReply(r, nil) }

// statOf returns the Stat at the end of a body.
func statOf(body []byte) proto.Stat {
	var st proto.Stat
	r := jute.NewReader(body[max(len(body)-proto.StatSize, 0):])
	st.ReadFrom(&r)
	return st
}
