package interop

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/recipes"
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
	m := newMatrix(t, server, curator, kazoo, mutexKind())
	text := m.fill(t, matrixKinds, matrixKinds, func(holder, comer int) verdict { return expected[matrixKinds[holder]][comer] })
	t.Logf("%s\n\nwho comes to a mutex that is held:\n%s\nclients on one path:\n%s", m.versions(t), text, pairs(m.got))
}

// ourNames are our mutexes with the options that are about names, those with others' names by the names of these.
var ourNames = []string{"ours+foreign", "ours+kazoo", "ours+go-zk"}

// others are whom these meet.
var others = append(ourNames[:3:3], matrixKinds...)

// expectedHeld is what becomes of the others when one of ours holds the lock: its names are what its option says, whose
// row in expected it has.
var expectedHeld = map[string][]verdict{
	//               foreign kazoo   go-zk  ours    Curator go-zk  kazoo   kazoo+p WriteLock
	"ours+foreign": {waits, enters, waits, waits, waits, waits, enters, waits, waits},
	"ours+kazoo":   {waits, waits, enters, enters, enters, waits, waits, waits, enters},
	"ours+go-zk":   {waits, enters, waits, waits, waits, waits, enters, waits, waits},
}

// expectedComes is what becomes of one of ours when another holds the lock.
var expectedComes = map[string][]verdict{
	//               foreign kazoo  go-zk   ours    Curator go-zk   kazoo   kazoo+p WriteLock
	"ours+foreign": {waits, waits, waits, waits, waits, waits, waits, waits, waits},
	"ours+kazoo":   {enters, waits, enters, enters, enters, enters, waits, waits, enters},
	"ours+go-zk":   {waits, enters, waits, waits, waits, waits, enters, enters, enters},
}

// testOurNames does what testMatrix does with our mutex in the names of others, and with one that counts them all.
func testOurNames(t *testing.T, server *zkserver.Server, curator, kazoo *program) {
	m := newMatrix(t, server, curator, kazoo, mutexKind(), namedMutex(ourNames[0], recipes.CountForeign()),
		namedMutex(ourNames[1], recipes.KazooNames()), namedMutex(ourNames[2], recipes.GoZookeeperNames()))
	held := m.fill(t, ourNames, others, func(holder, comer int) verdict { return expectedHeld[ourNames[holder]][comer] })
	comes := m.fill(t, others, ourNames, func(holder, comer int) verdict { return expectedComes[ourNames[comer]][holder] })
	t.Logf("%s\n\nwho comes to one of ours:\n%s\nours comes:\n%s", m.versions(t), held, comes)
}

// matrix finds out what becomes of who comes to a mutex that is held.
type matrix struct {
	server         *zkserver.Server
	curator, kazoo *program
	kinds          map[string]kind
	next           func() *order
	got            map[[2]string]verdict // by holder and comer
}

// newMatrix returns one of all foreign clients, as far as they are installed, and these of ours.
func newMatrix(t *testing.T, server *zkserver.Server, curator, kazoo *program, ours ...kind) *matrix {
	m := &matrix{server, curator, kazoo, map[string]kind{}, orders(t, server), map[[2]string]verdict{}}
	for _, k := range append(ours, goZKKind(), foreignKind("Curator", curator, "mutex"), foreignKind("WriteLock", curator, "writelock")) {
		m.kinds[k.name] = k
	}
	if kazoo != nil {
		m.kinds["kazoo"] = foreignKind("kazoo", kazoo, "kazoo")
		m.kinds["kazoo+pattern"] = foreignKind("kazoo+pattern", kazoo, "kazoo-pattern")
	}
	return m
}

// fill tries each pair, fails for what is not as wanted, and returns all as text.
func (m *matrix) fill(t *testing.T, holders, comers []string, want func(holder, comer int) verdict) *table {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	text := newTable("holds \\ comes", comers...)
	for i, holder := range holders {
		cells := []string{holder}
		for j, comer := range comers {
			a, b := m.kinds[holder], m.kinds[comer]
			if a.open == nil || b.open == nil {
				cells = append(cells, "not here")
				continue
			}
			v, words, err := m.next().try(ctx, a, b, write, write)
			if err != nil {
				need(t, fmt.Errorf("%s holds, %s comes: %w", holder, comer, err))
			}
			if v != want(i, j) {
				t.Errorf("%s holds, %s comes: it %s (%s), want: it %s", holder, comer, v, words, want(i, j))
			}
			m.got[[2]string{holder, comer}] = v
			cells = append(cells, shown(v))
		}
		text.add(cells...)
	}
	return text
}

// versions says who has met.
func (m *matrix) versions(t *testing.T) string {
	t.Helper()
	st, err := m.server.Status(t.Context())
	need(t, err)
	text := fmt.Sprintf("Curator %s, WriteLock %s", m.curator.Greeting[0], m.curator.Greeting[2])
	if m.kazoo != nil {
		text += ", kazoo " + m.kazoo.Greeting[0]
	}
	return fmt.Sprintf("%s, on ZooKeeper %s", text, st.Version)
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
