package recipes

import "cmp"

// Token is a fencing token: it rises with every grant of an exclusive lock, so a resource that remembers the highest it has
// seen can refuse whoever comes with a lower one. It is comparable with ==; the zero Token means none. Give such a resource
// no tokens of readers: they are in no order, and one could shut the next writer out.
type Token struct {
	Zxid int64  // of the creation of the lock's znode
	Hand uint32 // counts local hand-overs of one znode
}

// Compare returns -1, 0 or 1 as t is lower than, equal to, or higher than u.
func (t Token) Compare(u Token) int {
	if c := cmp.Compare(t.Zxid, u.Zxid); c != 0 {
		return c
	}
	return cmp.Compare(t.Hand, u.Hand)
}

// IsZero says whether t is the zero Token.
func (t Token) IsZero() bool { return t == Token{} }
