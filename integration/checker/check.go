package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Fault is a kind of violation.
type Fault string

// The kinds of violations. Those below Undecided are found by the driver, not by Check.
const (
	Illegal   Fault = "illegal"         // no order of the operations explains their results
	Overlap   Fault = "overlap"         // two clients believed to hold the lock at once
	Late      Fault = "late"            // a client believed in its hold after the ensemble had ended it
	Undecided Fault = "undecided"       // the history is too hard to check: the run is too long
	Liveness  Fault = "liveness"        // a call that does not return though nothing stands in its way
	LeftOver  Fault = "left over"       // a znode, a watch or a clean-up remains
	Strange   Fault = "strange outcome" // an error that there was no reason for
)

// Violation is something that must not be.
type Violation struct {
	Fault
	Path string
	What string
}

func (v Violation) String() string { return fmt.Sprintf("%s, %s: %s", v.Path, v.Fault, v.What) }

// checkTime bounds the search for an order of one history. It is the time of this process, so Check is not to be called within a
// bubble of virtual time.
const checkTime = time.Minute

// Check returns what is wrong with the history of a run that Finish has ended. With pictures, a folder and the beginning of file names,
// it writes a picture of each illegal history there; its path is in the violation.
func (h *History) Check(model porcupine.Model, pictures string) ([]Violation, error) {
	bad := h.checkBeliefs()
	h.mu.Lock()
	parts := h.compile()
	h.mu.Unlock()
	for _, p := range parts {
		model := model
		if n, ok := h.Permits[p.path]; ok {
			model = SemaphoreModel(n)
		}
		result, info := porcupine.CheckOperationsVerbose(model, p.ops, checkTime)
		switch result {
		case porcupine.Ok:
			continue
		case porcupine.Unknown:
			bad = append(bad, Violation{Undecided, p.path, fmt.Sprintf("%d operations", len(p.ops))})
			continue
		}
		v := Violation{Illegal, p.path, explain(p.ops, info)}
		if pictures != "" {
			info.AddAnnotations(h.annotate(p.path))
			file := pictures + strings.ReplaceAll(p.path, "/", "-") + ".html"
			if err := porcupine.VisualizePath(model, info, file); err != nil {
				return bad, err
			}
			v.What += "; picture: " + file
		}
		bad = append(bad, v)
	}
	return bad, nil
}

// explain says how far the checker got: the last operations of the longest order that it found, and those that were over first of the
// ones that fit nowhere behind it.
func explain(all []porcupine.Operation, info porcupine.LinearizationInfo) string {
	var longest []porcupine.Operation
	for _, orders := range info.PartialLinearizationsOperations() {
		for _, order := range orders {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	placed := make(map[int64]bool) // by Call, which no two operations share but for losses at one instant
	for _, op := range longest {
		placed[op.Call] = true
	}
	rest := slices.DeleteFunc(slices.Clone(all), func(op porcupine.Operation) bool { return placed[op.Call] })
	slices.SortFunc(rest, func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) })
	const shown = 4
	text := fmt.Sprintf("no order explains the %d operations, %d can be placed, at last", len(all), len(longest))
	for _, op := range longest[max(0, len(longest)-shown):] {
		text += "\n    " + line(op)
	}
	text += "\n  but behind them none of"
	for _, op := range rest[:min(shown, len(rest))] {
		text += "\n    " + line(op)
	}
	return text
}

func line(op porcupine.Operation) string {
	in, out := op.Input.(input), op.Output.(Result)
	return fmt.Sprintf("client %d, %v to %v: %s", in.Client, Stamp(op.Call).Time(), Stamp(op.Return).Time(), in.describe(out))
}

// part is the history of one path.
type part struct {
	path string
	ops  []porcupine.Operation
}

// compile makes porcupine's operations of the history, path by path. The caller holds mu.
func (h *History) compile() []part {
	paths := make(map[string][]Op)
	for _, op := range h.ops {
		paths[op.Path] = append(paths[op.Path], op)
	}
	ends := h.ends()
	var parts []part
	for path, ops := range paths {
		slices.SortFunc(ops, func(a, b Op) int { return cmp.Compare(a.Call, b.Call) })
		p := part{path: path}
		var rows rows
		for i, span := range h.spans(ops, ends) {
			op := ops[i]
			in := input{Op: op, excused: span.excused}
			for _, node := range op.Nodes {
				in.holds = append(in.holds, h.standsFor(node))
			}
			p.ops = append(p.ops, porcupine.Operation{ClientId: rows.place(op), Input: in, Output: op.Result, Call: int64(op.Call), Return: int64(span.last)})
		}
		parts = append(parts, p)
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.path, b.path) })
	return parts
}

// rows gives operations rows of the picture, in which they must not overlap: one for each client, and more for what is open.
type rows struct {
	client []int   // of each row
	until  []Stamp // end of the row's last operation
}

func (r *rows) place(op Op) int {
	end := op.Return
	if end == 0 {
		end = 1<<63 - 1
	}
	for i, c := range r.client {
		if c == op.Client && r.until[i] < op.Call {
			r.until[i] = end
			return i
		}
	}
	r.client, r.until = append(r.client, op.Client), append(r.until, end)
	return len(r.client) - 1
}

// annotate puts beliefs and faults onto the picture of a path.
func (h *History) annotate(path string) []porcupine.Annotation {
	var out []porcupine.Annotation
	for _, b := range h.resolve() {
		if b.Path == path {
			out = append(out, porcupine.Annotation{Tag: fmt.Sprintf("belief of client %d", b.Client), Start: int64(b.Start), End: int64(b.End),
				Description: fmt.Sprintf("hold %d", b.Hold), Details: fmt.Sprintf("from %v to %v", b.Start.Time(), b.End.Time())})
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, op := range h.ops {
		if op.Path == path && op.Kind == Lock && op.Result != OK {
			a := porcupine.Annotation{Tag: fmt.Sprintf("refused to worker %d", op.Client), Start: int64(op.Call), End: int64(op.Return), Description: op.Result.String()}
			if op.Return == 0 {
				a.End = int64(h.end)
			}
			out = append(out, a)
		}
	}
	for _, n := range h.notes {
		out = append(out, porcupine.Annotation{Tag: "faults", Start: int64(n.Start), End: int64(n.End), Description: n.Name, Details: n.Details})
	}
	return out
}
