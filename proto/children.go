package proto

import "github.com/lockkeeper/lockkeeper/jute"

// ChildScanner goes over the names in the body of a GetChildrenResponse or GetChildren2Response without allocating:
//
//	s := proto.NewChildScanner(body)
//	for name, ok := s.Next(); ok; name, ok = s.Next() { ... }
//	stat := s.Stat() // of a GetChildren2Response
//	if err := s.Err(); err != nil { ... }
//
// It is not safe for use by several goroutines.
type ChildScanner struct {
	r    jute.Reader
	left int
}

// NewChildScanner returns a scanner over body, the bytes behind the ReplyHeader.
func NewChildScanner(body []byte) ChildScanner {
	s := ChildScanner{r: jute.NewReader(body)}
	s.left, _ = s.r.Count(4)
	return s
}

// Left returns how many names are to come, if the body is as it says.
func (s *ChildScanner) Left() int { return s.left }

// Next returns the next name, which aliases the body; ok is false at the end and after an error.
func (s *ChildScanner) Next() (name []byte, ok bool) {
	if s.left == 0 {
		return nil, false
	}
	s.left--
	name = s.r.StringBytes()
	if s.r.Err() != nil {
		s.left = 0
		return nil, false
	}
	return name, true
}

// Stat passes over the names that are left and returns the parent's Stat behind them. It must be called once at most, and
// for a GetChildren2Response only: another body ends before, which Err then tells.
func (s *ChildScanner) Stat() Stat {
	for s.left > 0 {
		s.Next()
	}
	var st Stat
	st.ReadFrom(&s.r)
	return st
}

// Err returns the first failure, a *jute.DecodeError, or nil.
func (s *ChildScanner) Err() error { return s.r.Err() }
