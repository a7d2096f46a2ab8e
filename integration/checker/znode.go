package checker

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// ZnodeKind is an operation on one znode.
type ZnodeKind uint8

// The operations on a znode. Read is one with a sync ahead of it.
const (
	ZnodeCreate ZnodeKind = iota + 1
	ZnodeSet
	ZnodeDelete
	ZnodeRead
)

// ZnodeInput is what was asked for.
type ZnodeInput struct {
	Kind    ZnodeKind
	Value   string // ZnodeCreate and ZnodeSet
	Version int32  // ZnodeSet and ZnodeDelete: what the znode must have
}

// ZnodeOutput is what came back.
type ZnodeOutput struct {
	Unknown bool   // nobody knows: open to the end of the run
	Failed  bool   // it was not executed
	Exists  bool   // ZnodeRead: the znode was there; others: the operation was done
	Value   string // ZnodeRead
	Version int32  // ZnodeRead and ZnodeSet: what the znode has now
}

// znodeState is the znode: absent, or with a version and a value.
type znodeState struct {
	exists  bool
	version int32
	value   string
}

// ZnodeModel is the model of one znode under creates, conditional sets and deletes, and reads. A refusal, such as a bad version,
// is a result like any other: it must have been true at some moment of the call.
func ZnodeModel() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{znodeState{}} },
		Step: func(s, in, out any) []any {
			return anys(s.(znodeState).step(in.(ZnodeInput), out.(ZnodeOutput)))
		},
		DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v %+v", in, out) },
		DescribeState:     func(s any) string { return fmt.Sprintf("%+v", s) },
	}
	return m.ToModel()
}

func (s znodeState) step(in ZnodeInput, out ZnodeOutput) []znodeState {
	after, done := s, false
	if out.Failed {
		return []znodeState{s}
	}
	switch in.Kind {
	case ZnodeRead:
		if out.Unknown || out.Exists == s.exists && (!s.exists || out.Version == s.version && out.Value == s.value) {
			return []znodeState{s}
		}
		return nil
	case ZnodeCreate:
		if done = !s.exists; done {
			after = znodeState{exists: true, value: in.Value}
		}
	case ZnodeSet:
		if done = s.exists && in.Version == s.version; done {
			after.version, after.value = s.version+1, in.Value
		}
	case ZnodeDelete:
		if done = s.exists && in.Version == s.version; done {
			after = znodeState{}
		}
	}
	switch {
	case out.Unknown && done:
		return []znodeState{after, s}
	case out.Unknown, !out.Exists && !done:
		return []znodeState{s}
	case out.Exists && done && (in.Kind != ZnodeSet || out.Version == after.version):
		return []znodeState{after}
	}
	return nil
}
