package conformance

import (
	"encoding/binary"
	"errors"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

func goldenEntries() []entry {
	return []entry{
		{"E2-E26", "golden packets: the target answers each as the captured server did", nil, goldenPackets},
		{"P5.zxid", "failed writes use up a zxid, reads and syncs do not", []Ability{Alone}, zxidUse},
		{"E29", "handshakes without the last byte, and with a null password, are answered in kind", nil, oldHandshakes},
		{"E30", "absurd lengths and cut headers are refused by a close and no byte", nil, silentRefusals},
	}
}

// goldenRoot is the znode that the golden packets work on. They cannot be moved elsewhere.
const goldenRoot = "/ex"

// firstZxid is the zxid of the first write in the captured conversation.
const firstZxid = 0x50

// golden replays the conversation of the packets.
type golden struct {
	e       *env
	packets map[string]Packet
	base    int64 // what zxids are higher by than in the capture
	session int64 // which is the one of the capture
}

// goldenPackets has the captured conversation once more, and compares the answers record by record.
func goldenPackets(e *env) {
	g := &golden{e: e, packets: Packets()}
	r := e.raw()
	r.removeAll(goldenRoot)
	e.Cleanup(func() { e.remove(goldenRoot) })
	g.session = r.ss.SessionID
	g.play(r, "E2", "E3", "E4", "E5", "E6", "E7", "E8", "E9", "E10")
	other := e.raw()
	other.set(goldenRoot, "v3")
	g.play(r, "E11", "E12")
	other.set(goldenRoot, "v4")
	g.play(r, "E13", "E14", "E15")
	other.bye()
	g.play(r, "E17", "E18", "E19", "E20", "E21", "E22")

	stranger := e.raw()
	back := e.attach(g.attach("E24", r))
	equal(e, "E24: session", back.ss.SessionID, r.ss.SessionID)
	equal(e, "E24: password", string(back.ss.Passwd), string(r.ss.Passwd))
	equal(e, "E24: timeout", back.ss.TimeOut, r.ss.TimeOut)
	r.gone()
	g.play(back, "E25")
	back.gone()
	e.fails("E26", e.refused(g.attach("E24", r)), conn.ErrExpired)
	g.play(stranger, "E16")
	stranger.gone()
	e.forget(stranger)
	stranger = e.raw()
	g.play(stranger, "E23")
	stranger.gone()
	e.forget(stranger)
}

// attach returns the handshake of a packet for the session of r.
func (g *golden) attach(name string, r *raw) proto.ConnectRequest {
	var req proto.ConnectRequest
	rd := jute.NewReader(g.e.unhex(g.packets[name].Sent[0])[4:])
	req.ReadFrom(&rd)
	g.e.must(rd.Err())
	req.SessionID, req.Passwd, req.TimeOut, req.LastZxidSeen = r.ss.SessionID, r.ss.Passwd, r.ss.TimeOut, req.LastZxidSeen+g.base
	return req
}

// play sends packets and compares what comes back.
func (g *golden) play(r *raw, names ...string) {
	g.e.Helper()
	for _, name := range names {
		p := g.packets[name]
		if len(p.Answers) == 0 {
			g.e.Fatalf("no packet %s", name)
		}
		for _, text := range p.Sent {
			b := g.e.unhex(text)
			if name == "E13" { // holds a zxid
				at := b[12:20]
				binary.BigEndian.PutUint64(at, binary.BigEndian.Uint64(at)+uint64(g.base))
			}
			r.write(b)
		}
		for _, text := range p.Answers {
			want, got := header(g.e.unhex(text)[4:]), r.next()
			if name == "E2" {
				g.base = got.zxid - firstZxid
			}
			g.compare(r, name, got, want)
		}
	}
}

// compare checks one answer: its header, its size, and its record.
func (g *golden) compare(r *raw, name string, got, want reply) {
	e := g.e
	e.Helper()
	if want.zxid > 0 {
		got.zxid -= g.base
	}
	event := want.xid == proto.XidNotification
	exact := e.tg.Without[Alone] == "" && (!event || e.tg.Version < NewVersion(3, 9, 0))
	if got.xid != want.xid || got.code != want.code || exact && got.zxid != want.zxid {
		e.Fatalf("%s: answer %d, zxid %#x, %v; want %d, zxid %#x, %v", name, got.xid, got.zxid, got.code, want.xid, want.zxid, want.code)
	}
	if e.tg.Version < NewVersion(3, 9, 0) && len(got.body) != len(want.body) {
		e.Errorf("%s: body of %d bytes, want %d", name, len(got.body), len(want.body))
	}
	a, b := bodyOf(name, event), bodyOf(name, event)
	r.decode(got, a)
	r.decode(want, b)
	g.normalise(a, g.base)
	g.normalise(b, 0)
	equal(e, name, a, b)
}

// bodyOf returns the record in the answer to a packet, nil if there is none.
func bodyOf(name string, event bool) decoder {
	if event {
		return &proto.WatcherEvent{}
	}
	switch name {
	case "E2", "E6":
		return &proto.CreateResponse{}
	case "E3", "E18":
		return &proto.Create2Response{}
	case "E4":
		return &proto.GetChildren2Response{}
	case "E7", "E8", "E9":
		return &multiBody{}
	case "E10":
		return &proto.ErrorResponse{}
	case "E17":
		return &proto.SyncResponse{}
	case "E19":
		return &proto.GetACLResponse{}
	case "E20":
		return &proto.WhoAmIResponse{}
	case "E21":
		return &proto.GetEphemeralsResponse{}
	case "E22":
		return &proto.GetAllChildrenNumberResponse{}
	}
	return nil
}

// normalise removes from a record what differs between runs.
func (g *golden) normalise(rec decoder, base int64) {
	var stats []*proto.Stat
	switch rec := rec.(type) {
	case *proto.Create2Response:
		stats = append(stats, &rec.Stat)
	case *proto.GetChildren2Response:
		stats = append(stats, &rec.Stat)
	case *proto.GetACLResponse:
		stats = append(stats, &rec.Stat)
	case *multiBody:
		for i := range rec.results {
			if rec.results[i].HasStat {
				stats = append(stats, &rec.results[i].Stat)
			}
		}
	case *proto.WhoAmIResponse: // in no particular order
		sortClients(rec.ClientInfo)
	}
	for _, st := range stats {
		if st.EphemeralOwner == g.session {
			st.EphemeralOwner = 0
		}
		st.Ctime, st.Mtime = 0, 0
		if g.e.tg.Without[Alone] != "" {
			st.Czxid, st.Mzxid, st.Pzxid = 0, 0, 0
			continue
		}
		st.Czxid, st.Mzxid, st.Pzxid = st.Czxid-base, st.Mzxid-base, st.Pzxid-base
	}
}

// oldHandshakes are those of docs/protocol.md section 4 that clients of today do not send.
func oldHandshakes(e *env) {
	nc := e.plain()
	req := newSession(e.long)
	b := req.AppendTo(make([]byte, 4))
	b = b[:len(b)-1] // no readOnly
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	nc.write(b)
	answer := nc.frame()
	equal(e, "length of the answer to 44 bytes", len(answer), 36)
	nc.write(requestFrame(proto.XidPing, proto.OpPing, none))
	equal(e, "reply", header(nc.frame()).xid, proto.XidPing)
	nc.write(requestFrame(1, proto.OpCloseSession, none))
	nc.frame()

	req.Passwd = nil
	r := e.attach(req)
	equal(e, "length of the password", len(r.ss.Passwd), 16)
}

// silentRefusals are first frames, and later ones, that no server can make sense of.
func silentRefusals(e *env) {
	for name, frame := range map[string]string{
		"negative": "fffffffb", "above the limit": "00100000", "empty": "00000000", "two bytes": "000000020000",
		"seven bytes": "0000000700000000000000", "a word after all": "72756f6b", "header cut short": "00000004fffffffe",
		"auth without body": "000000080000000100000064",
	} {
		r := e.raw()
		r.write(e.unhex(frame))
		if _, err := r.fc.ReadFrame(); !isClosed(err) {
			e.Errorf("%s: %v, want a close", name, err)
		}
		e.forget(r)
	}
	for name, frame := range map[string]string{
		"impossible length": "fffffffb", "http": "474554202f20485454502f312e310d0a0d0a", "short": "0000000400000000",
	} {
		nc := e.plain()
		nc.write(e.unhex(frame))
		if _, err := nc.Read(make([]byte, 1)); !isClosed(err) {
			e.Errorf("first frame %s: %v, want a close", name, err)
		}
	}
}

// forget ends the session of a connection that the server has closed.
func (e *env) forget(r *raw) {
	e.Helper()
	_ = r.fc.Close()
	r.fc = nil
	back, err := e.open(e.ctx, r.again())
	if errors.Is(err, conn.ErrExpired) {
		return
	}
	e.must(err)
	back.bye()
}
