package proto_test

import "github.com/lockkeeper/lockkeeper/proto"

func multiPackets() map[string]packet {
	open := proto.WorldACL(proto.PermAll)
	stat := proto.Stat{
		Czxid: 0x50, Mzxid: 0x53, Ctime: 1796028855202, Mtime: 1796028855211, Version: 1, Cversion: 2, DataLength: 2,
		NumChildren: 2, Pzxid: 0x52,
	}
	later := stat
	later.Cversion, later.NumChildren, later.Pzxid = 3, 1, 0x53
	return map[string]packet{
		">E7": request(6, proto.OpMulti, &multiOps{
			{Op: proto.OpCheck, Path: "/ex"},
			{Op: proto.OpSetData, Path: "/ex", Data: []byte("v2")},
			{Op: proto.OpDelete, Path: "/ex/gone", Version: -1},
		}),
		"<E7": reply(6, 0x53, proto.CodeOK, &multiResults{
			{Op: proto.OpCheck},
			{Op: proto.OpSetData, Stat: stat, HasStat: true},
			{Op: proto.OpDelete},
		}),
		">E8": request(7, proto.OpMulti, &multiOps{
			{Op: proto.OpCreate, Path: "/ex/m", Data: []byte{}, ACL: open},
			{Op: proto.OpCheck, Path: "/ex", Version: 7},
			{Op: proto.OpDelete, Path: "/ex/x", Version: -1},
		}),
		"<E8": reply(7, 0x54, proto.CodeOK, &multiResults{
			{Op: proto.OpError},
			{Op: proto.OpError, Err: proto.ErrBadVersion},
			{Op: proto.OpError, Err: proto.ErrRuntimeInconsistency},
		}),
		">E9": request(8, proto.OpMultiRead, &multiOps{
			{Op: proto.OpGetData, Path: "/ex"},
			{Op: proto.OpGetChildren, Path: "/ex"},
			{Op: proto.OpGetData, Path: "/none"},
		}),
		"<E9": reply(8, 0x54, proto.CodeOK, &multiResults{
			{Op: proto.OpGetData, Data: []byte("v2"), Stat: later, HasStat: true},
			{Op: proto.OpGetChildren, Children: []string{"n-0000000000"}},
			{Op: proto.OpError, Err: proto.ErrNoNode},
		}),
	}
}

func watchPackets() map[string]packet {
	changed := &proto.WatcherEvent{
		Type: int32(proto.EventNodeDataChanged), State: int32(proto.KeeperSyncConnected), Path: "/ex",
	}
	return map[string]packet{
		">E10": request(9, proto.OpAddWatch, &proto.AddWatchRequest{
			Path: "/ex", Mode: int32(proto.AddWatchPersistentRecursive),
		}),
		"<E10": reply(9, 0x54, proto.CodeOK, &proto.ErrorResponse{}),
		"<E11": reply(proto.XidNotification, -1, proto.CodeOK, changed),
		">E12": request(10, proto.OpRemoveWatches, &proto.RemoveWatchesRequest{Path: "/ex", Type: int32(proto.WatcherAny)}),
		"<E12": reply(10, 0x56, proto.CodeOK, nothing{}),
		">E13": request(proto.XidSetWatches, proto.OpSetWatches2, &proto.SetWatches2{
			RelativeZxid: 0x56, DataWatches: []string{"/ex"}, ExistWatches: []string{"/ex/later"},
			PersistentRecursiveWatches: []string{"/ex/tree"},
		}),
		"<E13":   reply(proto.XidNotification, -1, proto.CodeOK, changed),
		"<E13.2": reply(proto.XidSetWatches, 0x57, proto.CodeOK, nothing{}),
	}
}

func authPackets() map[string]packet {
	const (
		challenge = `realm="zk-sasl-md5",nonce="DxUOKgKfkWuaGoOSqzHsLLHS0k6uT4UuoYE91z2G",charset=utf-8,algorithm=md5-sess`
		response  = `charset=utf-8,username="bob",realm="zk-sasl-md5",nonce="DxUOKgKfkWuaGoOSqzHsLLHS0k6uT4UuoYE91z2G",` +
			`nc=00000001,cnonce="0123456789abcdef",digest-uri="zookeeper/zk-sasl-md5",maxbuf=65536,` +
			`response=bc86a7fbf57b191c98e849e9b7e080b0,qop=auth`
		accepted = `rspauth=ba28e5167216340205db6902e60f9708`
	)
	return map[string]packet{
		">E15": request(proto.XidAuth, proto.OpAuth, &proto.AuthPacket{Scheme: "digest", Auth: []byte("bob:secret")}),
		"<E15": reply(proto.XidAuth, 0, proto.CodeOK, nothing{}),
		">E16": request(proto.XidAuth, proto.OpAuth, &proto.AuthPacket{Scheme: "nosuch", Auth: []byte{}}),
		"<E16": reply(proto.XidAuth, 0, proto.ErrAuthFailed, nothing{}),
		">E20": request(14, proto.OpWhoAmI, nothing{}),
		"<E20": reply(14, 0x59, proto.CodeOK, &proto.WhoAmIResponse{ClientInfo: []proto.ClientInfo{
			{AuthScheme: "digest", User: "bob"},
			{AuthScheme: "ip", User: "127.0.0.1"},
		}}),
		">E27":   request(1, proto.OpSASL, &proto.GetSASLRequest{Token: []byte{}}),
		"<E27":   reply(1, 0, proto.CodeOK, &proto.SetSASLResponse{Token: []byte(challenge)}),
		">E27.2": request(2, proto.OpSASL, &proto.GetSASLRequest{Token: []byte(response)}),
		"<E27.2": reply(2, 0, proto.CodeOK, &proto.SetSASLResponse{Token: []byte(accepted)}),
		"<E27.3": reply(2, 0, proto.ErrAuthFailed, &proto.SetSASLResponse{}),
	}
}
