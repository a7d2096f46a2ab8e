package client

import "github.com/lockkeeper/lockkeeper/proto"

// checkCreate validates the path and mode of a create.
func checkCreate(path string, mode CreateMode) error {
	switch {
	case mode.IsTTL():
		return &ModeError{mode, "not by this operation, which carries no TTL"}
	case mode < proto.ModePersistent || mode > proto.ModePersistentSequentialTTL:
		return &ModeError{mode, "not a kind of znode"}
	case mode.IsSequential():
		return proto.ValidateSequentialPath(path)
	}
	return proto.ValidatePath(path)
}
