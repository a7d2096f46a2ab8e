package conformance

import (
	"strconv"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// raw opens a session of the other client through the tap.
func (s *scribe) raw(name string) *raw {
	s.e.Helper()
	tg, e := *s.e.tg, *s.e
	tg.Dial = s.tp.dial
	e.tg = &tg
	r := e.raw()
	s.take(name)
	return r
}

// byHand sends what the client does not send by itself.
func (s *scribe) byHand() {
	r := s.raw("connect, by hand")
	s.does(r, "create", proto.OpCreate, newNode("/c/h", "h", proto.ModePersistent), 0)
	s.does(r, "create, sequential", proto.OpCreate, newNode("/c/h/s-", "", proto.ModePersistentSequential), 0)
	s.does(r, "create, exists", proto.OpCreate, newNode("/c/h", "", proto.ModePersistent), proto.ErrNodeExists)
	s.does(r, "create, mode 7", proto.OpCreate, newNode("/c/x", "", 7), proto.ErrBadArguments)
	s.does(r, "getChildren", proto.OpGetChildren, &proto.GetChildrenRequest{Path: "/c/h"}, 0)
	s.does(r, "getChildren, none", proto.OpGetChildren, &proto.GetChildrenRequest{Path: "/c/h/s-0000000000"}, 0)
	s.does(r, "getChildren, no node", proto.OpGetChildren, &proto.GetChildrenRequest{Path: "/c/no"}, proto.ErrNoNode)
	s.does(r, "getACL, not authorized", proto.OpGetACL, &proto.GetACLRequest{Path: "/c/a"}, proto.ErrNoAuth)
	s.does(r, "getData, cannot be read", proto.OpGetData, bare(jute.AppendString(nil, "/c")), proto.ErrMarshalling)
	s.does(r, "setData, cannot be read", proto.OpSetData, bare(jute.AppendString(nil, "/c/h")), proto.ErrMarshalling)
	s.does(r, "sync, after that", proto.OpSync, &proto.SyncRequest{Path: "/c"}, 0)
	equal(s.e, "events", len(r.events()), 0)
	s.note("ping, by hand", func(*frame) bool { return true })
	r.bye()
	s.take("closeSession, by hand")
}

func (s *scribe) multisByHand() {
	r := s.raw("connect, for multis")
	open := world()
	s.does(r, "multi, create and create2", proto.OpMulti, parts{
		{Op: proto.OpCreate, Path: "/c/h/1", ACL: open}, {Op: proto.OpCreate2, Path: "/c/h/2", ACL: open},
	}, 0)
	s.does(r, "multi, create, not authorized", proto.OpMulti, parts{{Op: proto.OpCreate, Path: "/c/a/x", ACL: open}}, 0)
	s.does(r, "multi, empty", proto.OpMulti, parts{}, 0)
	s.does(r, "multi, with a read", proto.OpMulti, parts{{Op: proto.OpGetData, Path: "/c"}}, proto.ErrMarshalling)
	s.does(r, "multiRead, with a write", proto.OpMultiRead, parts{{Op: proto.OpDelete, Path: "/c/h/1", Version: -1}}, proto.ErrMarshalling)
	s.does(r, "multiRead, empty", proto.OpMultiRead, parts{}, 0)
	s.does(r, "multiRead, not authorized", proto.OpMultiRead, parts{{Op: proto.OpGetData, Path: "/c/a"}}, 0)
	r.bye()
	s.take("closeSession, after multis")
}

func (s *scribe) watchesByHand() {
	r := s.raw("connect, for watches")
	typed := func(kind proto.WatcherType) proto.Code { // what a version answers to types 4 and 5 without a watch
		if kind <= proto.WatcherAny || s.e.tg.Version >= NewVersion(3, 9, 0) {
			return proto.ErrNoWatcher
		}
		return proto.ErrMarshalling
	}
	s.does(r, "addWatch, mode 2", proto.OpAddWatch, &proto.AddWatchRequest{Path: "/c", Mode: 2}, proto.ErrMarshalling)
	for _, kind := range []proto.WatcherType{proto.WatcherChildren, proto.WatcherAny, proto.WatcherPersistent} {
		text := ", no watch, type " + strconv.Itoa(int(kind))
		s.does(r, "checkWatches"+text, proto.OpCheckWatches, &proto.CheckWatchesRequest{Path: "/c", Type: int32(kind)}, typed(kind))
		s.does(r, "removeWatches"+text, proto.OpRemoveWatches, &proto.RemoveWatchesRequest{Path: "/c", Type: int32(kind)}, typed(kind))
	}
	s.does(r, "setWatches, nothing missed", proto.OpSetWatches, &proto.SetWatches{ExistWatches: []string{"/c/no"}}, 0)
	s.does(r, "setWatches2, nothing missed", proto.OpSetWatches2, &proto.SetWatches2{PersistentRecursiveWatches: []string{"/c"}}, 0)
	s.does(r, "setData, seen by the recursive watch", proto.OpSetData, &proto.SetDataRequest{Path: "/c/h", Version: -1}, 0)
	r.bye()
	s.take("closeSession, after watches")
}

// ends are the ways in which a server closes a connection with an answer.
func (s *scribe) ends() {
	r := s.raw("connect, for a wrong auth")
	r.write(requestFrame(proto.XidAuth, proto.OpAuth, &proto.AuthPacket{Scheme: "nosuch", Auth: []byte{}}))
	equal(s.e, "auth, unknown scheme", r.recv().code, proto.ErrAuthFailed)
	s.take("auth, unknown scheme")
	s.closes(r)
	r = s.raw("connect, for an operation that is unknown")
	s.does(r, "operation 99", proto.Op(99), none, proto.ErrUnimplemented)
	s.closes(r)
	r = s.raw("connect, for the last closeSession")
	s.does(r, "closeSession, then the server closes", proto.OpCloseSession, none, 0)
	s.closes(r)
}
