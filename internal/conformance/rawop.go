package conformance

import (
	"slices"
	"strings"

	"github.com/lockkeeper/lockkeeper/proto"
)

// world is the list that lets everybody do everything.
func world() []proto.ACL { return proto.WorldACL(proto.PermAll) }

// newNode returns the record that creates a znode open to everybody.
func newNode(path, data string, mode proto.CreateMode) *proto.CreateRequest {
	return &proto.CreateRequest{Path: path, Data: []byte(data), ACL: world(), Flags: int32(mode)}
}

// create makes a znode and returns its path.
func (r *raw) create(path, data string, mode proto.CreateMode) string {
	r.e.Helper()
	var rep proto.Create2Response
	r.ok(mode.Op(), newNode(path, data, mode), &rep)
	return rep.Path
}

// createCode tries to make a persistent znode and returns the code.
func (r *raw) createCode(path string) proto.Code {
	r.e.Helper()
	return r.code(proto.OpCreate, newNode(path, "", proto.ModePersistent))
}

func (r *raw) set(path, data string) proto.Stat {
	r.e.Helper()
	var rep proto.SetDataResponse
	r.ok(proto.OpSetData, &proto.SetDataRequest{Path: path, Data: []byte(data), Version: -1}, &rep)
	return rep.Stat
}

func (r *raw) delete(path string) {
	r.e.Helper()
	r.ok(proto.OpDelete, &proto.DeleteRequest{Path: path, Version: -1}, nil)
}

func (r *raw) get(path string, watch bool) (string, proto.Stat) {
	r.e.Helper()
	var rep proto.GetDataResponse
	r.ok(proto.OpGetData, &proto.GetDataRequest{Path: path, Watch: watch}, &rep)
	return string(rep.Data), rep.Stat
}

func (r *raw) exists(path string, watch bool) proto.Code {
	r.e.Helper()
	rep := r.do(proto.OpExists, &proto.ExistsRequest{Path: path, Watch: watch})
	return rep.code
}

// stat returns the Stat of a znode that exists.
func (r *raw) stat(path string) proto.Stat {
	r.e.Helper()
	var rep proto.ExistsResponse
	r.ok(proto.OpExists, &proto.ExistsRequest{Path: path}, &rep)
	return rep.Stat
}

// children returns the names, sorted.
func (r *raw) children(path string, watch bool) []string {
	r.e.Helper()
	var rep proto.GetChildrenResponse
	r.ok(proto.OpGetChildren, &proto.GetChildrenRequest{Path: path, Watch: watch}, &rep)
	slices.Sort(rep.Children)
	return rep.Children
}

func (r *raw) addWatch(path string, mode proto.AddWatchMode) {
	r.e.Helper()
	var rep proto.ErrorResponse
	r.ok(proto.OpAddWatch, &proto.AddWatchRequest{Path: path, Mode: int32(mode)}, &rep)
	equal(r.e, "body of addWatch's reply", rep.Err, 0)
}

func (r *raw) setACL(path string, acl []proto.ACL) {
	r.e.Helper()
	r.ok(proto.OpSetACL, &proto.SetACLRequest{Path: path, ACL: acl, Version: -1}, &proto.SetACLResponse{})
}

func (r *raw) auth(scheme, credential string) proto.Code {
	r.e.Helper()
	r.write(requestFrame(proto.XidAuth, proto.OpAuth, &proto.AuthPacket{Scheme: scheme, Auth: []byte(credential)}))
	rep := r.recv()
	equal(r.e, "xid of the auth reply", rep.xid, proto.XidAuth)
	equal(r.e, "zxid of the auth reply", rep.zxid, 0)
	return rep.code
}

// multi does a multi whose header must show no error, and returns its entries.
func (r *raw) multi(ops ...proto.MultiOp) []proto.MultiResult {
	r.e.Helper()
	return r.parts(proto.OpMulti, ops)
}

func (r *raw) parts(op proto.Op, ops []proto.MultiOp) []proto.MultiResult {
	r.e.Helper()
	rep := r.do(op, bare(proto.AppendMulti(nil, ops)))
	if rep.code != 0 {
		r.e.Fatalf("%v: %v", op, rep.code)
	}
	var body multiBody
	r.decode(rep, &body)
	return body.results
}

// removeAll deletes a tree as far as it can; an error is nobody's business here, since the next deletion tells the same.
func (r *raw) removeAll(path string) {
	var paths []string
	for todo := []string{path}; len(todo) > 0; todo = todo[1:] {
		dir := todo[0]
		paths = append(paths, dir)
		rep := r.do(proto.OpGetChildren, &proto.GetChildrenRequest{Path: dir})
		if rep.code != 0 {
			continue
		}
		var list proto.GetChildrenResponse
		r.decode(rep, &list)
		for _, name := range list.Children {
			todo = append(todo, strings.TrimSuffix(dir, "/")+"/"+name)
		}
	}
	slices.Reverse(paths)
	for part := range slices.Chunk(paths, 500) { // so many at once
		for _, p := range part {
			r.send(proto.OpDelete, &proto.DeleteRequest{Path: p, Version: -1})
		}
		for range part {
			r.recv()
		}
	}
}
