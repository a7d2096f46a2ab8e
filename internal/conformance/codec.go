package conformance

import (
	"encoding/binary"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

func codecEntries() []entry {
	return []entry{
		{"C3 F09", "null data and empty data are kept apart", nil, nullAndEmpty},
		{"C10", "bytes behind a record are ignored, by the server and by the client", nil, trailingBytes},
		{"C15 F11", "answers that arrive byte by byte are the same", nil, byteByByte},
		{"P2", "null strings, absurd lengths inside a frame: -5, and the connection lives", nil, brokenRecords},
		{"P2 writes", "writes that cannot be read: -5, and the connection lives", []Ability{Unreadable, Alone}, brokenWrites},
		{"P2 lists", "null and negative access lists, and null parts of them", nil, brokenLists},
	}
}

func nullAndEmpty(e *env) {
	c, _ := e.client()
	for name, data := range map[string][]byte{"/null": nil, "/empty": {}, "/full": {0}} {
		_, _, err := c.Create(e.ctx, name, data, client.ModePersistent, nil)
		e.must(err)
		got, st, err := c.Get(e.ctx, name)
		e.must(err)
		if (got == nil) != (data == nil) || string(got) != string(data) || int(st.DataLength) != len(data) {
			e.Errorf("%s: read %v of length %d, wrote %v", name, got, st.DataLength, data)
		}
	}
	_, err := c.Set(e.ctx, "/full", nil, client.AnyVersion)
	e.must(err)
	got, _, err := c.Get(e.ctx, "/full")
	e.must(err)
	if got != nil {
		e.Errorf("set to null, read %v", got)
	}
	r := e.raw()
	for name, length := range map[string]int32{"/null": -1, "/empty": 0} {
		rep := r.do(proto.OpGetData, &proto.GetDataRequest{Path: e.path(name)})
		if n := int32(binary.BigEndian.Uint32(rep.body)); n != length {
			e.Errorf("%s: length on the wire %d, want %d", name, n, length)
		}
	}
}

func trailingBytes(e *env) {
	r := e.raw()
	long := bare((&proto.GetDataRequest{Path: e.root}).AppendTo(nil)) + "more"
	r.ok(proto.OpGetData, long, &proto.GetDataResponse{})
	r.ok(proto.OpSync, bare(jute.AppendString(nil, e.root))+"more", &proto.SyncResponse{})

	c, tp := e.client()
	tp.rewrite(replied(proto.OpGetData), func(b []byte) []byte {
		b = append(b, "more"...)
		binary.BigEndian.PutUint32(b, uint32(len(b)-4))
		return b
	})
	_, err := c.Set(e.ctx, "/", []byte("data"), client.AnyVersion)
	e.must(err)
	got, st, err := c.Get(e.ctx, "/")
	e.must(err)
	equal(e, "data", string(got), "data")
	equal(e, "version", st.Version, 1)
}

func byteByByte(e *env) {
	tp := e.tap()
	tp.trickle = true
	c := e.connect(tp)
	path, st, err := c.Create(e.ctx, "/a", []byte("data"), client.ModePersistent, nil)
	e.must(err)
	equal(e, "path", path, "/a")
	got, same, err := c.Get(e.ctx, "/a")
	e.must(err)
	equal(e, "data", string(got), "data")
	equal(e, "stat", same, st)
	names, _, err := c.Children(e.ctx, "/")
	e.must(err)
	equal(e, "children", names, []string{"a"})
}

// Parts of records by hand.
func number(n int32) string { return string(jute.AppendInt(nil, n)) }
func text(s string) string  { return string(jute.AppendString(nil, s)) }

const null = "\xff\xff\xff\xff"

func brokenRecords(e *env) {
	r := e.raw()
	path := text(e.path("/x"))
	for _, tc := range []struct {
		name string
		op   proto.Op
		body string
	}{
		{"create of a null path", proto.OpCreate, null + null + number(0) + number(0)},
		{"getData of a null path", proto.OpGetData, null + "\x00"},
		{"exists of a null path", proto.OpExists, null + "\x00"},
		{"getChildren without a flag", proto.OpGetChildren, path},
		{"length beyond the frame", proto.OpGetData, number(1000) + "/x"},
		{"length below -1", proto.OpGetData, number(-2) + "\x00"},
		{"empty setWatches", proto.OpSetWatches, ""},
		{"empty addWatch", proto.OpAddWatch, ""},
		{"multi without an end", proto.OpMulti, ""},
	} {
		if code := r.code(tc.op, bare(tc.body)); code != proto.ErrMarshalling {
			e.Errorf("%s: %v, want %v", tc.name, code, proto.ErrMarshalling)
		}
	}
	r.ok(proto.OpCreate, newNode(e.path("/x"), "", proto.ModePersistent), &proto.CreateResponse{})
}

// brokenWrites are refused before they get a zxid since 3.9.0 (ZOOKEEPER-4575), and after it before.
func brokenWrites(e *env) {
	r := e.raw()
	uses := int64(1)
	if e.tg.Version >= NewVersion(3, 9, 0) {
		uses = 0
	}
	for name, tc := range map[string]struct {
		op   proto.Op
		body string
	}{
		"setData cut short": {proto.OpSetData, text(e.root) + number(4) + "ab"},
		"empty setData":     {proto.OpSetData, ""},
		"empty create":      {proto.OpCreate2, ""},
		"empty delete":      {proto.OpDelete, ""},
		"empty setACL":      {proto.OpSetACL, ""},
	} {
		start := r.do(proto.OpExists, &proto.ExistsRequest{Path: e.root}).zxid
		rep := r.do(tc.op, bare(tc.body))
		if rep.code != proto.ErrMarshalling || len(rep.body) != 0 || rep.zxid != start+uses {
			e.Errorf("%s: %v with a body of %d bytes, zxid %#x after %#x, want it to rise by %d", name, rep.code, len(rep.body), rep.zxid, start, uses)
		}
	}
	r.ok(proto.OpCreate, newNode(e.path("/x"), "", proto.ModePersistent), &proto.CreateResponse{})
}

func brokenLists(e *env) {
	r := e.raw()
	path := text(e.path("/x"))
	for name, list := range map[string]string{"null": null, "empty": number(0), "negative": number(-2)} {
		body := path + null + list + number(0)
		if code := r.code(proto.OpCreate, bare(body)); code != proto.ErrInvalidACL {
			e.Errorf("create with a list that is %s: %v, want %v", name, code, proto.ErrInvalidACL)
		}
	}
	for scheme, want := range map[string]proto.Code{
		"world": proto.ErrMarshalling, "digest": proto.ErrMarshalling, "ip": proto.ErrMarshalling,
		"auth": proto.ErrInvalidACL, "nosuch": proto.ErrInvalidACL, "": proto.ErrInvalidACL,
	} {
		nullID := number(1) + number(31) + text(scheme) + null
		equal(e, "create with a null id of scheme "+scheme, r.code(proto.OpCreate, bare(path+null+nullID+number(0))), want)
	}
	nullScheme := number(1) + number(31) + null + text("x")
	equal(e, "create with a null scheme", r.code(proto.OpCreate, bare(path+null+nullScheme+number(0))), proto.ErrInvalidACL)
	r.ok(proto.OpCreate, newNode(e.path("/x"), "", proto.ModePersistent), &proto.CreateResponse{})
}
