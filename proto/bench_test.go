package proto_test

import (
	"testing"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

func BenchmarkAppend(b *testing.B) {
	for name, rec := range map[string]record{
		"RequestHeader": &proto.RequestHeader{Xid: 1, Type: int32(proto.OpExists)},
		"ExistsRequest": &proto.ExistsRequest{Path: "/locks/orders/lock-0000000042"},
		"CreateRequest": &proto.CreateRequest{
			Path: "/locks/orders/lock-", Data: make([]byte, 100), ACL: proto.WorldACL(proto.PermAll), Flags: 3,
		},
		"Stat":                    &proto.Stat{Czxid: 1, Pzxid: 2},
		"GetChildrenResponse/100": &proto.GetChildrenResponse{Children: lockNames(100)},
	} {
		b.Run(name, func(b *testing.B) {
			buf := make([]byte, 0, rec.Size())
			b.ReportAllocs()
			b.SetBytes(int64(rec.Size()))
			for b.Loop() {
				buf = rec.AppendTo(buf[:0])
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for name, rec := range map[string]record{
		"ReplyHeader":         &proto.ReplyHeader{Xid: 1, Zxid: 2},
		"Stat":                &proto.Stat{Czxid: 1, Pzxid: 2},
		"GetDataResponse/100": &proto.GetDataResponse{Data: make([]byte, 100)},
		"CreateRequest": &proto.CreateRequest{
			Path: "/locks/orders/lock-", Data: make([]byte, 100), ACL: proto.WorldACL(proto.PermAll), Flags: 3,
		},
		"GetChildrenResponse/100":   &proto.GetChildrenResponse{Children: lockNames(100)},
		"GetChildrenResponse/10000": &proto.GetChildrenResponse{Children: lockNames(10000)},
	} {
		b.Run(name, func(b *testing.B) {
			buf := rec.AppendTo(nil)
			b.ReportAllocs()
			b.SetBytes(int64(len(buf)))
			var r jute.Reader
			for b.Loop() {
				r.Reset(buf)
				rec.ReadFrom(&r)
				if r.Err() != nil {
					b.Fatal(r.Err())
				}
			}
		})
	}
}

func BenchmarkMulti(b *testing.B) {
	ops := []proto.MultiOp{
		{Op: proto.OpCheck, Path: "/locks/orders/lock-0000000042", Version: -1},
		{Op: proto.OpSetData, Path: "/orders/7", Data: make([]byte, 100), Version: 3},
	}
	b.Run("Append", func(b *testing.B) {
		buf := make([]byte, 0, proto.MultiSize(ops))
		b.ReportAllocs()
		b.SetBytes(int64(cap(buf)))
		for b.Loop() {
			buf = proto.AppendMulti(buf[:0], ops)
		}
	})
	b.Run("ReadReply", func(b *testing.B) {
		body := proto.AppendMultiReply(nil, []proto.MultiResult{{Op: proto.OpCheck}, {Op: proto.OpSetData, HasStat: true}})
		results := make([]proto.MultiResult, 0, 2)
		b.ReportAllocs()
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			r := jute.NewReader(body)
			results = proto.ReadMultiReply(&r, results[:0])
			if r.Err() != nil {
				b.Fatal(r.Err())
			}
		}
	})
}
