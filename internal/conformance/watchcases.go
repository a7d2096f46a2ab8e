package conformance

import (
	"strings"

	"github.com/lockkeeper/lockkeeper/proto"
)

// watchCase is one line of the table in docs/protocol.md section 11. Paths are below a new tree: /a with the child /a/b, and
// /e without children.
type watchCase struct {
	kind   string // of the watch
	path   string
	change string // what is done
	target string // to what
	events []seen
}

// Shorthands for the table.
const (
	created  = proto.EventNodeCreated
	deleted  = proto.EventNodeDeleted
	changed  = proto.EventNodeDataChanged
	children = proto.EventNodeChildrenChanged
)

// watchCases is the table.
func watchCases() []watchCase {
	return []watchCase{
		{"data", "/a", "set", "/a", []seen{{changed, "/a"}}},
		{"data", "/a", "set twice", "/a", []seen{{changed, "/a"}}},
		{"data", "/a", "setACL", "/a", nil},
		{"data", "/a", "create", "/a/n", nil},
		{"data", "/a", "set", "/a/b", nil},
		{"data", "/a", "delete", "/a/b", nil},
		{"data", "/e", "delete", "/e", []seen{{deleted, "/e"}}},
		{"exists", "/a", "set", "/a", []seen{{changed, "/a"}}},
		{"exists", "/e", "delete", "/e", []seen{{deleted, "/e"}}},
		{"exists", "/a", "create", "/a/n", nil},
		{"exists", "/n", "create", "/n", []seen{{created, "/n"}}},
		{"exists", "/n", "create and delete", "/n", []seen{{created, "/n"}}},
		{"exists", "/n", "create", "/m", nil},
		{"child", "/a", "create", "/a/n", []seen{{children, "/a"}}},
		{"child", "/a", "create and delete", "/a/n", []seen{{children, "/a"}}},
		{"child", "/a", "delete", "/a/b", []seen{{children, "/a"}}},
		{"child", "/a", "set", "/a", nil},
		{"child", "/a", "set", "/a/b", nil},
		{"child", "/a", "setACL", "/a", nil},
		{"child", "/a", "create", "/a/b/n", nil},
		{"child", "/e", "delete", "/e", []seen{{deleted, "/e"}}},
		{"child2", "/a", "create", "/a/n", []seen{{children, "/a"}}},
		{"persistent", "/a", "set twice", "/a", []seen{{changed, "/a"}, {changed, "/a"}}},
		{"persistent", "/a", "create and delete", "/a/n", []seen{{children, "/a"}, {children, "/a"}}},
		{"persistent", "/a", "set", "/a/b", nil},
		{"persistent", "/a", "setACL", "/a", nil},
		{"persistent", "/n", "create and delete", "/n", []seen{{created, "/n"}, {deleted, "/n"}}},
		{"recursive", "/a", "set twice", "/a", []seen{{changed, "/a"}, {changed, "/a"}}},
		{"recursive", "/a", "create and delete", "/a/n", []seen{{created, "/a/n"}, {deleted, "/a/n"}}},
		{"recursive", "/a", "set", "/a/b", []seen{{changed, "/a/b"}}},
		{"recursive", "/a", "create", "/a/b/n", []seen{{created, "/a/b/n"}}},
		{"recursive", "/a", "create", "/ab", nil},
		{"recursive", "/a", "setACL", "/a/b", nil},
		{"recursive", "/n", "create and delete", "/n", []seen{{created, "/n"}, {deleted, "/n"}}},
		{"data and child", "/e", "delete", "/e", []seen{{deleted, "/e"}}},
		{"data and child", "/a", "create", "/a/n", []seen{{children, "/a"}}},
		{"data, parent's child", "/e", "delete", "/e", []seen{{deleted, "/e"}, {children, ""}}},
		{"exists, parent's child", "/n", "create", "/n", []seen{{created, "/n"}, {children, ""}}},
	}
}

// watch leaves watches of a kind, as they are called in the table.
func (r *raw) watch(kind, path string) {
	r.e.Helper()
	parent := path[:strings.LastIndexByte(path, '/')]
	switch kind {
	case "data":
		r.get(path, true)
	case "exists":
		r.exists(path, true)
	case "child":
		r.children(path, true)
	case "child2":
		r.ok(proto.OpGetChildren2, &proto.GetChildren2Request{Path: path, Watch: true}, &proto.GetChildren2Response{})
	case "persistent":
		r.addWatch(path, proto.AddWatchPersistent)
	case "recursive":
		r.addWatch(path, proto.AddWatchPersistentRecursive)
	case "data and child":
		r.get(path, true)
		r.children(path, true)
	case "data, parent's child":
		r.get(path, true)
		r.children(parent, true)
	case "exists, parent's child":
		r.exists(path, true)
		r.children(parent, true)
	default:
		r.e.Fatalf("no kind of watch: %s", kind)
	}
}

// change does what the table calls change.
func (r *raw) change(change, path string) {
	r.e.Helper()
	switch change {
	case "set":
		r.set(path, "new")
	case "set twice":
		r.set(path, "new")
		r.set(path, "newer")
	case "setACL":
		r.setACL(path, world())
	case "create":
		r.create(path, "", proto.ModePersistent)
	case "create and delete":
		r.create(path, "", proto.ModePersistent)
		r.delete(path)
	case "delete":
		r.delete(path)
	default:
		r.e.Fatalf("no such change: %s", change)
	}
}
