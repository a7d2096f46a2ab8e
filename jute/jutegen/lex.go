package jutegen

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Pos is a place in a schema, counted from 1; columns count bytes.
type Pos struct {
	Line, Col int
}

// Error says what is wrong with a schema, and where.
type Error struct {
	File   string
	Pos    Pos
	Reason string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Pos.Line, e.Pos.Col, e.Reason)
}

// token is a word (text is a dotted name), a punctuation mark, or, with empty text, the end.
type token struct {
	text   string
	pos    Pos
	word   bool
	doc    []string // comment that ends on the line above
	behind []string // comment that begins behind it on the same line
}

// lexer cuts a schema into tokens and hangs the comments on them.
type lexer struct {
	file string
	src  string
	off  int
	pos  Pos

	comment    []string // comment lines since the last token
	commentEnd int      // line on which they end
	last       *token   // token that a comment behind it belongs to
}

// lex returns all tokens of src, the last one being the end.
func lex(file string, src []byte) ([]*token, error) {
	lx := lexer{file: file, src: string(src), pos: Pos{1, 1}}
	if i := strings.IndexFunc(lx.src, notText); i >= 0 {
		lx.advance(i)
		return nil, lx.badCharacter()
	}
	var tokens []*token
	for {
		t, err := lx.next()
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
		if t.text == "" {
			return tokens, nil
		}
	}
}

// notText reports whether r must not stand anywhere, comments included, because Go source must not have it. Bytes that are
// no UTF-8 are utf8.RuneError.
func notText(r rune) bool { return r == utf8.RuneError || r == 0 || r == '\ufeff' }

func (lx *lexer) badCharacter() error {
	r, _ := utf8.DecodeRuneInString(lx.src[lx.off:])
	return &Error{lx.file, lx.pos, fmt.Sprintf("unexpected character %q", r)}
}

func (lx *lexer) next() (*token, error) {
	if err := lx.skip(); err != nil {
		return nil, err
	}
	t := &token{pos: lx.pos}
	if len(lx.comment) > 0 && lx.commentEnd+1 >= lx.pos.Line {
		t.doc = lx.comment
	}
	lx.comment, lx.last = nil, t
	rest := lx.src[lx.off:]
	if rest == "" {
		return t, nil
	}
	if n := wordLen(rest); n > 0 {
		t.text, t.word = rest[:n], true
		lx.advance(n)
		return t, nil
	}
	if strings.IndexByte("{}<>,;", rest[0]) < 0 {
		return nil, lx.badCharacter()
	}
	t.text = rest[:1]
	lx.advance(1)
	return t, nil
}

// skip passes over blanks and comments.
func (lx *lexer) skip() error {
	for lx.off < len(lx.src) {
		rest := lx.src[lx.off:]
		switch {
		case strings.IndexByte(" \t\r\n\f", rest[0]) >= 0:
			lx.advance(1)
		case strings.HasPrefix(rest, "//"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			lx.keep(rest[2:n])
			lx.advance(n)
		case strings.HasPrefix(rest, "/*"):
			// A block is a licence or a note about the schema, never documentation of a record.
			n := strings.Index(rest, "*/")
			if n < 0 {
				return &Error{lx.file, lx.pos, "comment does not end"}
			}
			lx.advance(n + 2)
		default:
			return nil
		}
	}
	return nil
}

// keep hangs a comment line on the token before it on the same line, or collects it for the token to come. A line between
// two comments separates them, and only the later one counts.
func (lx *lexer) keep(line string) {
	line = strings.TrimRight(strings.TrimPrefix(line, " "), " \t\r")
	if lx.last != nil && lx.last.pos.Line == lx.pos.Line {
		lx.last.behind = append(lx.last.behind, line)
		return
	}
	if lx.commentEnd+1 != lx.pos.Line {
		lx.comment = nil
	}
	lx.comment, lx.commentEnd = append(lx.comment, line), lx.pos.Line
}

func (lx *lexer) advance(n int) {
	for _, c := range []byte(lx.src[lx.off : lx.off+n]) {
		if c == '\n' {
			lx.pos = Pos{lx.pos.Line + 1, 1}
		} else {
			lx.pos.Col++
		}
	}
	lx.off += n
}

// wordLen returns the length of the dotted name that s begins with.
func wordLen(s string) int {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c != '.' && (c < '0' || c > '9')) {
			return i
		}
	}
	return len(s)
}
