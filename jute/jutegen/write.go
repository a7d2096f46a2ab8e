package jutegen

import (
	"fmt"
	"go/format"
	"os"
	"path/filepath"
)

// rawSuffix is added to the name of a file that could not be formatted.
const rawSuffix = ".raw"

// Write formats files and writes them into dir. When one cannot be formatted, its raw source is written beside the place
// where it would go, and the error is a *FormatError with that name; the place itself and the files after it stay as they
// were.
func Write(dir string, files []File) error {
	for _, f := range files {
		target := filepath.Join(dir, f.Name)
		src, err := format.Source(f.Source)
		if err != nil {
			raw := target + rawSuffix
			if werr := os.WriteFile(raw, f.Source, 0o644); werr != nil {
				return werr
			}
			return &FormatError{Raw: raw, Err: err}
		}
		if err := os.WriteFile(target, src, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// FormatError says that go/format refused generated source: a bug of the generator.
type FormatError struct {
	Raw string // where the source is
	Err error  // what go/format said
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("generated code is no Go, see %s: %v", e.Raw, e.Err)
}

// Unwrap returns what go/format said.
func (e *FormatError) Unwrap() error { return e.Err }
