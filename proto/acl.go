package proto

import (
	"crypto/sha1"
	"encoding/base64"
)

// What an ACL entry permits (docs/protocol.md section 13.2). They add up in ACL.Perms.
const (
	PermRead   = 1 << 0 // data, children, existence
	PermWrite  = 1 << 1 // data
	PermCreate = 1 << 2 // children
	PermDelete = 1 << 3 // children: deleting a znode takes it on the parent
	PermAdmin  = 1 << 4 // the access list
	PermAll    = PermRead | PermWrite | PermCreate | PermDelete | PermAdmin
)

// WorldACL returns a new list that gives perms to everybody.
func WorldACL(perms int32) []ACL {
	return []ACL{{Perms: perms, ID: ID{Scheme: "world", ID: "anyone"}}}
}

// CreatorACL returns a new list that gives perms to the identities of the connection that sends it. Servers answer
// ErrInvalidACL when it has none.
func CreatorACL(perms int32) []ACL {
	return []ACL{{Perms: perms, ID: ID{Scheme: "auth"}}}
}

// DigestID returns the name of a user in scheme digest: the user, a colon, and the SHA-1 of both in base64. It fits servers
// with the default algorithm; CreatorACL fits all (docs/protocol.md section 21, number 35). SHA-1 is not a choice of ours
// and protects nothing here that the password in clear, sent to the server, would not give away.
func DigestID(user, password string) string {
	sum := sha1.Sum([]byte(user + ":" + password))
	return user + ":" + base64.StdEncoding.EncodeToString(sum[:])
}
