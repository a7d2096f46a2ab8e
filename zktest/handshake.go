package zktest

import (
	"encoding/binary"
	"strconv"
	"time"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// handshake is a ConnectRequest.
type handshake struct {
	lastZxid  int64
	timeout   int32
	sessionID int64
	passwd    []byte
	readOnly  bool // a read-only server will do
	short     bool // without the readOnly byte, as clients of 3.3: the answer has none either
}

// readHandshake reads the first frame, or a four-letter word in its place.
func (c *connection) readHandshake() error {
	word, err := c.fr.peekWord()
	if err != nil {
		return err
	}
	if c.wordAnswered(word) {
		return errGone
	}
	frame, err := c.fr.next()
	if err != nil {
		return err
	}
	h, ok := parseHandshake(frame)
	if !ok {
		return errFrame
	}
	c.tellHandshake(&h)
	s := c.s
	s.mu.Lock()
	s.stopLocked(c.idle)
	c.queue = append(c.queue, &arrival{c: c, shake: &h})
	c.drainLocked()
	if c.gone {
		err = errGone
	}
	s.releaseLocked(c)
	return err
}

func parseHandshake(frame []byte) (handshake, bool) {
	var h handshake
	r := jute.NewReader(frame)
	r.Int() // protocolVersion: the server ignores it
	h.lastZxid = r.Long()
	h.timeout = r.Int()
	h.sessionID = r.Long()
	h.passwd = append([]byte(nil), r.Buffer()...)
	h.short = r.Remaining() == 0
	h.readOnly = !h.short && r.Bool()
	return h, r.Err() == nil
}

// giveUpLocked closes a connection that has sent no ConnectRequest for too long.
func (s *Server) giveUpLocked(c *connection) {
	if !c.gone {
		s.dropLocked(c)
	}
}

// answerLocked answers the handshake, in the order of checks of ZooKeeperServer.processConnectRequest.
func (c *connection) answerLocked(h *handshake, now time.Time) {
	s := c.s
	switch {
	case c.member.refusal == RefuseReadOnly:
		c.replyLocked(0, 0, proto.ErrNotReadOnly)
		c.blocked = true // mute from here on
		return
	case c.member.service != ReadWrite:
		c.answerReadOnlyLocked(h, now)
		return
	case h.lastZxid > s.tree.zxid:
		s.closeLocked(c)
		return
	}
	timeout := s.clampLocked(h.timeout)
	if h.sessionID == 0 {
		c.attachLocked(s.newSessionLocked(timeout, now), h)
		return
	}
	ss := s.sessions[h.sessionID]
	if ss != nil && ss.local != nil {
		ss = nil // known to another member only
	}
	if ss != nil && ss.owner != nil && ss.owner.member == c.member {
		// The old connection goes even if the password turns out to be wrong.
		s.closeLocked(ss.owner)
	}
	if ss == nil || string(ss.passwd[:]) != string(h.passwd) {
		c.connectResponseLocked(&session{}, h.short)
		s.closeLocked(c)
		return
	}
	ss.timeout = timeout
	s.touchLocked(ss, now)
	s.stats.reattached++
	c.attachLocked(ss, h)
}

// attachLocked makes c the connection of ss. An older one, made through another member, is not told: it ends when it
// needs the leader the next time.
func (c *connection) attachLocked(ss *session, h *handshake) {
	c.ss = ss
	ss.owner = c
	c.connectResponseLocked(ss, h.short)
}

// connectResponseLocked sends the ConnectResponse for ss; the zero session means that the client's is not valid.
func (c *connection) connectResponseLocked(ss *session, short bool) {
	at := len(c.out)
	b := append(c.out, 0, 0, 0, 0)
	b = jute.AppendInt(b, 0)
	b = jute.AppendInt(b, int32(ss.timeout/time.Millisecond))
	b = jute.AppendLong(b, ss.id)
	b = jute.AppendBuffer(b, ss.passwd[:])
	if !short {
		b = jute.AppendBool(b, ss.local != nil)
	}
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	c.out = b
	c.replyAt = at
	c.s.dirtyLocked(c)
}

// wordAnswered answers the four-letter words that a default server allows, ruok besides, and reports whether word is one;
// the connection is over then.
func (c *connection) wordAnswered(word uint32) bool {
	var text string
	s := c.s
	switch string(binary.BigEndian.AppendUint32(nil, word)) {
	case "ruok":
		text = "imok"
	case "isro":
		text = "rw"
		s.mu.Lock()
		if c.member.service != ReadWrite {
			text = "ro"
		}
		s.mu.Unlock()
	case "srvr":
		s.mu.Lock()
		text = "Zookeeper version: " + s.cfg.version.String() + " (zktest)\nConnections: " + strconv.Itoa(len(s.conns)) +
			"\nZxid: 0x" + strconv.FormatInt(s.tree.zxid, 16) + "\nMode: " + c.modeLocked() + "\nNode count: " +
			strconv.Itoa(s.tree.size()) + "\n"
		s.mu.Unlock()
	default:
		return false
	}
	s.mu.Lock()
	c.out = append(c.out, text...)
	s.closeLocked(c)
	s.releaseLocked(c)
	return true
}

// modeLocked is the mode that srvr tells.
func (c *connection) modeLocked() string {
	switch {
	case c.member.service != ReadWrite:
		return "read-only"
	case c.s.quorum != nil:
		return "leader"
	}
	return "standalone"
}
