package zktest

import (
	"bytes"
	"slices"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
)

// Create makes a znode as somebody with all rights would, from outside of all sessions: watches fire, ACLs are not looked
// at, and the znode is open to everybody. Ephemeral modes want CreateFor. It returns the path, with the sequence number
// for sequential modes; the error is a proto.Code. For TTL znodes use a client.
func (s *Server) Create(path string, data []byte, mode proto.CreateMode) (string, error) {
	return s.CreateFor(0, path, data, mode)
}

// CreateFor is Create with an owner: an ephemeral znode belongs to the session with that id, which must exist. An id of 0
// means nobody.
func (s *Server) CreateFor(sessionID int64, path string, data []byte, mode proto.CreateMode) (string, error) {
	s.mu.Lock()
	defer s.releaseLocked(nil)
	ss := s.sessions[sessionID]
	if mode.IsEphemeral() && ss == nil {
		return "", proto.ErrUnknownSession
	}
	tx := s.beginLocked(time.Now())
	tx.owner = ss
	n, code := tx.create(nil, createArgs{op: mode.Op(), path: []byte(path), data: data, flags: int32(mode), ttl: -1})
	if code != 0 {
		return "", code
	}
	tx.commit()
	return n.path, nil
}

// Set writes data, whatever the version.
func (s *Server) Set(path string, data []byte) error {
	return s.change(changeArgs{op: proto.OpSetData, path: []byte(path), data: data, version: anyVersion})
}

// SetACL replaces the access list, whatever the version and without a check of the list.
func (s *Server) SetACL(path string, acl []proto.ACL) error {
	return s.change(changeArgs{op: proto.OpSetACL, path: []byte(path), acl: aclList{entries: slices.Clone(acl)}, version: anyVersion})
}

// Delete removes a znode that has no children, whatever the version.
func (s *Server) Delete(path string) error {
	return s.change(changeArgs{op: proto.OpDelete, path: []byte(path), version: anyVersion})
}

func (s *Server) change(a changeArgs) error {
	s.mu.Lock()
	defer s.releaseLocked(nil)
	tx := s.beginLocked(time.Now())
	if _, code := tx.change(nil, a); code != 0 {
		return code
	}
	tx.commit()
	return nil
}

// Get returns a copy of the data and the Stat, or proto.ErrNoNode.
func (s *Server) Get(path string) ([]byte, proto.Stat, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.tree.nodes[path]
	if n == nil {
		return nil, proto.Stat{}, proto.ErrNoNode
	}
	return bytes.Clone(n.data), n.stat(), nil
}

// Exists reports whether there is a znode.
func (s *Server) Exists(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tree.nodes[path] != nil
}

// Children returns the names of the children, sorted; nil for a znode that is not there.
func (s *Server) Children(path string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.tree.nodes[path]
	if n == nil {
		return nil
	}
	out := make([]string, 0, len(n.children))
	for _, child := range n.children {
		out = append(out, child.name())
	}
	slices.Sort(out)
	return out
}

// NodeCount returns the number of znodes, the root and the three of ZooKeeper's own included.
func (s *Server) NodeCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tree.size()
}
