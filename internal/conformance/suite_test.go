package conformance

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// An entry is found by its numbers, and they say which document to look into.
func TestEntriesAreNamed(t *testing.T) {
	number := regexp.MustCompile(`^([CDEFGI][0-9]+(-E[0-9]+)?|P[0-9]+(\.[a-z0-9]+)?|[a-z]+|KILL)$`)
	names := map[string]bool{}
	for _, en := range entries() {
		if names[en.ids] {
			t.Errorf("%s is there twice", en.ids)
		}
		names[en.ids] = true
		for _, id := range strings.Fields(en.ids) {
			if !number.MatchString(id) {
				t.Errorf("%s: %q is no number of an entry", en.ids, id)
			}
		}
		if en.title == "" || en.run == nil {
			t.Errorf("%s: no title or nothing to run", en.ids)
		}
	}
}

func TestVersions(t *testing.T) {
	for text, want := range map[string]Version{
		"3.8.0": NewVersion(3, 8, 0), "3.9.3-SNAPSHOT": NewVersion(3, 9, 3), "3.10": NewVersion(3, 10, 0), "": 0, "x.1": 0,
	} {
		if got := ParseVersion(text); got != want {
			t.Errorf("%q is read as %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string]bool{
		"3.7.9": false, "3.8.3": false, "3.8.4": true, "3.8.9": true, "3.9.0": false, "3.9.1": false, "3.9.2": true, "3.10.0": true, "4.0.0": true,
	} {
		if got := ParseVersion(text).since(NewVersion(3, 8, 4), NewVersion(3, 9, 2)); got != want {
			t.Errorf("%s has what came with 3.8.4 and 3.9.2: %v, want %v", text, got, want)
		}
	}
}

func TestTableTellsWhatWasNotRun(t *testing.T) {
	text := table([]Result{
		{IDs: "C1", Title: "one", Verdict: OK, Took: time.Second}, {IDs: "C22", Title: "two", Verdict: NotHere, Why: "cannot restart: reason"},
		{IDs: "C3", Title: "three", Verdict: Failed},
	})
	for _, want := range []string{"not on this target", "two (cannot restart: reason)", "FAILED", "3 entries: 1 ok 1 FAILED 1 not on this target"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
}

func TestAbilitiesNeedReasons(t *testing.T) {
	tg := &Target{Without: map[Ability]string{Restart: "reason", Alone: "others write"}}
	if got := tg.lacks([]Ability{Sweep, Restart}); got != "cannot restart: reason" {
		t.Errorf("lacks %q", got)
	}
	if got := tg.lacks([]Ability{Sweep}); got != "" {
		t.Errorf("lacks %q", got)
	}
}
