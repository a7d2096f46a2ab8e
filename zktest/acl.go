package zktest

import (
	"crypto/sha1"
	"encoding/base64"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// The schemes that a server without configuration knows (docs/protocol.md section 13), and the id of scheme world.
const (
	schemeWorld  = "world"
	schemeAuth   = "auth"
	schemeDigest = "digest"
	schemeIP     = "ip"
	schemeSuper  = "super"
	idAnyone     = "anyone"
)

// openACLBytes is the encoding of the list that nearly every request carries: world, anyone, all.
const openACLBytes = "\x00\x00\x00\x01\x00\x00\x00\x1f\x00\x00\x00\x05world\x00\x00\x00\x06anyone"

// aclList is a list as a request holds it. nulls are the indexes of entries whose id is null.
type aclList struct {
	entries []proto.ACL
	null    bool // the list itself
	nulls   []int
}

// readACLLocked reads a list.
func (s *Server) readACLLocked(r *jute.Reader) aclList {
	if rest := r.Rest(); len(rest) >= len(openACLBytes) && string(rest[:len(openACLBytes)]) == openACLBytes {
		r.Skip(len(openACLBytes))
		return aclList{entries: s.openACL}
	}
	count, isNull := readCount(r, 12)
	acl := aclList{null: isNull}
	for i := range count {
		a := proto.ACL{Perms: r.Int(), ID: proto.ID{Scheme: r.String()}}
		id := r.NullableString()
		a.ID.ID = id.String
		acl.entries = append(acl.entries, a)
		if !id.Valid {
			acl.nulls = append(acl.nulls, i)
		}
	}
	return acl
}

// fixACL checks a list and resolves scheme auth to the identities of c (PrepRequestProcessor.fixupACL). The operator, for
// whom c is nil, has none and may leave the list out. A null id of a scheme that looks at it is an exception in the server.
func (c *connection) fixACL(acl aclList) ([]proto.ACL, proto.Code) {
	if c == nil || len(acl.entries) > 0 && &acl.entries[0] == &c.s.openACL[0] {
		return acl.entries, 0
	}
	var out []proto.ACL
	for i, a := range acl.entries {
		switch {
		case slices.Contains(acl.nulls, i) && looksAtID(a.ID.Scheme):
			return nil, proto.ErrMarshalling
		case a.ID.Scheme == schemeAuth:
			found := false
			for _, id := range c.ids {
				if id.Scheme != schemeIP {
					found = true
					out = appendNew(out, proto.ACL{Perms: a.Perms, ID: id})
				}
			}
			if !found {
				return nil, proto.ErrInvalidACL
			}
		case validID(a.ID), a.ID.Scheme == schemeSASL && c.s.cfg.saslUsers != nil && validSASL(a.ID.ID):
			out = appendNew(out, a)
		default:
			return nil, proto.ErrInvalidACL
		}
	}
	if len(out) == 0 {
		return nil, proto.ErrInvalidACL
	}
	return out, 0
}

// appendNew appends an entry unless the list has it.
func appendNew(acl []proto.ACL, a proto.ACL) []proto.ACL {
	if slices.Contains(acl, a) {
		return acl
	}
	return append(acl, a)
}

// looksAtID reports whether a scheme examines the id of an entry.
func looksAtID(scheme string) bool {
	return scheme == schemeWorld || scheme == schemeDigest || scheme == schemeIP
}

func validID(id proto.ID) bool {
	switch id.Scheme {
	case schemeWorld:
		return id.ID == idAnyone
	case schemeDigest:
		_, digest, ok := strings.Cut(id.ID, ":")
		return ok && digest != "" && !strings.Contains(digest, ":")
	case schemeIP:
		_, ok := prefixOf(id.ID)
		return ok
	}
	return false
}

// prefixOf reads an address or address/bits; IPv4 only, as before 3.9.4.
func prefixOf(id string) (netip.Prefix, bool) {
	text, size, _ := strings.Cut(id, "/")
	bits := 32
	if size != "" {
		n, err := strconv.Atoi(size)
		if err != nil {
			return netip.Prefix{}, false
		}
		bits = n
	}
	addr, err := netip.ParseAddr(text)
	if err != nil || !addr.Is4() || bits < 0 || bits > 32 {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(addr, bits), true
}

// may reports whether the list allows c one of perms. No list at all allows everything, and the operator, for whom c is
// nil, may do anything.
func (c *connection) may(acl []proto.ACL, perms int32) bool {
	if c == nil || len(acl) == 0 || &acl[0] == &c.s.openACL[0] {
		return true
	}
	if slices.ContainsFunc(c.ids, func(id proto.ID) bool { return id.Scheme == schemeSuper }) {
		return true
	}
	for i := range acl {
		if acl[i].Perms&perms != 0 && c.is(acl[i].ID) {
			return true
		}
	}
	return false
}

// is reports whether c has an identity that an ACL entry means.
func (c *connection) is(id proto.ID) bool {
	switch id.Scheme {
	case schemeWorld:
		return true
	case schemeIP:
		prefix, ok := prefixOf(id.ID)
		for _, own := range c.ids {
			if own.Scheme != schemeIP || !ok {
				continue
			}
			if addr, err := netip.ParseAddr(own.ID); err == nil && prefix.Contains(addr) {
				return true
			}
		}
		return false
	}
	return slices.Contains(c.ids, id)
}

// appendACL appends a list; without full the digests are hidden, as getACL does for those without ADMIN.
func appendACL(b []byte, acl []proto.ACL, full bool) []byte {
	if len(acl) == 0 {
		acl = proto.WorldACL(proto.PermAll) // what a znode without a list shows
	}
	b = jute.AppendCount(b, len(acl))
	for _, a := range acl {
		if !full && a.ID.Scheme == schemeDigest {
			a.ID.ID = userName(a.ID) + ":x"
		}
		b = a.AppendTo(b)
	}
	return b
}

// userName returns the part of an id that is no secret.
func userName(id proto.ID) string {
	if id.Scheme != schemeDigest {
		return id.ID
	}
	user, _, _ := strings.Cut(id.ID, ":")
	return user
}

// digestID returns the identity of "user:password" in scheme digest; a text without a colon has one too.
func digestID(userPassword string) string {
	sum := sha1.Sum([]byte(userPassword))
	user, _, _ := strings.Cut(userPassword, ":")
	return user + ":" + base64.StdEncoding.EncodeToString(sum[:])
}

// networkLocked serves auth and sasl, which the network thread of a server answers at once: the reply overtakes those of
// requests that wait.
func (c *connection) networkLocked(xid int32, op proto.Op, r *jute.Reader) {
	if op == proto.OpSASL {
		c.saslLocked(xid, r)
		return
	}
	var p proto.AuthPacket
	p.ReadFrom(r)
	switch {
	case r.Err() != nil:
		c.s.closeLocked(c)
		return
	case p.Scheme == schemeDigest && p.Auth != nil:
		id := digestID(string(p.Auth))
		c.identify(proto.ID{Scheme: schemeDigest, ID: id})
		if id == c.s.cfg.superID {
			c.identify(proto.ID{Scheme: schemeSuper})
		}
	case p.Scheme == schemeIP:
	default:
		c.replyLocked(xid, 0, proto.ErrAuthFailed)
		c.s.closeLocked(c)
		return
	}
	c.replyLocked(xid, 0, 0)
}

// identify adds an identity to the connection.
func (c *connection) identify(id proto.ID) {
	if !slices.Contains(c.ids, id) {
		c.ids = append(c.ids, id)
	}
}
