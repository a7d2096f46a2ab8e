package checker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// permitState is a semaphore.
type permitState struct {
	held    holdSet // each hold as often as it has permits
	permits int
	written int32 // how often the guarded znode was written
	passing int   // see lockState; of semaphores of one permit
}

// SemaphoreModel is the model of a semaphore with n permits: Lock takes one, or as many as it says, and Unlock gives exactly those
// back. Resize changes how many there are, and takes nothing from those who hold. Tokens do not rise with the grants, since permits are
// given back in any order.
func SemaphoreModel(n int) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{permitState{permits: n}} },
		Step: func(s, in, out any) []any { return anys(s.(permitState).step(in.(input), out.(Result))) },
		DescribeOperation: func(in, out any) string {
			op := in.(input)
			return op.describe(out.(Result))
		},
		DescribeState: func(s any) string { return fmt.Sprint(s) },
	}
	return m.ToModel()
}

func (s permitState) String() string {
	return fmt.Sprintf("%v of %d, written %d", s.held, s.permits, s.written)
}

// step returns the states that may follow; none if the operation cannot have had this result.
func (s permitState) step(in input, out Result) []permitState {
	has, after := s.held.has(in.Hold), s
	after.held = s.held.without(in.Hold)
	if in.Passes && has {
		after.passing = in.Hold
	}
	switch {
	case in.Kind == Lock && out == OK:
		n := max(in.Weight, 1)
		granted := s
		granted.held += holdSet(strings.Repeat(string(rune(in.Hold)), n-1))
		granted.held, granted.passing = granted.held.with(in.Hold), 0
		switch room := len([]rune(s.held))+n <= s.permits; {
		case room && in.excused:
			return []permitState{granted, s}
		case room:
			return []permitState{granted}
		case !in.excused: // a mutex of one permit hands a znode on that an operator has deleted
			return nil
		}
	case in.Kind == Resize:
		after := s
		after.permits = in.Weight
		if out == Unknown {
			return []permitState{after, s}
		}
		return []permitState{after}
	case in.Kind == Unlock && out == Unknown && has:
		return []permitState{after, s}
	case in.Kind == Unlock && out == OK && has:
		return []permitState{after}
	case in.Kind == Unlock && out == OK && !in.excused, in.Kind == Unlock && out == NotHeld && has:
		return nil
	case in.Kind == Guarded:
		after := s
		after.written++
		return guarded(in, out, has, in.Passes && s.passing == in.Hold, after.written, s, after)
	case in.Kind == Lost:
		after := s
		for _, hold := range in.holds[0] {
			after.held = after.held.without(hold)
		}
		if slices.Contains(in.holds[0], Nobody) {
			return []permitState{after, s}
		}
		return []permitState{after}
	}
	return []permitState{s}
}
