package interop

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

// The columns and rows of the matrix, in its order.
var matrixKinds = []string{"ours", "Curator", "go-zk", "kazoo", "kazoo+pattern", "WriteLock"}

// expected is what docs/locks.md section 2.9 says, by holder and who comes second: who comes decides by the names that
// it counts as ahead, so each column is a rule. Ours is with the layout of Curator and counts no foreign names.
var expected = map[string][]verdict{
	//                ours    Curator go-zk   kazoo   kazoo+p WriteLock
	"ours":          {waits, waits, waits, enters, waits, waits},
	"Curator":       {waits, waits, waits, enters, waits, waits},
	"go-zk":         {waits, waits, waits, enters, waits, waits},
	"kazoo":         {enters, enters, waits, waits, waits, enters},
	"kazoo+pattern": {enters, enters, waits, waits, waits, enters},
	"WriteLock":     {enters, enters, fails, enters, enters, waits},
}

// testMatrix lets a client of each kind come while one of each kind holds the lock of the same path.
func testMatrix(t *testing.T, server *zkserver.Server, curator, kazoo *program) {
	kinds := map[string]kind{
		"ours":      mutexKind(),
		"Curator":   foreignKind("Curator", curator, "mutex"),
		"go-zk":     goZKKind(),
		"WriteLock": foreignKind("WriteLock", curator, "writelock"),
	}
	if kazoo != nil {
		kinds["kazoo"] = foreignKind("kazoo", kazoo, "kazoo")
		kinds["kazoo+pattern"] = foreignKind("kazoo+pattern", kazoo, "kazoo-pattern")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	next := orders(t, server)
	table := newTable("holds \\ comes", matrixKinds...)
	got := map[[2]string]verdict{}
	for _, holder := range matrixKinds {
		cells := []string{holder}
		for i, comer := range matrixKinds {
			a, b := kinds[holder], kinds[comer]
			if a.open == nil || b.open == nil {
				cells = append(cells, "not here")
				continue
			}
			v, words, err := next().try(ctx, a, b, write, write)
			if err != nil {
				need(t, fmt.Errorf("%s holds, %s comes: %w", holder, comer, err))
			}
			if v != expected[holder][i] {
				t.Errorf("%s holds, %s comes: it %s (%s), want: it %s", holder, comer, v, words, expected[holder][i])
			}
			got[[2]string{holder, comer}] = v
			cells = append(cells, shown(v))
		}
		table.add(cells...)
	}
	st, err := server.Status(ctx)
	need(t, err)
	versions := fmt.Sprintf("Curator %s, WriteLock %s", curator.greeting[0], curator.greeting[2])
	if kazoo != nil {
		versions += ", kazoo " + kazoo.greeting[0]
	}
	t.Logf("%s, on ZooKeeper %s\n\nwho comes to a mutex that is held:\n%s\nclients on one path:\n%s", versions, st.Version, table, pairs(got))
}

// shown makes what is unsafe stand out.
func shown(v verdict) string {
	if v == waits {
		return string(v)
	}
	return strings.ToUpper(string(v))
}

// pairs says of each two clients whether they exclude each other.
func pairs(got map[[2]string]verdict) *table {
	out := newTable("", matrixKinds...)
	for i, row := range matrixKinds {
		cells := []string{row}
		for j, column := range matrixKinds {
			switch there, back := got[[2]string{row, column}], got[[2]string{column, row}]; {
			case j < i:
				cells = append(cells, "")
			case there == "":
				cells = append(cells, "not here")
			case there == waits && back == waits:
				cells = append(cells, "ok")
			case there == enters && back == enters:
				cells = append(cells, "broken: both enter")
			case there == enters:
				cells = append(cells, "broken: "+column+" enters")
			case back == enters && there == fails:
				cells = append(cells, "broken: "+row+" enters, "+column+" fails")
			case back == enters:
				cells = append(cells, "broken: "+row+" enters")
			case there == fails:
				cells = append(cells, column+" fails")
			default:
				cells = append(cells, row+" fails")
			}
		}
		out.add(cells...)
	}
	return out
}

// table is text in columns.
type table struct{ rows [][]string }

func newTable(corner string, columns ...string) *table {
	return &table{[][]string{append([]string{corner}, columns...)}}
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) String() string {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	var text strings.Builder
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "%-*s  ", widths[i], cell)
		}
		text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return text.String()
}
