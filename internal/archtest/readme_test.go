package archtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheProgramOfTheReadmeCompiles takes the first Go program out of README.md and vets it as a newcomer's.
func TestTheProgramOfTheReadmeCompiles(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "```go\n")
	program, _, closed := strings.Cut(rest, "```\n")
	if !ok || !closed {
		t.Fatal("README.md has no program")
	}
	dir := importer(t, offered)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "vet", ".")
	lines := 0
	for line := range strings.Lines(program) {
		if strings.TrimSpace(line) != "" {
			lines++
		}
	}
	if lines > 22 {
		t.Errorf("the program has grown to %d lines", lines)
	}
}
