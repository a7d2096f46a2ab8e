package conformance

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// mask replaces in a capture what differs between runs, by decoding it. A field that is none, such as zxid 0 or -1, stays.
type mask struct {
	base     int64 // the first zxid, which becomes 1
	sessions map[int64]int64
	secrets  map[string]byte
	asked    map[int32]proto.Op
	shakes   int // frames of a handshake that are still to come
}

func newMask() *mask {
	return &mask{asked: map[int32]proto.Op{}, sessions: map[int64]int64{}, secrets: map[string]byte{}}
}

// codec is any record.
type codec interface {
	encoder
	decoder
}

// AppendTo implements encoder.
func (m *multiBody) AppendTo(dst []byte) []byte { return proto.AppendMultiReply(dst, m.results) }

// exchange returns a line for each step, in words and as masked bytes: those of the client, then all others.
func (m *mask) exchange(x Exchange) []string {
	var sent, others []string
	for _, st := range x.Steps {
		if st.Does == Opens {
			m.shakes, m.asked = 2, map[int32]proto.Op{}
		}
		line := string(st.Does)
		if len(st.Frame) >= 4 {
			line += " " + m.frame(st)
		}
		if st.Does == Client {
			sent = append(sent, line)
		} else {
			others = append(others, line)
		}
	}
	return append(sent, others...)
}

// frame puts a frame into a line.
func (m *mask) frame(st Step) string {
	r := jute.NewReader(st.Frame[4:])
	var rec codec
	text := ""
	switch {
	case m.shakes > 0:
		m.shakes--
		rec = &proto.ConnectRequest{}
		if st.Does == Server {
			rec = &proto.ConnectResponse{}
		}
	case st.Does == Client:
		xid, op := r.Int(), proto.Op(r.Int())
		m.asked[xid] = op
		text = fmt.Sprintf("%d %v ", xid, op)
		if op == proto.OpSetWatches || op == proto.OpSetWatches2 {
			return text + fmt.Sprintf("since %d %x", m.zxid(r.Long()), r.Rest())
		}
	default:
		h := reply{xid: r.Int(), zxid: r.Long(), code: proto.Code(r.Int())}
		text = fmt.Sprintf("%d zxid %d %d ", h.xid, m.zxid(h.zxid), int32(h.code))
		if h.xid != proto.XidNotification && h.code == 0 {
			rec, _ = scripted{op: m.asked[h.xid]}.answer().(codec)
		}
	}
	if rec == nil {
		return text + hex.EncodeToString(r.Rest())
	}
	body := r.Rest()
	r.Reset(body)
	rec.ReadFrom(&r)
	// What is not as we write it, the end of a multi for one, must not get lost on the way.
	if r.Err() != nil || !bytes.Equal(rec.AppendTo(nil), body[:len(body)-r.Remaining()]) {
		return text + hex.EncodeToString(body)
	}
	m.record(rec)
	return text + fmt.Sprintf("%+v %x %x", rec, rec.AppendTo(nil), r.Rest())
}

// record masks the fields of a record.
func (m *mask) record(rec codec) {
	switch rec := rec.(type) {
	case *proto.ConnectRequest:
		rec.LastZxidSeen, rec.SessionID, rec.Passwd = m.zxid(rec.LastZxidSeen), m.session(rec.SessionID), m.secret(rec.Passwd)
	case *proto.ConnectResponse:
		rec.SessionID, rec.Passwd = m.session(rec.SessionID), m.secret(rec.Passwd)
	case *proto.Create2Response:
		m.stat(&rec.Stat)
	case *proto.ExistsResponse:
		m.stat(&rec.Stat)
	case *proto.GetDataResponse:
		m.stat(&rec.Stat)
	case *proto.GetACLResponse:
		m.stat(&rec.Stat)
	case *proto.GetChildrenResponse:
		slices.Sort(rec.Children)
	case *proto.GetChildren2Response:
		slices.Sort(rec.Children)
		m.stat(&rec.Stat)
	case *proto.GetEphemeralsResponse:
		slices.Sort(rec.Ephemerals)
	case *proto.WhoAmIResponse:
		sortClients(rec.ClientInfo)
	case *multiBody:
		for i := range rec.results {
			slices.Sort(rec.results[i].Children)
			m.stat(&rec.results[i].Stat)
		}
	}
}

func (m *mask) stat(st *proto.Stat) {
	st.Czxid, st.Mzxid, st.Pzxid = m.zxid(st.Czxid), m.zxid(st.Mzxid), m.zxid(st.Pzxid)
	st.Ctime, st.Mtime = min(st.Ctime, 1), min(st.Mtime, 1)
	st.EphemeralOwner = m.session(st.EphemeralOwner)
}

func (m *mask) zxid(zxid int64) int64 {
	if zxid <= 0 {
		return zxid
	}
	if m.base == 0 {
		m.base = zxid - 1
	}
	return zxid - m.base
}

func (m *mask) session(id int64) int64 {
	if id != 0 && m.sessions[id] == 0 {
		m.sessions[id] = int64(len(m.sessions) + 1)
	}
	return m.sessions[id]
}

// secret replaces a password by one of the same length; one of zeros is none.
func (m *mask) secret(passwd []byte) []byte {
	if !slices.ContainsFunc(passwd, func(b byte) bool { return b != 0 }) {
		return passwd
	}
	if m.secrets[string(passwd)] == 0 {
		m.secrets[string(passwd)] = byte(len(m.secrets) + 1)
	}
	return slices.Repeat([]byte{m.secrets[string(passwd)]}, len(passwd))
}
