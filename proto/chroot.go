package proto

import (
	"strings"

	"github.com/lockkeeper/lockkeeper/jute"
)

// Reader is the decoder of the package below, for those that read replies and import no further down.
type Reader = jute.Reader

// NewReader returns a Reader over b, which buffers alias.
func NewReader(b []byte) Reader { return jute.NewReader(b) }

// The functions here append the requests of a client with a chroot: the same bytes as the records, with the chroot in front
// of the path but without a string for the two together. An empty chroot is none. They are for package client.

// AppendPath appends path behind the chroot; the root of such a client is the chroot itself (docs/protocol.md section 15).
func AppendPath(dst []byte, chroot, path string) []byte {
	if chroot != "" && path == "/" {
		path = ""
	}
	return appendBelow(dst, chroot, path)
}

func appendBelow(dst []byte, chroot, path string) []byte {
	dst = jute.AppendInt(dst, int32(len(chroot)+len(path)))
	dst = append(dst, chroot...)
	return append(dst, path...)
}

// AppendWatched appends an ExistsRequest, GetDataRequest, GetChildrenRequest or GetChildren2Request.
func AppendWatched(dst []byte, chroot, path string, watch bool) []byte {
	return jute.AppendBool(AppendPath(dst, chroot, path), watch)
}

// AppendVersioned appends a DeleteRequest or CheckVersionRequest.
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

// AppendCreate appends a CreateRequest; mode has no TTL. With a sequential mode "/" is no root: the number goes behind the
// slash, not behind the chroot's name.
func AppendCreate(dst []byte, chroot, path string, data []byte, acl []ACL, mode CreateMode) []byte {
	if mode.IsSequential() {
		dst = appendBelow(dst, chroot, path)
	} else {
		dst = AppendPath(dst, chroot, path)
	}
	return jute.AppendInt(appendACLs(jute.AppendBuffer(dst, data), acl), int32(mode))
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
	if chroot != "" && path == "/" {
		return chroot
	}
	return chroot + path
}

// StripChroot takes the chroot off a path that a server sent, on the boundary of a component. What does not begin with it
// stays: /application is not below /app.
func StripChroot(chroot, path string) string {
	if chroot == "" {
		return path
	}
	rest, ok := strings.CutPrefix(path, chroot)
	switch {
	case ok && rest == "":
		return "/"
	case ok && rest[0] == '/':
		return rest
	}
	return path
}
