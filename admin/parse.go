package admin

import (
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"
)

// shownText is how much of a text that cannot be read an error keeps.
const shownText = 120

// scanner walks over the lines of an answer and reads their values. It remembers the first error; values read after that
// mean nothing.
type scanner struct {
	line int // number of the current line, from 1
	err  *ParseError
}

// lines yields the lines that are not blank, without their ends. Each answer that has lines ends with a newline, so one that
// does not is cut off, and its last value may be a part of what it should be.
func (sc *scanner) lines(answer string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(answer) {
			sc.line++
			if !strings.HasSuffix(line, "\n") {
				sc.fail("", line, io.ErrUnexpectedEOF)
				return
			}
			line = strings.TrimRight(line, "\r\n")
			if strings.TrimSpace(line) == "" {
				continue
			}
			if !yield(line) || sc.err != nil {
				return
			}
		}
	}
}

// fail remembers the first error.
func (sc *scanner) fail(field, text string, err error) {
	if sc.err == nil {
		sc.err = &ParseError{Line: sc.line, Field: field, Text: strings.Clone(text[:min(len(text), shownText)]), Err: err}
	}
}

// need fails for a field that each server sends, when there was none.
func (sc *scanner) need(field string, there bool) {
	if !there && sc.err == nil {
		sc.err = &ParseError{Field: field, Err: io.ErrUnexpectedEOF}
	}
}

// finish returns the first error with the word and the server, nil if there was none.
func (sc *scanner) finish(word string, s Server) error {
	if sc.err == nil {
		return nil
	}
	return s.unreadable(word, sc.err)
}

// number reads a decimal integer of at most 64 bits.
func (sc *scanner) number(field, text string) int64 {
	n, err := parseInt(text)
	if err != nil {
		sc.fail(field, text, err)
	}
	return n
}

// hex reads digits of base 16 behind 0x: the pattern of a 64-bit number, which may be negative.
func (sc *scanner) hex(field, text string) int64 {
	digits, ok := strings.CutPrefix(text, "0x")
	if !ok {
		sc.fail(field, text, strconv.ErrSyntax)
		return 0
	}
	n, err := strconv.ParseUint(digits, 16, 64)
	if err != nil {
		sc.fail(field, text, reason(err))
	}
	return int64(n)
}

// millis reads milliseconds, with or without a fraction: averages have one since 3.6.
func (sc *scanner) millis(field, text string) time.Duration {
	if n, err := parseInt(text); err == nil {
		if n > math.MaxInt64/int64(time.Millisecond) || n < math.MinInt64/int64(time.Millisecond) {
			sc.fail(field, text, strconv.ErrRange)
			return 0
		}
		return time.Duration(n) * time.Millisecond
	}
	f, err := parseFloat(text)
	if err != nil {
		sc.fail(field, text, err)
		return 0
	}
	ns := math.Round(f * float64(time.Millisecond))
	if !(math.Abs(ns) < math.MaxInt64) { // not a number, too
		sc.fail(field, text, strconv.ErrRange)
		return 0
	}
	return time.Duration(ns)
}

// triple reads three values with slashes between them.
func (sc *scanner) triple(field, text string) (a, b, c string) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		sc.fail(field, text, strconv.ErrSyntax)
		return "", "", ""
	}
	return parts[0], parts[1], parts[2]
}

// parseInt is strconv.ParseInt without a plus sign, which no server writes.
func parseInt(text string) (int64, error) {
	if strings.HasPrefix(text, "+") {
		return 0, strconv.ErrSyntax
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, reason(err)
}

// parseFloat reads what Java's Double.toString writes, NaN and Infinity included, and not the other forms that Go knows.
func parseFloat(text string) (float64, error) {
	if strings.ContainsAny(text, "xX_+") {
		return 0, strconv.ErrSyntax
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, reason(err)
}

// reason returns the cause that is in an error of strconv, whose text would repeat the number; nil for nil.
func reason(err error) error {
	if ne, ok := err.(*strconv.NumError); ok {
		return ne.Err
	}
	return err
}

// splitVersion divides what a server says of its version, such as "3.9.3-c26634f34490bb0ea7a09cc51e05ede3b4e320ee, built on
// 2024-10-17 23:21 UTC".
func splitVersion(text string) (version, build string) {
	if i := strings.IndexAny(text, "-,"); i >= 0 {
		return text[:i], strings.TrimSpace(text[i+1:])
	}
	return text, ""
}
