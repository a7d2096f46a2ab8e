package client

import "github.com/lockkeeper/lockkeeper/proto"

// checkCreate validates the path and mode of a create.
func checkCreate(path string, mode CreateMode) error {
	switch {
	case mode.IsTTL():
		return &ModeError{mode, "needs a TTL: use CreateTTL or CreateTTLOp"}
	case mode < proto.ModePersistent || mode > proto.ModePersistentSequentialTTL:
		return &ModeError{mode, "not a kind of znode"}
	}
	return checkName(path, mode)
}

// checkName validates the path of a create: a sequential one may end in a slash.
func checkName(path string, mode CreateMode) error {
	if mode.IsSequential() {
		return proto.ValidateSequentialPath(path)
	}
	return proto.ValidatePath(path)
}
