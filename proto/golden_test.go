package proto_test

import (
	"encoding/hex"
	"reflect"
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// blank returns a new zero record of the type that rec has.
func blank(t *testing.T, rec record) record {
	t.Helper()
	if _, ok := rec.(nothing); ok {
		return nothing{}
	}
	blank, ok := reflect.New(reflect.TypeOf(rec).Elem()).Interface().(record)
	require.True(t, ok)
	return blank
}

// TestGoldenPackets holds the packets of docs/protocol.md section 23 against the values that their annotations give, both
// ways and for both ends (C1, C2, C14, C25).
func TestGoldenPackets(t *testing.T) {
	packets := readPackets(t)
	golden := map[string]packet{}
	for _, part := range []map[string]packet{sessionPackets(t), nodePackets(), multiPackets(), watchPackets(), authPackets()} {
		for name, p := range part {
			require.NotContains(t, golden, name)
			golden[name] = p
		}
	}
	for name := range packets {
		require.Contains(t, golden, name, "a packet that nobody looks at")
	}
	for name, want := range golden {
		t.Run(name, func(t *testing.T) {
			b := packets[name]
			require.NotEmpty(t, b)
			require.Equal(t, want, want.read(t, b), "decoded")
			enc := want.append(nil)
			require.Len(t, enc, want.header.Size()+want.body.Size())
			if name == ">E29" || name == "<E29" {
				// Peers of 3.3 and older leave the last byte out; what we write always has it.
				require.Zero(t, enc[len(enc)-1])
				enc = enc[:len(enc)-1]
			}
			require.Equal(t, hex.Dump(b), hex.Dump(enc), "encoded")
		})
	}
}

// TestGoldenPacketsCut cuts each packet after each byte: an error and no panic, but for the readOnly byte of a handshake,
// which may be missing (C11, C26).
func TestGoldenPacketsCut(t *testing.T) {
	packets := readPackets(t)
	for _, part := range []map[string]packet{sessionPackets(t), nodePackets(), multiPackets(), watchPackets(), authPackets()} {
		for name, p := range part {
			b := packets[name]
			for n := range b {
				header, body := blank(t, p.header), blank(t, p.body)
				r := jute.NewReader(b[:n:n])
				header.ReadFrom(&r)
				body.ReadFrom(&r)
				if r.Err() == nil {
					require.Equal(t, len(b)-1, n, "%s cut after %d bytes", name, n)
					require.IsType(t, nothing{}, header, name)
				}
			}
		}
	}
}

func sessionPackets(t *testing.T) map[string]packet {
	t.Helper()
	passwd := func(s string) []byte {
		b, err := hex.DecodeString(s)
		require.NoError(t, err)
		return b
	}
	const id = 0x100000d62210008
	zeros := make([]byte, 16)
	own := passwd("7e79bf440e5e9f2f75ea560da4b11217")
	return map[string]packet{
		">E1":  bare(&proto.ConnectRequest{TimeOut: 10000, Passwd: zeros}),
		"<E1":  bare(&proto.ConnectResponse{TimeOut: 10000, SessionID: id, Passwd: own}),
		">E14": request(proto.XidPing, proto.OpPing, nothing{}),
		"<E14": reply(proto.XidPing, 0x57, proto.CodeOK, nothing{}),
		">E23": request(1, 99, nothing{}),
		"<E23": reply(1, -1, proto.ErrUnimplemented, nothing{}),
		">E24": bare(&proto.ConnectRequest{LastZxidSeen: 0x5a, TimeOut: 10000, SessionID: id, Passwd: own}),
		"<E24": bare(&proto.ConnectResponse{TimeOut: 10000, SessionID: id, Passwd: own}),
		">E25": request(1, proto.OpCloseSession, nothing{}),
		"<E25": reply(1, 0x5b, proto.CodeOK, nothing{}),
		"<E26": bare(&proto.ConnectResponse{Passwd: zeros}),
		"<E28": bare(&proto.ConnectResponse{
			TimeOut: 10000, SessionID: 0x100001100a10000, Passwd: passwd("654033988e5a5e994bee70598720f3d7"), ReadOnly: true,
		}),
		"<E28.2": reply(0, 0, proto.ErrNotReadOnly, nothing{}),
		">E29":   bare(&proto.ConnectRequest{TimeOut: 10000, Passwd: zeros}),
		"<E29": bare(&proto.ConnectResponse{
			TimeOut: 10000, SessionID: 0x100000383d70001, Passwd: passwd("4e511f284c08033306ecb16aa9131203"),
		}),
	}
}

func nodePackets() map[string]packet {
	open := proto.WorldACL(proto.PermAll)
	parent := proto.Stat{
		Czxid: 0x50, Mzxid: 0x50, Ctime: 1796028855202, Mtime: 1796028855202, Cversion: 1, DataLength: 2, NumChildren: 1, Pzxid: 0x51,
	}
	return map[string]packet{
		">E2": request(1, proto.OpCreate, &proto.CreateRequest{Path: "/ex", Data: []byte("v1"), ACL: open}),
		"<E2": reply(1, 0x50, proto.CodeOK, &proto.CreateResponse{Path: "/ex"}),
		">E3": request(2, proto.OpCreate2, &proto.CreateRequest{
			Path: "/ex/n-", Data: []byte{}, ACL: open, Flags: int32(proto.ModeEphemeralSequential),
		}),
		"<E3": reply(2, 0x51, proto.CodeOK, &proto.Create2Response{Path: "/ex/n-0000000000", Stat: proto.Stat{
			Czxid: 0x51, Mzxid: 0x51, Ctime: 1796028855204, Mtime: 1796028855204, EphemeralOwner: 0x100000d62210008, Pzxid: 0x51,
		}}),
		">E4": request(3, proto.OpGetChildren2, &proto.GetChildren2Request{Path: "/ex"}),
		"<E4": reply(3, 0x51, proto.CodeOK, &proto.GetChildren2Response{Children: []string{"n-0000000000"}, Stat: parent}),
		">E5": request(4, proto.OpExists, &proto.ExistsRequest{Path: "/ex/gone", Watch: true}),
		"<E5": reply(4, 0x51, proto.ErrNoNode, nothing{}),
		">E6": request(5, proto.OpCreate, &proto.CreateRequest{Path: "/ex/gone", Data: []byte{}, ACL: open}),
		"<E6": reply(proto.XidNotification, -1, proto.CodeOK, &proto.WatcherEvent{
			Type: int32(proto.EventNodeCreated), State: int32(proto.KeeperSyncConnected), Path: "/ex/gone",
		}),
		"<E6.2": reply(5, 0x52, proto.CodeOK, &proto.CreateResponse{Path: "/ex/gone"}),
		">E17":  request(11, proto.OpSync, &proto.SyncRequest{Path: "/ex"}),
		"<E17":  reply(11, 0x58, proto.CodeOK, &proto.SyncResponse{Path: "/ex"}),
		">E18": request(12, proto.OpCreateTTL, &proto.CreateTTLRequest{
			Path: "/ex/t", Data: []byte{}, ACL: open, Flags: int32(proto.ModePersistentTTL), TTL: 60000,
		}),
		"<E18": reply(12, 0x59, proto.CodeOK, &proto.Create2Response{Path: "/ex/t", Stat: proto.Stat{
			Czxid: 0x59, Mzxid: 0x59, Ctime: 1796028855239, Mtime: 1796028855239, Pzxid: 0x59,
		}}),
		">E19": request(13, proto.OpGetACL, &proto.GetACLRequest{Path: "/ex"}),
		"<E19": reply(13, 0x59, proto.CodeOK, &proto.GetACLResponse{ACL: open, Stat: proto.Stat{
			Czxid: 0x50, Mzxid: 0x57, Ctime: 1796028855202, Mtime: 1796028855230, Version: 3, Cversion: 4, DataLength: 2,
			NumChildren: 2, Pzxid: 0x59,
		}}),
		">E21": request(15, proto.OpGetEphemerals, &proto.GetEphemeralsRequest{PrefixPath: "/ex"}),
		"<E21": reply(15, 0x59, proto.CodeOK, &proto.GetEphemeralsResponse{Ephemerals: []string{"/ex/n-0000000000"}}),
		">E22": request(16, proto.OpGetAllChildrenNumber, &proto.GetAllChildrenNumberRequest{Path: "/ex"}),
		"<E22": reply(16, 0x59, proto.CodeOK, &proto.GetAllChildrenNumberResponse{TotalNumber: 2}),
	}
}
