package fuzz_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// record is what every generated type does.
type record interface {
	AppendTo([]byte) []byte
	ReadFrom(*jute.Reader)
	Size() int
}

// newRecord returns an empty record of the kind n, and the number of kinds.
func newRecord(n int) (record, int) {
	all := [...]func() record{
		func() record { return new(proto.ID) }, func() record { return new(proto.ACL) },
		func() record { return new(proto.Stat) }, func() record { return new(proto.ClientInfo) },
		func() record { return new(proto.ConnectRequest) }, func() record { return new(proto.ConnectResponse) },
		func() record { return new(proto.RequestHeader) }, func() record { return new(proto.ReplyHeader) },
		func() record { return new(proto.MultiHeader) }, func() record { return new(proto.ErrorResponse) },
		func() record { return new(proto.CreateRequest) }, func() record { return new(proto.CreateTTLRequest) },
		func() record { return new(proto.DeleteRequest) }, func() record { return new(proto.ExistsRequest) },
		func() record { return new(proto.GetDataRequest) }, func() record { return new(proto.SetDataRequest) },
		func() record { return new(proto.GetACLRequest) }, func() record { return new(proto.SetACLRequest) },
		func() record { return new(proto.GetChildrenRequest) }, func() record { return new(proto.GetChildren2Request) },
		func() record { return new(proto.SyncRequest) }, func() record { return new(proto.CheckVersionRequest) },
		func() record { return new(proto.ReconfigRequest) }, func() record { return new(proto.CheckWatchesRequest) },
		func() record { return new(proto.RemoveWatchesRequest) }, func() record { return new(proto.AddWatchRequest) },
		func() record { return new(proto.SetWatches) }, func() record { return new(proto.SetWatches2) },
		func() record { return new(proto.AuthPacket) }, func() record { return new(proto.GetSASLRequest) },
		func() record { return new(proto.GetEphemeralsRequest) }, func() record { return new(proto.GetAllChildrenNumberRequest) },
		func() record { return new(proto.CreateResponse) }, func() record { return new(proto.Create2Response) },
		func() record { return new(proto.ExistsResponse) }, func() record { return new(proto.GetDataResponse) },
		func() record { return new(proto.SetDataResponse) }, func() record { return new(proto.GetACLResponse) },
		func() record { return new(proto.SetACLResponse) }, func() record { return new(proto.GetChildrenResponse) },
		func() record { return new(proto.GetChildren2Response) }, func() record { return new(proto.SyncResponse) },
		func() record { return new(proto.WatcherEvent) }, func() record { return new(proto.SetSASLResponse) },
		func() record { return new(proto.GetEphemeralsResponse) }, func() record { return new(proto.GetAllChildrenNumberResponse) },
		func() record { return new(proto.WhoAmIResponse) },
	}
	return all[n%len(all)](), len(all)
}

// FuzzRecords decodes arbitrary bytes behind the first, which chooses the kind of record. What decodes is encoded in the size
// that was announced, and decodes again to the same record.
func FuzzRecords(f *testing.F) {
	_, kinds := newRecord(0)
	for i := range kinds {
		rec, _ := newRecord(i)
		f.Add(append([]byte{byte(i)}, seedOf(rec)...))
		f.Add(append([]byte{byte(i)}, make([]byte, 200)...))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) == 0 {
			return
		}
		first, _ := newRecord(int(input[0]))
		r := jute.NewReader(input[1:])
		first.ReadFrom(&r)
		if r.Err() != nil || !encodable(first) {
			return
		}
		encoded := first.AppendTo(nil)
		require.Equal(t, first.Size(), len(encoded))
		second, _ := newRecord(int(input[0]))
		r.Reset(encoded)
		second.ReadFrom(&r)
		require.NoError(t, r.Err())
		require.Zero(t, r.Remaining())
		require.Equal(t, first, second)
		require.Equal(t, encoded, second.AppendTo(nil))
		for n := range min(len(encoded), 300) { // cut off anywhere: a failure, or the optional last byte
			short, _ := newRecord(int(input[0]))
			r.Reset(encoded[:n])
			short.ReadFrom(&r)
			_, optional := short.(*proto.ConnectRequest)
			_, optional2 := short.(*proto.ConnectResponse)
			require.True(t, r.Err() != nil || n == len(encoded)-1 && (optional || optional2), "cut at %d", n)
		}
	})
}

// encodable is false for a createTTL that must not be sent: its bytes are not even made.
func encodable(rec record) bool {
	ttl, ok := rec.(*proto.CreateTTLRequest)
	return !ok || proto.CheckTTL(proto.CreateMode(ttl.Flags), ttl.TTL) == nil
}

// seedOf returns the encoding of a record with something in it.
func seedOf(rec record) []byte {
	acl := proto.WorldACL(proto.PermAll)
	switch x := rec.(type) {
	case *proto.ACL:
		*x = acl[0]
	case *proto.ConnectRequest:
		x.TimeOut, x.Passwd = 10_000, make([]byte, 16)
	case *proto.ConnectResponse:
		x.TimeOut, x.SessionID, x.Passwd = 10_000, -7, make([]byte, 16)
	case *proto.CreateRequest:
		x.Path, x.Data, x.ACL, x.Flags = "/a/n-", []byte("data"), acl, 3
	case *proto.CreateTTLRequest:
		x.Path, x.ACL, x.Flags, x.TTL = "/a/t", acl, 5, 60_000
	case *proto.GetACLResponse:
		x.ACL = acl
	case *proto.SetACLRequest:
		x.Path, x.ACL = "/a", acl
	case *proto.ReconfigRequest:
		x.JoiningServers = jute.NullString{String: "server.1=a:1:2", Valid: true}
	case *proto.SetWatches:
		x.DataWatches, x.ExistWatches = []string{"/a", "/b"}, []string{"/c"}
	case *proto.SetWatches2:
		x.ChildWatches, x.PersistentWatches = []string{"/a", "/b"}, []string{"/c"}
	case *proto.GetChildrenResponse:
		x.Children = []string{"a", "", "bcd"}
	case *proto.GetChildren2Response:
		x.Children = []string{"a", "", "bcd"}
	case *proto.GetEphemeralsResponse:
		x.Ephemerals = []string{"/a"}
	case *proto.WhoAmIResponse:
		x.ClientInfo = []proto.ClientInfo{{AuthScheme: "digest", User: "bob"}}
	}
	return rec.AppendTo(nil)
}
