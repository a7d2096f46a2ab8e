package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/proto"
)

// scriptConns is the number of sessions that take turns in a script.
const scriptConns = 3

// script has a target answer random requests.
type script struct {
	e     *env
	rnd   *rand.Rand
	conns [scriptConns]*raw
	base  int64            // the zxid at the beginning
	last  int64            // the newest zxid seen
	names map[int64]string // of sessions, by id
	lines []string
}

// Transcript has a target answer n random requests, one after another, and returns a line for each, with everything that
// came back on any of the sessions. The requests follow from the seed, so two targets that behave alike give the same
// lines. Times, passwords and session ids are left out; zxids are counted from the beginning. The server must be fresh and
// nobody else's.
func Transcript(t *testing.T, tg *Target, seed uint64, n int) []string {
	t.Helper()
	e := newEnv(t, tg, fmt.Sprintf("script-%d", seed))
	s := &script{e: e, rnd: rand.New(rand.NewPCG(seed, seed)), names: map[int64]string{0: "none"}}
	for i := range s.conns {
		s.open(i)
	}
	s.conns[0].create(e.root+"/keep", "", proto.ModePersistent) // so that the run's znode is never deleted
	s.base = s.conns[0].do(proto.OpExists, &proto.ExistsRequest{Path: "/"}).zxid
	s.last = s.base
	for range n {
		s.step()
	}
	return s.lines
}

// open begins a session on a connection of the script.
func (s *script) open(i int) {
	s.conns[i] = s.e.raw()
	s.names[s.conns[i].ss.SessionID] = fmt.Sprintf("session %d", len(s.names))
}

// step makes one request, or does something to a session.
func (s *script) step() {
	i := s.rnd.IntN(scriptConns)
	r := s.conns[i]
	switch s.rnd.IntN(80) {
	case 0:
		r.bye()
		s.open(i)
		s.note(i, "close and open", "")
	case 1:
		s.conns[i] = s.e.attach(r.again())
		r.gone()
		s.note(i, "attach again", "")
	case 2:
		user := string(rune('a' + s.rnd.IntN(3)))
		s.note(i, "auth "+user, fmt.Sprint(int32(r.auth("digest", user+":pw"))))
	case 3:
		s.unknown(i)
	default:
		req := s.request()
		rep := r.do(req.op, req.rec)
		s.last = max(s.last, rep.zxid)
		s.note(i, req.text, fmt.Sprintf("%d zxid %d %s", int32(rep.code), s.zxid(rep.zxid), s.body(req, rep)))
	}
}

// unknown makes a request that the server does not know, which costs the connection, and attaches again.
func (s *script) unknown(i int) {
	r := s.conns[i]
	req := scripted{op: proto.Op(s.rnd.IntN(20) + 200), rec: none}
	// A check by itself is never answered before 3.8.5 and 3.9.3 (docs/protocol.md section 21).
	if s.checkIsUnknown() && s.rnd.IntN(2) == 0 {
		req = scripted{op: proto.OpCheck, rec: &proto.CheckVersionRequest{Path: s.path(), Version: s.version()}}
	}
	rep := r.do(req.op, req.rec)
	r.gone()
	s.conns[i] = s.e.attach(r.again())
	s.note(i, fmt.Sprintf("unknown %v %+q", req.op, s.short(fmt.Sprintf("%+q", req.rec))), fmt.Sprintf("%d zxid %d %x", int32(rep.code), rep.zxid, rep.body))
}

func (s *script) checkIsUnknown() bool {
	return s.e.tg.Version.since(NewVersion(3, 8, 5), NewVersion(3, 9, 3))
}

// zxid counts from the beginning; what is none stays as it is.
func (s *script) zxid(zxid int64) int64 {
	if zxid > 0 {
		return zxid - s.base
	}
	return zxid
}

// note writes a line, with the events that every session has had by now.
func (s *script) note(i int, what, answer string) {
	line := fmt.Sprintf("%d: %s -> %s", i, what, answer)
	for k, r := range s.conns {
		var events []string
		for k, ev := range r.events() {
			events = append(events, fmt.Sprintf("%v %s at %d", ev.Kind, s.short(ev.Path), s.zxid(r.zxids[k])))
		}
		r.zxids = nil
		if strings.HasPrefix(what, "close") {
			slices.Sort(events) // ephemerals go in no particular order
		}
		if len(events) > 0 {
			line += fmt.Sprintf(" | %d: %s", k, strings.Join(events, ", "))
		}
	}
	s.lines = append(s.lines, line)
}

// short takes the name of this run out of a text.
func (s *script) short(text string) string {
	return strings.NewReplacer(s.e.root, "~", s.e.root[1:], "~").Replace(text)
}

// body puts the record of an answer into words.
func (s *script) body(req scripted, rep reply) string {
	rec := req.answer()
	if rec == nil || rep.code != 0 {
		if len(rep.body) > 0 {
			return fmt.Sprintf("%x", rep.body)
		}
		return ""
	}
	s.e.Helper()
	s.conns[0].decode(rep, rec)
	switch rec := rec.(type) {
	case *proto.CreateResponse:
		return s.short(rec.Path)
	case *proto.Create2Response:
		return s.short(rec.Path) + s.stat(rec.Stat)
	case *proto.GetDataResponse:
		return fmt.Sprintf("%q null %v", rec.Data, rec.Data == nil) + s.stat(rec.Stat)
	case *proto.GetACLResponse:
		var list []string
		for _, a := range rec.ACL { // identities that scheme auth stood for are in no particular order
			list = append(list, fmt.Sprint(a))
		}
		return fmt.Sprint(s.list(list)) + s.stat(rec.Stat)
	case *proto.GetChildrenResponse:
		return fmt.Sprint(s.list(rec.Children))
	case *proto.GetChildren2Response:
		return fmt.Sprint(s.list(rec.Children)) + s.stat(rec.Stat)
	case *proto.GetEphemeralsResponse:
		return fmt.Sprint(s.list(rec.Ephemerals))
	case *proto.WhoAmIResponse:
		sortClients(rec.ClientInfo)
		return fmt.Sprint(rec.ClientInfo)
	case *proto.ExistsResponse:
		return s.stat(rec.Stat)
	case *multiBody:
		return s.parts(rec.results)
	}
	return s.short(fmt.Sprintf("%+v", rec))
}

func (s *script) list(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = s.short(name)
	}
	slices.Sort(out)
	return out
}

// stat puts a Stat into words that are the same for every run.
func (s *script) stat(st proto.Stat) string {
	return fmt.Sprintf(" {c%d m%d p%d v%d c%d a%d len %d kids %d owner %s touched %v}", s.zxid(st.Czxid), s.zxid(st.Mzxid), s.zxid(st.Pzxid),
		st.Version, st.Cversion, st.Aversion, st.DataLength, st.NumChildren, s.names[st.EphemeralOwner], st.Ctime > 0)
}

func (s *script) parts(results []proto.MultiResult) string {
	var out []string
	for _, p := range results {
		text := fmt.Sprintf("%v %d %s %q null %v %v", p.Op, int32(p.Err), s.short(p.Path), p.Data, p.Data == nil, s.list(p.Children))
		if p.HasStat {
			text += s.stat(p.Stat)
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// pick returns one of a list.
func pick[T any](s *script, list ...T) T { return list[s.rnd.IntN(len(list))] }
