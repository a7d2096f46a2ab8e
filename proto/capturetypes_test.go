package proto_test

import "github.com/lockkeeper/lockkeeper/proto"

// requestOf returns the record of a request.
func requestOf(op proto.Op) record {
	switch op {
	case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer:
		return &proto.CreateRequest{}
	case proto.OpCreateTTL:
		return &proto.CreateTTLRequest{}
	case proto.OpDelete:
		return &proto.DeleteRequest{}
	case proto.OpExists:
		return &proto.ExistsRequest{}
	case proto.OpGetData:
		return &proto.GetDataRequest{}
	case proto.OpSetData:
		return &proto.SetDataRequest{}
	case proto.OpGetACL:
		return &proto.GetACLRequest{}
	case proto.OpSetACL:
		return &proto.SetACLRequest{}
	case proto.OpGetChildren:
		return &proto.GetChildrenRequest{}
	case proto.OpGetChildren2:
		return &proto.GetChildren2Request{}
	case proto.OpSync:
		return &proto.SyncRequest{}
	case proto.OpMulti, proto.OpMultiRead:
		return &multiOps{}
	case proto.OpReconfig:
		return &proto.ReconfigRequest{}
	case proto.OpCheckWatches:
		return &proto.CheckWatchesRequest{}
	case proto.OpRemoveWatches:
		return &proto.RemoveWatchesRequest{}
	}
	return sessionRequestOf(op)
}

// sessionRequestOf returns the record of a request that is not about one znode.
func sessionRequestOf(op proto.Op) record {
	switch op {
	case proto.OpAuth:
		return &proto.AuthPacket{}
	case proto.OpSetWatches:
		return &proto.SetWatches{}
	case proto.OpSetWatches2:
		return &proto.SetWatches2{}
	case proto.OpAddWatch:
		return &proto.AddWatchRequest{}
	case proto.OpGetEphemerals:
		return &proto.GetEphemeralsRequest{}
	case proto.OpGetAllChildrenNumber:
		return &proto.GetAllChildrenNumberRequest{}
	}
	return nothing{}
}

// replyOf returns the record of a reply without an error.
func replyOf(op proto.Op) record {
	switch op {
	case proto.OpCreate:
		return &proto.CreateResponse{}
	case proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
		return &proto.Create2Response{}
	case proto.OpExists:
		return &proto.ExistsResponse{}
	case proto.OpGetData:
		return &proto.GetDataResponse{}
	case proto.OpSetData:
		return &proto.SetDataResponse{}
	case proto.OpGetACL:
		return &proto.GetACLResponse{}
	case proto.OpSetACL:
		return &proto.SetACLResponse{}
	case proto.OpGetChildren:
		return &proto.GetChildrenResponse{}
	case proto.OpGetChildren2:
		return &proto.GetChildren2Response{}
	case proto.OpSync:
		return &proto.SyncResponse{}
	case proto.OpMulti, proto.OpMultiRead:
		return &multiResults{}
	case proto.OpAddWatch:
		return &proto.ErrorResponse{}
	case proto.OpGetEphemerals:
		return &proto.GetEphemeralsResponse{}
	case proto.OpGetAllChildrenNumber:
		return &proto.GetAllChildrenNumberResponse{}
	case proto.OpWhoAmI:
		return &proto.WhoAmIResponse{}
	}
	return nothing{}
}
