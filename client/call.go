package client

import (
	"github.com/lockkeeper/lockkeeper/proto"
)

// ExistsCall is the handle of an Exists in a Group.
type ExistsCall struct{ c call }

// Stat returns the znode's Stat and whether it exists. That it does not is no error.
func (h ExistsCall) Stat() (Stat, bool, error) {
	st, err := h.c.stat()
	if err != nil && h.c.missing() {
		return Stat{}, false, nil
	}
	return st, err == nil, err
}

// GetCall is the handle of a Get in a Group.
type GetCall struct{ c call }

// Data returns the znode's data and Stat. The data is the caller's: it is appended to buf[:0] of the buffer given to Get. With
// a nil buffer it is new memory, and nil if the znode's data is null. After an error it is buf[:0].
func (h GetCall) Data() ([]byte, Stat, error) {
	gc, r, err := h.c.reply()
	if gc == nil {
		return nil, Stat{}, err
	}
	if err != nil {
		return gc.buf[:0], Stat{}, err
	}
	data := r.Buffer()
	var st Stat
	st.ReadFrom(&r)
	if err := r.Err(); err != nil {
		return gc.buf[:0], Stat{}, gc.malformed(err)
	}
	switch {
	case gc.buf != nil:
		return append(gc.buf[:0], data...), st, nil
	case data == nil:
		return nil, st, nil
	}
	fresh := make([]byte, len(data))
	copy(fresh, data)
	return fresh, st, nil
}

// Stat returns the znode's Stat; the data is not touched.
func (h GetCall) Stat() (Stat, error) {
	gc, r, err := h.c.reply()
	if err != nil {
		return Stat{}, err
	}
	r.Buffer()
	var st Stat
	st.ReadFrom(&r)
	if err := r.Err(); err != nil {
		return Stat{}, gc.malformed(err)
	}
	return st, nil
}

// Err returns nil if the znode exists and could be read.
func (h GetCall) Err() error { return h.c.err() }

// Conn returns the number of the connection that carried the request, as Item.Conn; 0 if none did.
func (h GetCall) Conn() uint64 { return h.c.conn() }

// Owner returns the id of the session that an ephemeral znode belongs to; 0 for other znodes, and without a result.
func (h GetCall) Owner() int64 {
	st, err := h.Stat()
	if err != nil {
		return 0
	}
	return st.EphemeralOwner
}

// SetCall is the handle of a Set in a Group.
type SetCall struct{ c call }

// Stat returns the znode's Stat after the change.
func (h SetCall) Stat() (Stat, error) { return h.c.stat() }

// DeleteCall is the handle of a Delete in a Group.
type DeleteCall struct{ c call }

// Err returns nil if the znode was deleted.
func (h DeleteCall) Err() error { return h.c.err() }

// Zxid returns the zxid of the deletion, 0 without a reply.
func (h DeleteCall) Zxid() int64 { return h.c.zxid() }

// CreateCall is the handle of a Create in a Group.
type CreateCall struct{ c call }

// Path returns the path of the new znode, which differs from the one given to Create for sequential modes, and its Stat.
func (h CreateCall) Path() (string, Stat, error) {
	gc, r, err := h.c.reply()
	if err != nil {
		return "", Stat{}, err
	}
	full := r.StringBytes()
	var st Stat
	st.ReadFrom(&r)
	if err := r.Err(); err != nil {
		return "", Stat{}, gc.malformed(err)
	}
	chroot := h.c.g.cl.chroot
	if rest := len(full) - len(chroot); rest == len(gc.path) && string(full[len(chroot):]) == gc.path {
		return gc.path, st, nil // as asked for; no new string
	}
	return proto.StripChroot(chroot, string(full)), st, nil
}

// Err returns nil if the znode was created.
func (h CreateCall) Err() error { return h.c.err() }

// ChildrenCall is the handle of a Children in a Group.
type ChildrenCall struct{ c call }

// Names returns the names of the children, not their paths, in no defined order, and the Stat of their parent. The slice is
// the caller's; it is empty and not nil if there are no children.
func (h ChildrenCall) Names() ([]string, Stat, error) {
	gc, r, err := h.c.reply()
	if err != nil {
		return nil, Stat{}, err
	}
	s := proto.NewChildScanner(r.Rest())
	names := make([]string, 0, s.Left())
	for name, ok := s.Next(); ok; name, ok = s.Next() {
		names = append(names, string(name))
	}
	st := s.Stat()
	if err := s.Err(); err != nil {
		return nil, Stat{}, gc.malformed(err)
	}
	return names, st, nil
}

// Scan returns a scanner over the names, which allocates nothing. What it yields aliases the memory of the reply: it is valid
// until the group's next round.
func (h ChildrenCall) Scan() (proto.ChildScanner, error) {
	_, r, err := h.c.reply()
	return proto.NewChildScanner(r.Rest()), err
}

// Err returns nil if the znode exists and could be read.
func (h ChildrenCall) Err() error { return h.c.err() }

// Conn returns the number of the connection that carried the request, as Item.Conn; 0 if none did.
func (h ChildrenCall) Conn() uint64 { return h.c.conn() }

// GetACLCall is the handle of a GetACL in a Group.
type GetACLCall struct{ c call }

// ACL returns the access list, which is the caller's, and the znode's Stat, whose Aversion is the list's version.
func (h GetACLCall) ACL() ([]ACL, Stat, error) {
	gc, r, err := h.c.reply()
	if err != nil {
		return nil, Stat{}, err
	}
	var rep proto.GetACLResponse
	rep.ReadFrom(&r)
	if err := r.Err(); err != nil {
		return nil, Stat{}, gc.malformed(err)
	}
	return rep.ACL, rep.Stat, nil
}

// SetACLCall is the handle of a SetACL in a Group.
type SetACLCall struct{ c call }

// Stat returns the znode's Stat after the change.
func (h SetACLCall) Stat() (Stat, error) { return h.c.stat() }

// SyncCall is the handle of a Sync in a Group.
type SyncCall struct{ c call }

// Err returns nil if the server has caught up.
func (h SyncCall) Err() error { return h.c.err() }
