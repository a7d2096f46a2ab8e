package proto

import (
	"strings"

	"github.com/lockkeeper/lockkeeper/jute"
)

// Reader is the decoder of the package below, for those that read replies and import no further down.
type Reader = jute.Reader

// NullString is a string that may be null, for those that fill such fields and import no further down.
type NullString = jute.NullString

// NewReader returns a Reader over b, which buffers alias.
func NewReader(b []byte) Reader { return jute.NewReader(b) }

// ConfigPath is where the ensemble keeps its configuration (docs/protocol.md section 14).
const ConfigPath = systemPath + "/config"

// systemPath is the root of the server's own tree.
const systemPath = "/zookeeper"

// The functions here append the requests of a client with a chroot: the same bytes as the records, with the chroot in front
// of the path but without a string for the two together. An empty chroot is none. They are for package client.
//
// The server's own tree is out of a chroot's reach: /zookeeper and what is below it are the same znodes for every client.
// A znode that is called zookeeper, directly below the chroot, therefore has no name in such a client.

// IsSystem reports whether path is /zookeeper or below it, which a chroot does not change. /zookeepers is not.
func IsSystem(path string) bool {
	rest, ok := strings.CutPrefix(path, systemPath)
	return ok && (rest == "" || rest[0] == '/')
}

// place returns the two parts of path as the server knows it; the root of a client with a chroot is the chroot itself
// (docs/protocol.md section 15). Everything that sends a path asks here.
func place(chroot, path string) (front, rest string) {
	switch {
	case chroot == "" || IsSystem(path):
		return "", path
	case path == "/":
		return chroot, ""
	}
	return chroot, path
}

// placeNew is place for the path of a create. With a sequential mode the server appends a number: to "/" behind the slash,
// not behind the chroot's name, and what begins as /zookeeper ends as another name.
func placeNew(chroot, path string, mode CreateMode) (front, rest string) {
	if mode.IsSequential() && (path == "/" || path == systemPath) {
		return chroot, path
	}
	return place(chroot, path)
}

func appendParts(dst []byte, front, rest string) []byte {
	dst = jute.AppendInt(dst, int32(len(front)+len(rest)))
	dst = append(dst, front...)
	return append(dst, rest...)
}

// AppendPath appends path behind the chroot.
func AppendPath(dst []byte, chroot, path string) []byte {
	front, rest := place(chroot, path)
	return appendParts(dst, front, rest)
}

// AppendWatched appends an ExistsRequest, GetDataRequest, GetChildrenRequest or GetChildren2Request.
func AppendWatched(dst []byte, chroot, path string, watch bool) []byte {
	return jute.AppendBool(AppendPath(dst, chroot, path), watch)
}

// AppendVersioned appends a DeleteRequest or CheckVersionRequest; with a WatcherType for the version, a CheckWatchesRequest or
// RemoveWatchesRequest.
func AppendVersioned(dst []byte, chroot, path string, version int32) []byte {
	return jute.AppendInt(AppendPath(dst, chroot, path), version)
}

// AppendSetData appends a SetDataRequest.
func AppendSetData(dst []byte, chroot, path string, data []byte, version int32) []byte {
	return jute.AppendInt(jute.AppendBuffer(AppendPath(dst, chroot, path), data), version)
}

// AppendSetACL appends a SetACLRequest.
func AppendSetACL(dst []byte, chroot, path string, acl []ACL, aversion int32) []byte {
	return jute.AppendInt(appendACLs(AppendPath(dst, chroot, path), acl), aversion)
}

// AppendCreate appends a CreateRequest. A mode with a TTL wants AppendCreateTTL.
func AppendCreate(dst []byte, chroot, path string, data []byte, acl []ACL, mode CreateMode) []byte {
	front, rest := placeNew(chroot, path, mode)
	dst = jute.AppendBuffer(appendParts(dst, front, rest), data)
	return jute.AppendInt(appendACLs(dst, acl), int32(mode))
}

// AppendCreateTTL appends req with its path behind the chroot. It checks what CheckTTL checks, and then appends nothing: no
// caller can be wrong about that (docs/protocol.md section 21).
func AppendCreateTTL(dst []byte, chroot string, req *CreateTTLRequest) ([]byte, error) {
	mode := CreateMode(req.Flags)
	if err := CheckTTL(mode, req.TTL); err != nil {
		return dst, err
	}
	return jute.AppendLong(AppendCreate(dst, chroot, req.Path, req.Data, req.ACL, mode), req.TTL), nil
}

func appendACLs(dst []byte, acl []ACL) []byte {
	dst = jute.AppendCount(dst, len(acl))
	for i := range acl {
		dst = acl[i].AppendTo(dst)
	}
	return dst
}

// JoinChroot returns path behind the chroot.
func JoinChroot(chroot, path string) string {
	front, rest := place(chroot, path)
	return front + rest
}

// StripChroot takes the chroot off a path that a server sent, on the boundary of a component. What has no name below the
// chroot stays: /application is not below /app, nor is /zookeeper/config, and /app/zookeeper must not become the name of
// another znode. Through a chroot that is itself below /zookeeper, its znodes have two names; this is the shorter one.
func StripChroot(chroot, path string) string {
	if chroot == "" {
		return path
	}
	rest, ok := strings.CutPrefix(path, chroot)
	switch {
	case ok && rest == "":
		return "/"
	case ok && rest[0] == '/' && !IsSystem(rest):
		return rest
	}
	return path
}

// HasName reports whether a znode, whose path a server sent, has a name below the chroot: what is called zookeeper directly below
// it has none, nor what stands elsewhere, but for the server's own tree.
func HasName(chroot, path string) bool {
	if chroot == "" || IsSystem(path) {
		return true
	}
	rest, ok := strings.CutPrefix(path, chroot)
	return ok && (rest == "" || rest[0] == '/' && !IsSystem(rest))
}
