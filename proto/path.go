package proto

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// PathError says what is wrong with a path, and where.
type PathError struct {
	Path   string
	Offset int // in bytes
	Reason string
}

func (e *PathError) Error() string {
	return "path " + strconv.Quote(e.Path) + ": " + e.Reason + " at byte " + strconv.Itoa(e.Offset)
}

// ValidatePath returns a *PathError unless path is one that a server accepts in a write (docs/protocol.md section 15;
// PathUtils.validatePath in Java). Reads want the same check: servers do not validate there, and a path in another form
// simply does not exist.
func ValidatePath(path string) error {
	if path == "/" {
		return nil
	}
	start, err := validateComponents(path)
	if err != nil {
		return err
	}
	switch path[start:] {
	case "":
		return &PathError{path, start - 1, "slash at the end"}
	case ".", "..":
		return &PathError{path, start, "relative component"}
	}
	return nil
}

// ValidateSequentialPath is ValidatePath for the path of a sequential create, to which the server appends a number: it may
// end in a slash.
func ValidateSequentialPath(path string) error {
	_, err := validateComponents(path)
	return err
}

// validateComponents checks the characters of path and its components but for the last, whose offset it returns.
func validateComponents(path string) (last int, err error) {
	if path == "" {
		return 0, &PathError{path, 0, "nothing there"}
	}
	if path[0] != '/' {
		return 0, &PathError{path, 0, "no slash in front"}
	}
	if i := badCharacter(path); i >= 0 {
		return 0, &PathError{path, i, "forbidden character"}
	}
	start := 1
	for {
		n := strings.IndexByte(path[start:], '/')
		if n < 0 {
			return start, nil
		}
		switch path[start : start+n] {
		case "":
			return 0, &PathError{path, start, "empty component"}
		case ".", "..":
			return 0, &PathError{path, start, "relative component"}
		}
		start += n + 1
	}
}

// badCharacter returns the offset of the first character that a path must not have, or -1.
func badCharacter(path string) int {
	for i := 0; i < len(path); {
		c := path[i]
		if c < utf8.RuneSelf {
			if c < 0x20 || c == 0x7f {
				return i
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(path[i:])
		// Bytes that are no UTF-8 decode to U+FFFD, which the server makes of them too, and which is in the last range.
		// Java looks at UTF-16 units: what lies beyond U+FFFF is two surrogates to it.
		if r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0 {
			return i
		}
		i += n
	}
	return -1
}
