package checker

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// SemaphoreModel is the model of a semaphore with n permits: Lock takes one, Unlock gives exactly that one back. Tokens do not
// rise with the grants, since permits are given back in any order.
func SemaphoreModel(n int) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{holdSet("")} },
		Step: func(s, in, out any) []any { return anys(s.(holdSet).permit(n, in.(input), out.(Result))) },
		DescribeOperation: func(in, out any) string {
			op := in.(input)
			return op.describe(out.(Result))
		},
		DescribeState: func(s any) string { return fmt.Sprint(s) },
	}
	return m.ToModel()
}

func (s holdSet) permit(n int, in input, out Result) []holdSet {
	has := s.has(in.Hold)
	switch {
	case in.Kind == Lock && out == OK:
		if len([]rune(s)) >= n {
			return nil
		}
		return []holdSet{s.with(in.Hold)}
	case in.Kind == Unlock && out == Unknown && has:
		return []holdSet{s.without(in.Hold), s}
	case in.Kind == Unlock && out == OK && has:
		return []holdSet{s.without(in.Hold)}
	case in.Kind == Unlock && out == OK && !in.excused, in.Kind == Unlock && out == NotHeld && has:
		return nil
	case in.Kind == Lost:
		for _, hold := range in.holds[0] {
			s = s.without(hold)
		}
	}
	return []holdSet{s}
}
