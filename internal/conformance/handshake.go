package conformance

import (
	"encoding/binary"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

func handshakeEntries() []entry {
	return []entry{
		{"C25 E1 E24 F12 F20", "the client's handshakes are those of the packets, with the zxid it has seen", nil, clientHandshakes},
		{"C34 F25", "timeouts are negotiated into 2 to 20 ticks, anew on each connection", nil, negotiation},
		{"C35 P21.5", "a wrong password is answered as expired, and cuts the session's owner, who comes back", nil, wrongPassword},
		{"P4 E26", "a session that is over, or never was, is answered by timeout 0 and a close", nil, expiredAnswer},
		{"P4.zxid", "a client that has seen more than the server is refused without a byte", nil, aheadOfServer},
		{"P4.moved", "a second connection of a session on the same server cuts the first", nil, secondConnection},
		{"P1", "handshake, auth, read and ping in one write are all answered", []Ability{HandshakeFirst}, pipelinedHandshake},
		{"P19", "four-letter words are answered before the handshake, by text and a close", nil, fourLetterWords},
	}
}

// clientHandshakes compares the first frames of both kinds of connections with the packets.
func clientHandshakes(e *env) {
	c, tp := e.client(client.SessionTimeout(10 * time.Second))
	_, st, err := c.Create(e.ctx, "/a", nil, client.ModePersistent, nil)
	e.must(err)
	e.blink(c, tp)
	_, _, err = c.Get(e.ctx, "/a")
	e.must(err)
	greetings := tp.await(e, 2, greeting)
	packets := Packets()
	equal(e, "first handshake", string(greetings[0].body), string(e.unhex(packets["E1"].Sent[0])[4:]))

	answer := answerOf(e, tp, 1)
	want := e.unhex(packets["E24"].Sent[0])[4:]
	got := []byte(greetings[1].body)
	if seen := int64(binary.BigEndian.Uint64(got[4:])); seen < st.Czxid {
		e.Errorf("lastZxidSeen %#x, want at least %#x", seen, st.Czxid)
	}
	binary.BigEndian.PutUint64(want[4:], binary.BigEndian.Uint64(got[4:]))
	binary.BigEndian.PutUint64(want[16:], uint64(answer.SessionID))
	copy(want[28:], answer.Passwd)
	equal(e, "second handshake", string(got), string(want))
}

// answerOf returns the ConnectResponse of the connection with a number.
func answerOf(e *env, tp *tap, number int) proto.ConnectResponse {
	e.Helper()
	var rep proto.ConnectResponse
	r := jute.NewReader(tp.await(e, 1, all(welcome, onConn(number)))[0].body)
	rep.ReadFrom(&r)
	e.must(r.Err())
	return rep
}

func negotiation(e *env) {
	least, most := 2*e.tg.Tick, 20*e.tg.Tick
	for asked, want := range map[time.Duration]time.Duration{
		time.Millisecond: least, 1_000_000 * time.Second: most, 5 * e.tg.Tick: 5 * e.tg.Tick,
	} {
		c, _ := e.client(client.SessionTimeout(asked))
		equal(e, "timeout for "+asked.String(), c.SessionTimeout(), want)
		e.must(c.Close())
	}
	req := newSession(0)
	req.TimeOut = -5
	r := e.attach(req)
	equal(e, "timeout for -5", r.ss.TimeOut, int32(least.Milliseconds()))
	req = r.again()
	req.TimeOut = int32((10 * e.tg.Tick).Milliseconds())
	equal(e, "timeout after the second handshake", e.attach(req).ss.TimeOut, req.TimeOut)
}

func wrongPassword(e *env) {
	c, tp := e.client()
	w := e.follow(c)
	id := c.SessionID()
	_, _, err := c.Create(e.ctx, "/e", nil, client.ModeEphemeral, nil)
	e.must(err)
	req := newSession(e.long)
	req.SessionID = id
	tp.refuse(true) // the owner, coming back at once, could cut the other before it has its answer
	e.fails("wrong password", e.refused(req), conn.ErrExpired)
	w.until(client.StateDisconnected)
	tp.refuse(false)
	back := w.until(client.StateConnected)
	equal(e, "session", back.SessionID, id)
	equal(e, "generation", back.Generation, 1)
	_, ok, err := c.Exists(e.ctx, "/e")
	e.must(err)
	equal(e, "the ephemeral exists", ok, true)
}

func expiredAnswer(e *env) {
	r := e.raw()
	r.ok(proto.OpCloseSession, none, nil)
	r.gone()
	never := newSession(e.long)
	never.SessionID = 0x7fff000000000001
	for name, req := range map[string]proto.ConnectRequest{"closed": r.again(), "never": never} {
		nc := e.plain()
		b := req.AppendTo(make([]byte, 4))
		binary.BigEndian.PutUint32(b, uint32(len(b)-4))
		nc.write(b)
		equal(e, name, string(nc.frame()), string(e.unhex(Packets()["E26"].Answers[0])[4:]))
		if _, err := nc.Read(make([]byte, 1)); !isClosed(err) {
			e.Errorf("%s: %v, want a close", name, err)
		}
	}
}

func aheadOfServer(e *env) {
	r := e.raw()
	for name, req := range map[string]proto.ConnectRequest{"new": newSession(e.long), "old": r.again()} {
		req.LastZxidSeen = 1 << 62
		e.fails(name, e.refused(req), conn.ErrRefused)
	}
	r.get(e.root, false)
}

func secondConnection(e *env) {
	first := e.raw()
	path := first.create(e.path("/e"), "", proto.ModeEphemeral)
	second := e.attach(first.again())
	equal(e, "session", second.ss.SessionID, first.ss.SessionID)
	first.gone()
	equal(e, "owner", second.stat(path).EphemeralOwner, first.ss.SessionID)
	second.set(path, "still writable")
}

func pipelinedHandshake(e *env) {
	nc := e.plain()
	req := newSession(e.long)
	b := req.AppendTo(make([]byte, 4))
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	b = append(b, requestFrame(proto.XidAuth, proto.OpAuth, &proto.AuthPacket{Scheme: "digest", Auth: []byte("a:b")})...)
	b = append(b, requestFrame(1, proto.OpExists, &proto.ExistsRequest{Path: e.root})...)
	b = append(b, requestFrame(proto.XidPing, proto.OpPing, none)...)
	b = append(b, requestFrame(2, proto.OpCloseSession, none)...)
	nc.write(b)
	equal(e, "length of the first answer", len(nc.frame()), 37)
	got := map[int32]proto.Code{}
	for range 4 {
		rep := header(nc.frame())
		got[rep.xid] = rep.code
	}
	equal(e, "answers", got, map[int32]proto.Code{proto.XidAuth: 0, 1: 0, proto.XidPing: 0, 2: 0})
}
