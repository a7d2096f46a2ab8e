package conformance

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/lockkeeper/lockkeeper/proto"
)

func orderEntries() []entry {
	return []entry{
		{"G1 G2 G4", "requests sent without waiting are executed and answered in order, zxids never fall", nil, pipelinedScript},
		{"G3", "an event is on the wire before the reply that shows its change, also to another reader", nil, eventBeforeReply},
		{"G5", "writes of several connections are seen in one order by all", nil, oneOrder},
		{"G9", "a multi is all or nothing to every reader, and has one zxid", nil, atomicMulti},
		{"G11 P17", "a session's ephemerals go in one transaction, and before the reply to its close", nil, ephemeralsGo},
		{"P5", "pings are answered with xid -2, whatever they had; other xids are echoed, twice if sent twice", nil, xidEcho},
	}
}

// model is what a script should find: znodes with data and version.
type model map[string]struct {
	data    string
	version int32
}

// step makes one random request on one of a few znodes, applies it to the model, and returns the code to expect.
func (m model) step(e *env, r *raw, rnd *rand.Rand, n int) (want proto.Code, version int32, data string) {
	path := e.path("/" + strconv.Itoa(rnd.IntN(4)))
	node, there := m[path]
	missing := proto.Code(0)
	if !there {
		missing = proto.ErrNoNode
	}
	value := strconv.Itoa(n)
	switch rnd.IntN(5) {
	case 0:
		r.send(proto.OpCreate2, newNode(path, value, proto.ModePersistent))
		if there {
			return proto.ErrNodeExists, 0, ""
		}
		node.data, node.version = value, 0
		m[path] = node
		return 0, 0, value
	case 1:
		r.send(proto.OpDelete, &proto.DeleteRequest{Path: path, Version: -1})
		delete(m, path)
		return missing, -1, ""
	case 2:
		at := int32(rnd.IntN(3))
		r.send(proto.OpSetData, &proto.SetDataRequest{Path: path, Data: []byte(value), Version: at})
		if there && at != node.version {
			return proto.ErrBadVersion, 0, ""
		}
		if there {
			node.data, node.version = value, node.version+1
			m[path] = node
		}
	case 3:
		r.send(proto.OpExists, &proto.ExistsRequest{Path: path})
	default:
		r.send(proto.OpGetData, &proto.GetDataRequest{Path: path})
		return missing, node.version, node.data
	}
	return missing, node.version, ""
}

// pipelinedScript sends random reads and writes without waiting for any, and compares all answers with a model.
func pipelinedScript(e *env) {
	rnd := rand.New(rand.NewPCG(2, 2))
	m := model{}
	r := e.raw()
	last := int64(0)
	n := 0
	for range 20 {
		type expected struct {
			code    proto.Code
			version int32
			data    string
		}
		first := r.xid + 1
		var want []expected
		for range 100 {
			n++
			code, version, data := m.step(e, r, rnd, n)
			want = append(want, expected{code, version, data})
		}
		for i, w := range want {
			rep := r.recv()
			if rep.xid != first+int32(i) || rep.code != w.code {
				e.Fatalf("request %d: answer %d with %v, want %v", first+int32(i), rep.xid, rep.code, w.code)
			}
			if rep.zxid < last {
				e.Fatalf("request %d: zxid %#x after %#x", rep.xid, rep.zxid, last)
			}
			last = rep.zxid
			if w.code == 0 && w.version >= 0 {
				checkStat(e, rep, w.version, w.data)
			}
		}
	}
}

// checkStat checks the version at the end of a body, and the data if there should be any.
func checkStat(e *env, rep reply, version int32, data string) {
	e.Helper()
	st := statOf(rep.body)
	if st.Version != version || data != "" && int(st.DataLength) != len(data) {
		e.Fatalf("request %d: version %d of %d bytes, want %d of %q", rep.xid, st.Version, st.DataLength, version, data)
	}
}

func eventBeforeReply(e *env) {
	writer, reader := e.raw(), e.raw()
	path := writer.create(e.path("/a"), "0", proto.ModePersistent)
	for i := range 50 {
		reader.get(path, true)
		value := strconv.Itoa(i)
		writer.set(path, value)
		// The reader asks until it sees the change: by then the event must have come.
		for data := ""; data != value; {
			if data, _ = reader.get(path, false); data == value && len(reader.seen) != 1 {
				e.Fatalf("change %d was visible with %d events", i, len(reader.seen))
			}
		}
		reader.seen = nil
		writer.get(path, true)
		writer.set(path, "own "+value)
		equal(e, "events in front of the reply to the own change", writer.seen, []seen{{proto.EventNodeDataChanged, path}})
		writer.seen = nil
	}
}

func oneOrder(e *env) {
	writers := []*raw{e.raw(), e.raw(), e.raw()}
	path := writers[0].create(e.path("/a"), "", proto.ModePersistent)
	const each = 50
	for i := range each {
		for w, r := range writers {
			r.send(proto.OpSetData, &proto.SetDataRequest{Path: path, Data: fmt.Appendf(nil, "%d %d", w, i), Version: -1})
		}
	}
	versions := map[int32]int64{} // and the zxid that made it
	for _, r := range writers {
		last := int32(0)
		for range each {
			rep := r.recv()
			st := statOf(rep.body)
			if st.Version <= last || st.Mzxid != rep.zxid {
				e.Fatalf("version %d with zxid %#x after version %d: %v", st.Version, rep.zxid, last, rep.code)
			}
			last = st.Version
			versions[st.Version] = rep.zxid
		}
	}
	for v := int32(1); v <= each*int32(len(writers)); v++ {
		if versions[v] == 0 || v > 1 && versions[v] <= versions[v-1] {
			e.Fatalf("version %d has zxid %#x, the one before %#x", v, versions[v], versions[v-1])
		}
	}
}

func atomicMulti(e *env) {
	writer, reader := e.raw(), e.raw()
	a, b := writer.create(e.path("/a"), "", proto.ModePersistent), writer.create(e.path("/b"), "", proto.ModePersistent)
	both := []proto.MultiOp{{Op: proto.OpGetData, Path: a}, {Op: proto.OpGetData, Path: b}}
	const rounds = 100
	for i := range rounds {
		v := []byte(strconv.Itoa(i))
		writer.send(proto.OpMulti, bare(proto.AppendMulti(nil, []proto.MultiOp{
			{Op: proto.OpSetData, Path: a, Data: v, Version: -1}, {Op: proto.OpSetData, Path: b, Data: v, Version: -1},
		})))
		got := reader.parts(proto.OpMultiRead, both)
		if string(got[0].Data) != string(got[1].Data) || got[0].Stat.Version != got[1].Stat.Version {
			e.Fatalf("halfway: %q and %q", got[0].Data, got[1].Data)
		}
	}
	for range rounds {
		rep := writer.recv()
		var body multiBody
		writer.decode(rep, &body)
		if body.results[0].Stat.Mzxid != rep.zxid || body.results[1].Stat.Mzxid != rep.zxid {
			e.Fatalf("zxids %#x and %#x of the multi %#x", body.results[0].Stat.Mzxid, body.results[1].Stat.Mzxid, rep.zxid)
		}
	}
}

func ephemeralsGo(e *env) {
	owner, other := e.raw(), e.raw()
	for _, name := range []string{"/a", "/b", "/c"} {
		owner.create(e.path(name), "", proto.ModeEphemeral)
	}
	before := other.stat(e.root)
	const late = 1000
	frames := requestFrame(late-1, proto.OpCloseSession, none)
	owner.write(append(frames, requestFrame(late, proto.OpCreate, newNode(e.path("/late"), "", proto.ModePersistent))...))
	rep := owner.recv()
	equal(e, "reply to the close", rep.code, 0)
	// What comes behind the close is dropped, or refused if the server is quick: while the session is being closed, or as one
	// that it does not know if it is very quick with the close and slow with what follows.
	if b, err := owner.fc.ReadFrame(); err == nil {
		refused := header(b)
		equal(e, "reply behind the close", refused.xid, late)
		if refused.code != proto.ErrSessionExpired && refused.code != proto.ErrUnknownSession {
			e.Errorf("reply behind the close: %v", refused.code)
		}
		owner.gone()
	} else if !isClosed(err) {
		e.Errorf("behind the close: %v", err)
	}
	after := other.stat(e.root)
	equal(e, "children: neither ephemerals nor what was sent too late", after.NumChildren, 0)
	equal(e, "cversion", after.Cversion, before.Cversion+3)
	equal(e, "pzxid is that of the close", after.Pzxid, rep.zxid)
}

func xidEcho(e *env) {
	r := e.raw()
	r.write(requestFrame(77, proto.OpPing, bare("ignored")))
	equal(e, "xid of the ping's reply", r.recv().xid, proto.XidPing)
	for _, xid := range []int32{5, 5, 0, -3, -8, 1 << 30} {
		r.write(requestFrame(xid, proto.OpExists, &proto.ExistsRequest{Path: e.root}))
	}
	for _, xid := range []int32{5, 5, 0, -3, -8, 1 << 30} {
		equal(e, "xid", r.recv().xid, xid)
	}
	r.write(requestFrame(123, proto.OpAuth, &proto.AuthPacket{Scheme: "digest", Auth: []byte("a:b")}))
	equal(e, "xid of the auth reply", r.recv().xid, 123)
	r.write(requestFrame(-8, proto.OpSetWatches, &proto.SetWatches{}))
	equal(e, "xid of the setWatches reply", r.recv().xid, -8)
}

func zxidUse(e *env) {
	r := e.raw()
	start := r.do(proto.OpExists, &proto.ExistsRequest{Path: e.root}).zxid
	for name, tc := range map[string]struct {
		op   proto.Op
		rec  encoder
		uses int64
	}{
		"sync":            {proto.OpSync, &proto.SyncRequest{Path: e.root}, 0},
		"set":             {proto.OpSetData, &proto.SetDataRequest{Path: e.root, Version: -1}, 1},
		"failed set":      {proto.OpSetData, &proto.SetDataRequest{Path: e.root, Version: 99}, 1},
		"failed create":   {proto.OpCreate, newNode(e.root, "", proto.ModePersistent), 1},
		"failed delete":   {proto.OpDelete, &proto.DeleteRequest{Path: e.path("/no"), Version: -1}, 1},
		"bad path":        {proto.OpCreate, newNode(e.path("//"), "", proto.ModePersistent), 1},
		"broken read":     {proto.OpGetData, none, 0},
		"empty multi":     {proto.OpMulti, bare(proto.AppendMulti(nil, nil)), 1},
		"broken multi":    {proto.OpMulti, none, 1},
		"missing read":    {proto.OpGetData, &proto.GetDataRequest{Path: e.path("/no")}, 0},
		"empty multiRead": {proto.OpMultiRead, bare(proto.AppendMulti(nil, nil)), 0},
	} {
		rep := r.do(tc.op, tc.rec)
		if got := rep.zxid - start; got != tc.uses {
			e.Errorf("%s: zxid rose by %d, want %d", name, got, tc.uses)
		}
		start = rep.zxid
	}
}
