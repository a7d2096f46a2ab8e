package conformance

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/proto"
)

// Exchange is a named part of a captured conversation: what one operation sent, and all that came back.
type Exchange struct {
	Name  string
	Steps []Step
}

// Step is one thing that happened on the wire. There is one connection at a time.
type Step struct {
	Does  Does
	Frame []byte // with its length; nil unless the step is a frame
}

// Does says what happens in a step. Its text is how it is written in files.
type Does string

// What can happen.
const (
	Opens  Does = "open"  // a new connection: the next frame of each side is the handshake's, without a header
	Client Does = "C"     // the client has sent a frame
	Server Does = "S"     // the server has sent a frame
	Closes Does = "close" // the server has closed the connection
)

// captureHead begins each file of captures.
const captureHead = `# Frames between this client and ZooKeeper %s: the script in internal/conformance/capturescript.go, as it
# went over the wire. A block is one exchange: its name; then C and a frame of the client, S and a frame of the server, in hex with
# the length in front. "open" is a new connection, whose first frame each way is the handshake; "close" is the server's.
# Written by, in the folder integration: go test -count=1 -run '^TestCaptures$' . -args -captures.update
`

// FormatCapture writes a capture as text, which ParseCapture reads.
func FormatCapture(version string, all []Exchange) string {
	var b strings.Builder
	fmt.Fprintf(&b, captureHead, version)
	for _, x := range all {
		b.WriteString("\n" + x.Name + "\n")
		for _, st := range x.Steps {
			b.WriteString(strings.TrimSpace(string(st.Does)+" "+hex.EncodeToString(st.Frame)) + "\n")
		}
	}
	return b.String()
}

// ParseCapture reads a capture. Lines that begin with # are left out.
func ParseCapture(text string) ([]Exchange, error) {
	var all []Exchange
	begun := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
		case line == "":
			begun = false
		case !begun:
			begun = true
			all = append(all, Exchange{Name: line})
		default:
			does, digits, _ := strings.Cut(line, " ")
			frame, err := hex.DecodeString(digits)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", all[len(all)-1].Name, err)
			}
			x := &all[len(all)-1]
			x.Steps = append(x.Steps, Step{Does(does), frame})
		}
	}
	return all, nil
}

// DiffCaptures compares two captures but for what differs between runs: zxids are counted from the first one, sessions and
// passwords are numbered, times are only there or not, and lists without an order are sorted. The two directions of an
// exchange are compared one after the other, since a client that has several requests to send does not wait. It describes the
// first difference, and is empty when there is none.
func DiffCaptures(got, want []Exchange) string {
	g, w := newMask(), newMask()
	for i := range min(len(got), len(want)) {
		a, b := g.exchange(got[i]), w.exchange(want[i])
		if got[i].Name != want[i].Name {
			return fmt.Sprintf("exchange %d: got %q, want %q", i, got[i].Name, want[i].Name)
		}
		if !slices.Equal(a, b) {
			return fmt.Sprintf("%s:\ngot\n  %s\nwant\n  %s", want[i].Name, strings.Join(a, "\n  "), strings.Join(b, "\n  "))
		}
	}
	if len(got) != len(want) {
		return fmt.Sprintf("got %d exchanges, want %d", len(got), len(want))
	}
	return ""
}

// scribe notes what passes a tap.
type scribe struct {
	e     *env
	tp    *tap
	taken int // frames of the tap's log that were looked at
	conn  int // number of the connection of the newest step
	all   []Exchange
}

// Capture has the script's conversation with a target and returns what went over the wire. The server must be fresh and
// nobody else's.
func Capture(t *testing.T, tg *Target) []Exchange {
	t.Helper()
	e := newEnv(t, tg, "captures")
	r := e.raw()
	r.removeAll(captureRoot)
	r.bye()
	e.Cleanup(func() { e.remove(captureRoot) })
	s := &scribe{e: e, tp: e.tap()}
	s.script()
	return s.all
}

// take makes an exchange of what has passed since the last one, without heartbeats.
func (s *scribe) take(name string) {
	s.e.Helper()
	s.note(name, func(f *frame) bool { return f.shake || f.op != proto.OpPing })
}

// note makes an exchange of what has passed since the last one and matches.
func (s *scribe) note(name string, match func(*frame) bool) {
	s.e.Helper()
	x := Exchange{Name: name}
	log := s.tp.frames(func(*frame) bool { return true })
	for _, f := range log[s.taken:] {
		if !match(&f) {
			continue
		}
		if f.conn != s.conn {
			s.conn = f.conn
			x.Steps = append(x.Steps, Step{Does: Opens})
		}
		does := Server
		if f.out {
			does = Client
		}
		x.Steps = append(x.Steps, Step{does, f.bytes()})
	}
	s.taken = len(log)
	if len(x.Steps) == 0 {
		s.e.Errorf("%s: nothing has passed", name)
	}
	s.all = append(s.all, x)
}

// closes adds to the last exchange that the server has closed the connection, and ends the session of r.
func (s *scribe) closes(r *raw) {
	s.e.Helper()
	r.gone()
	x := &s.all[len(s.all)-1]
	x.Steps = append(x.Steps, Step{Does: Closes})
	s.e.forget(r)
}

// await waits for a frame that matches and has not been taken yet.
func (s *scribe) await(match func(*frame) bool) {
	s.e.Helper()
	n := 0
	for _, f := range s.tp.frames(func(*frame) bool { return true })[:s.taken] {
		if match(&f) {
			n++
		}
	}
	s.tp.await(s.e, n+1, match)
}

// ok takes an exchange that must have succeeded.
func (s *scribe) ok(name string, err error) {
	s.e.Helper()
	s.e.must(err)
	s.take(name)
}

// refused takes an exchange that must have failed.
func (s *scribe) refused(name string, err, want error) {
	s.e.Helper()
	s.e.fails(name, err, want)
	s.take(name)
}

// does makes a request of a raw client and takes the exchange, whose reply must have this code.
func (s *scribe) does(r *raw, name string, op proto.Op, rec encoder, want proto.Code) {
	s.e.Helper()
	equal(s.e, name, r.do(op, rec).code, want)
	s.take(name)
}

// bytes returns the frame as it was, with its length.
func (f *frame) bytes() []byte {
	b, at := conn.BeginFrame(nil)
	switch {
	case f.shake:
	case f.out:
		b = (&proto.RequestHeader{Xid: f.xid, Type: int32(f.op)}).AppendTo(b)
	default:
		b = (&proto.ReplyHeader{Xid: f.xid, Zxid: f.zxid, Err: int32(f.code)}).AppendTo(b)
	}
	b = append(b, f.body...)
	conn.EndFrame(b, at)
	return b
}
