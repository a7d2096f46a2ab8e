package checker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// input is an operation as a model sees it.
type input struct {
	Op
	holds [][]int // Lost and Holders: the holds that each of Nodes stood for
	// excused says that an operator had deleted the znode of the hold before the call, or before it was handed over, which the client
	// could not know in time. It enters the hold once more or hands it over, and when the reply to its own deletion is lost, and the
	// next is answered that nothing is there, it believes to have done that.
	excused bool
}

// holdSet is a set of holds: their numbers in order, each as a rune, so that states can be compared.
type holdSet string

func (s holdSet) has(hold int) bool { return strings.ContainsRune(string(s), rune(hold)) }

func (s holdSet) with(hold int) holdSet {
	r := append([]rune(s), rune(hold))
	slices.Sort(r)
	return holdSet(r)
}

func (s holdSet) without(hold int) holdSet {
	return holdSet(strings.ReplaceAll(string(s), string(rune(hold)), ""))
}

func (s holdSet) String() string {
	var names []string
	for _, r := range string(s) {
		names = append(names, fmt.Sprint(int(r)))
	}
	return "{" + strings.Join(names, " ") + "}"
}

// lockState is a lock and the resource that it protects.
type lockState struct {
	writer  int // the hold for writing, 0 for none
	depth   int // how often writer has it
	readers holdSet
	high    Token // the highest that was granted
	seen    Token // the highest that the resource has seen
	written int32 // how often the guarded znode was written
	passing int   // the hold that was given up last and whose znode may be on its way to the next one, 0 for none
}

// LockModel is the model of a mutex, a re-entrant mutex and a read-write lock: what a mutex does not have, its histories do
// not contain.
func LockModel() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{lockState{}} },
		Step: func(s, in, out any) []any { return anys(s.(lockState).step(in.(input), out.(Result))) },
		DescribeOperation: func(in, out any) string {
			op := in.(input)
			return op.describe(out.(Result))
		},
		DescribeState: func(s any) string { return fmt.Sprint(s) },
	}
	return m.ToModel()
}

func anys[T any](states []T) []any {
	out := make([]any, len(states))
	for i, s := range states {
		out[i] = s
	}
	return out
}

// step returns the states that may follow; none if the operation cannot have had this result.
func (s lockState) step(in input, out Result) []lockState {
	switch in.Kind {
	case Lock:
		return s.lock(in, out)
	case Unlock:
		return s.unlock(in, out)
	case Downgrade:
		return s.downgrade(in, out)
	case Lost:
		after := s
		for _, hold := range in.holds[0] {
			after = after.end(hold)
		}
		if slices.Contains(in.holds[0], Nobody) {
			return []lockState{after, s}
		}
		return []lockState{after}
	case Use:
		accepted := !in.Token.Less(s.seen)
		if accepted != (out == OK) {
			return nil
		}
		if accepted {
			s.seen = in.Token
		}
		return []lockState{s}
	case Holders:
		if s.held(in) {
			return []lockState{s}
		}
	case Guarded:
		after := s
		after.written++
		return guarded(in, out, s.writer == in.Hold || s.readers.has(in.Hold), in.Passes && s.passing == in.Hold, after.written, s, after)
	}
	return nil
}

// guarded returns the states that may follow a guarded write: it is carried out if and only if the hold stands at that moment, whatever
// its holder believes, and never twice. Of a hold whose znode is being passed on, both is possible: what the guard asks for ends with
// the grant of the next one.
func guarded[S any](in input, out Result, held, passing bool, version int32, before, after S) []S {
	switch {
	case out == Unknown && (held || passing):
		return []S{after, before}
	case out == Unknown, out == Refused && !held:
		return []S{before}
	case out == OK && (held || passing) && in.Version == version:
		return []S{after}
	}
	return nil
}

func (s lockState) lock(in input, out Result) []lockState {
	if out != OK { // an unknown one holds at most without its client's knowledge: see the package's documentation
		return []lockState{s}
	}
	after := s
	switch again := !in.Shared && s.writer == in.Hold && in.Token == s.high; {
	case again:
		after.depth++
	case s.writer != 0, !in.Shared && s.readers != "", !s.high.Less(in.Token):
		if in.excused {
			return []lockState{s}
		}
		return nil
	case in.Shared:
		after.readers = s.readers.with(in.Hold)
	default:
		after.writer, after.depth = in.Hold, 1
	}
	after.high, after.passing = in.Token, 0
	if in.excused {
		return []lockState{after, s}
	}
	return []lockState{after}
}

func (s lockState) unlock(in input, out Result) []lockState {
	held := s.writer == in.Hold || s.readers.has(in.Hold)
	after := s.end(in.Hold)
	if s.writer == in.Hold && s.depth > 1 && !in.All {
		after = s
		after.depth--
	} else if in.Passes && held {
		after.passing = in.Hold
	}
	switch {
	case out == Unknown && held:
		return []lockState{after, s}
	case out == Unknown, out == NotHeld && !held, out == OK && in.excused && !held:
		return []lockState{s}
	case out == OK && held:
		return []lockState{after}
	}
	return nil
}

func (s lockState) downgrade(in input, out Result) []lockState {
	held := s.writer == in.Hold
	after := s.end(in.Hold)
	after.readers = after.readers.with(in.Hold)
	switch {
	case out == Unknown && held:
		return []lockState{after, s}
	case out == Unknown, out == NotHeld && !held:
		return []lockState{s}
	case out == OK && held:
		return []lockState{after}
	}
	return nil
}

// end returns the state without a hold, however often it was had.
func (s lockState) end(hold int) lockState {
	if hold == Nobody {
		return s
	}
	if s.writer == hold {
		s.writer, s.depth = 0, 0
	}
	s.readers = s.readers.without(hold)
	return s
}

// held says whether the queue on the leader fits: the znodes in front stood for those who hold the lock. A znode that stood
// for no hold belongs to a call of Lock that was not granted, and nobody else can hold the lock then; one that stood for
// several may be between two of them, or beside the one that counts.
func (s lockState) held(in input) bool {
	if len(in.holds) == 0 {
		return s.writer == 0 && s.readers == ""
	}
	if in.Write {
		holds := in.holds[0]
		free := s.writer == 0 && len(holds) != 1
		return s.readers == "" && (free || slices.Contains(holds, s.writer))
	}
	readers, strange := s.readers, false
	for _, holds := range in.holds {
		if len(holds) != 1 {
			strange = true
			continue
		}
		if !s.readers.has(holds[0]) {
			return false
		}
		readers = readers.without(holds[0])
	}
	return s.writer == 0 && (readers == "" || strange)
}

var (
	kindNames = map[Kind]string{Lock: "Lock", Unlock: "Unlock", Downgrade: "Downgrade", Lost: "Lost", Use: "Use", Holders: "Holders", Resize: "Resize", Guarded: "Guarded"}
	outNames  = map[Result]string{OK: "ok", NotGranted: "not granted", NotHeld: "not held", Refused: "refused", Unknown: "unknown"}
)

func (k Kind) String() string   { return kindNames[k] }
func (r Result) String() string { return outNames[r] }

func (s lockState) String() string {
	return fmt.Sprintf("writer %d×%d readers %v high %x seen %x written %d", s.writer, s.depth, s.readers, s.high.Zxid, s.seen.Zxid, s.written)
}

func (t Token) String() string { return fmt.Sprintf("%x.%d", t.Zxid, t.Hand) }

func (in input) describe(out Result) string {
	switch in.Kind {
	case Lost, Holders:
		return fmt.Sprintf("%v %v", in.Kind, in.holds)
	case Guarded:
		return fmt.Sprintf("Guarded(%d) %v, version %d", in.Hold, out, in.Version)
	case Resize:
		return fmt.Sprintf("Resize %d %v", in.Weight, out)
	case Lock:
		name := "Lock"
		if in.Shared {
			name = "RLock"
		}
		if in.Weight > 1 {
			name = fmt.Sprintf("%d×Lock", in.Weight)
		}
		return fmt.Sprintf("%s(%d) %v %v", name, in.Hold, out, in.Token)
	}
	return fmt.Sprintf("%v(%d) %v %v", in.Kind, in.Hold, out, in.Token)
}
