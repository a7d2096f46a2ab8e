package zktest

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

const (
	configPath = "/zookeeper/config"
	// configDataVersion is the version of /zookeeper/config in its Stat once there is a configuration, which counts by zxids.
	configDataVersion = -1
)

// SetEnsemble makes the server one of an ensemble whose members can be changed by clients: /zookeeper/config then describes
// it, and reconfig works (docs/protocol.md section 14). Each server is given as configurations have it:
//
//	err := srv.SetEnsemble("server.1=zk1:2888:3888:participant;2181", "server.2=zk2:2888:3888;2181", "server.3=zk3:2888:3888;2181")
//
// It is an election, so that a new epoch begins, and watches of /zookeeper/config fire. The error, a proto.Code, says that a
// description is wrong or that none is given; nothing changes then. Without SetEnsemble the server is one that stands alone:
// /zookeeper/config is empty and reconfig is answered with -123.
//
// A reconfig needs WRITE on /zookeeper/config, which only the super identity has (SuperDigest) unless SetACL gives it to
// others. Servers that join are taken to be up: use Fail for -13 and -14. The list is text to this package; it does not
// concern Member.
func (s *Server) SetEnsemble(servers ...string) error {
	q := make(quorum, len(servers))
	for _, text := range servers {
		id, m, code := parseEntry(text)
		if code != 0 {
			return code
		}
		q[id] = m
	}
	if q.voters() == 0 {
		return proto.ErrBadArguments
	}
	s.mu.Lock()
	defer s.releaseLocked(nil)
	s.tree.zxid = (s.tree.zxid>>32+1)<<32 - 1
	tx := s.beginLocked(time.Now())
	tx.configure(q)
	tx.commit()
	return nil
}

// configure makes q the configuration.
func (tx *txn) configure(q quorum) *node {
	n := tx.s.tree.nodes[configPath]
	tx.write(n, q.text(tx.zxid))
	n.version = configDataVersion
	tx.s.quorum, tx.s.configVersion = q, tx.zxid
	return n
}

// reconfig changes the ensemble, with the checks and their order of PrepRequestProcessor.pRequest2Txn.
func (q *request) reconfig() {
	s := q.s
	var rec proto.ReconfigRequest
	if rec.ReadFrom(q.r); q.r.Err() != nil {
		q.fail(s.tree.zxid, proto.ErrMarshalling)
		return
	}
	tx := s.beginLocked(q.now)
	next, code := s.reconfigured(&rec)
	if code == 0 && !q.c.may(s.tree.nodes[configPath].acl, proto.PermWrite) {
		code = proto.ErrNoAuth
	}
	if code != 0 {
		q.fail(tx.zxid, code)
		return
	}
	n := tx.configure(next)
	tx.commit()
	q.c.beginLocked(q.xid, tx.zxid)
	st := n.stat()
	q.c.out = st.AppendTo(jute.AppendBuffer(q.c.out, n.data))
	q.c.endLocked()
}

// leastVoters is how many members must vote, since a server of its own is no ensemble (standaloneEnabled).
const leastVoters = 2

// reconfigured returns the members that a request asks for.
func (s *Server) reconfigured(rec *proto.ReconfigRequest) (next quorum, code proto.Code) {
	switch {
	case s.quorum == nil:
		return nil, proto.ErrReconfigDisabled
	case rec.CurConfigID != anyVersion && rec.CurConfigID != s.configVersion:
		return nil, proto.ErrBadVersion
	case rec.NewMembers.Valid:
		next, code = newMembers(rec.NewMembers.String)
	default:
		next = maps.Clone(s.quorum)
		if code = next.leave(rec.LeavingServers.String); code == 0 {
			code = next.join(rec.JoiningServers.String)
		}
	}
	if code == 0 && next.voters() < leastVoters {
		code = proto.ErrBadArguments
	}
	return next, code
}

// newMembers reads a whole list, a line or an element for each member.
func newMembers(text string) (quorum, proto.Code) {
	q := make(quorum)
	for line := range strings.SplitSeq(strings.ReplaceAll(text, ",", "\n"), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || strings.HasPrefix(line, "version="):
		case !strings.HasPrefix(line, "server."):
			return nil, proto.ErrBadArguments // groups and weights too, which are not known here
		default:
			id, m, code := parseEntry(line)
			if code != 0 {
				return nil, code
			}
			q[id] = m
		}
	}
	return q, 0
}

// leave takes the members whose numbers are listed out; numbers that nobody has do no harm.
func (q quorum) leave(list string) proto.Code {
	for _, text := range listed(list) {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return proto.ErrMarshalling // an exception that nothing there expects
		}
		delete(q, id)
	}
	return 0
}

// join takes servers in, in place of those with the same numbers. They must say where clients connect.
func (q quorum) join(list string) proto.Code {
	for _, text := range listed(list) {
		id, m, code := parseEntry(text)
		switch {
		case code != 0:
			return code
		case m.clientPort == 0:
			return proto.ErrBadArguments
		}
		for other, o := range q {
			if other != id && m.clashes(o) {
				return proto.ErrBadArguments
			}
		}
		q[id] = m
	}
	return 0
}

// listed returns the elements of a list with commas.
func listed(list string) (out []string) {
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
