package conformance

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Provider gives an entry a target to run on, by calling f once with it and with the test to use, which is t unless the
// provider runs f in a bubble of testing/synctest. Targets may be shared by entries or be new for each.
type Provider func(t *testing.T, f func(t *testing.T, tg *Target))

// Verdict is how an entry ended.
type Verdict string

// The verdicts.
const (
	OK          Verdict = "ok"
	Failed      Verdict = "FAILED"
	NotHere     Verdict = "not on this target"
	NotSelected Verdict = "not selected"
)

// Result is one line of the table.
type Result struct {
	IDs     string // the numbers of what it shows, separated by blanks
	Title   string
	Verdict Verdict
	Why     string        // for NotHere: what the target lacks
	Took    time.Duration // in real time; reported, and never asserted
}

// entry is one test of the suite.
type entry struct {
	ids   string
	title string
	needs []Ability
	run   func(e *env)
}

// entries returns all entries in the order in which they run. The golden packets come first, while the server is quiet.
func entries() []entry {
	var all []entry
	for _, part := range [][]entry{
		goldenEntries(), codecEntries(), frameEntries(), limitEntries(), handshakeEntries(), orderEntries(), pipelineEntries(),
		sessionEntries(), watchEntries(), rewatchEntries(), persistentEntries(), watcherEntries(), operationEntries(), helperEntries(), multiEntries(), createEntries(),
		apiEntries(), pathEntries(), aclEntries(), authEntries(), saslEntries(), closeEntries(), lockEntries(), lockFaultEntries(), rwEntries(), moreLockEntries(), sharedLockEntries(),
	} {
		all = append(all, part...)
	}
	return all
}

// Run runs every entry as a subtest, one after another, and prints the table. It returns the results, so that the caller
// can insist on what a target must be able to run.
func Run(t *testing.T, p Provider) []Result {
	t.Helper()
	var results []Result
	name := ""
	for _, en := range entries() {
		res := Result{IDs: en.ids, Title: en.title, Verdict: NotSelected}
		began := time.Now()
		ok := t.Run(strings.ReplaceAll(en.ids, " ", "_"), func(t *testing.T) {
			res.Verdict = Failed
			p(t, func(t *testing.T, tg *Target) {
				name = tg.Name
				tg.check(t)
				if res.Why = tg.lacks(en.needs); res.Why != "" {
					res.Verdict = NotHere
					t.Skip(res.Why)
				}
				en.run(newEnv(t, tg, en.ids))
			})
		})
		res.Took = time.Since(began)
		if ok && res.Verdict == Failed {
			res.Verdict = OK
		}
		results = append(results, res)
	}
	t.Logf("conformance on %s\n%s", name, table(results))
	return results
}

// table lists the results.
func table(results []Result) string {
	width := 0
	for _, r := range results {
		width = max(width, len(r.IDs))
	}
	var b strings.Builder
	count := map[Verdict]int{}
	for _, r := range results {
		count[r.Verdict]++
		title := r.Title
		if r.Why != "" {
			title += " (" + r.Why + ")"
		}
		fmt.Fprintf(&b, "  %-*s  %-18s %6.2f s  %s\n", width, r.IDs, r.Verdict, r.Took.Seconds(), title)
	}
	fmt.Fprintf(&b, "  %d entries:", len(results))
	for _, v := range []Verdict{OK, Failed, NotHere, NotSelected} {
		if count[v] > 0 || v == OK || v == Failed {
			fmt.Fprintf(&b, " %d %s", count[v], v)
		}
	}
	b.WriteByte('\n')
	return b.String()
}
