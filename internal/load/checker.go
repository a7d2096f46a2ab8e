package load

import (
	"fmt"
	"sync"
)

// Checker watches the holds of one lock. Enter is called when a hold has been granted, Leave before it is given back, so
// the interval between them lies within the time the lock was held: two that overlap prove that the lock had two holders.
// All methods may be called from any goroutine.
type Checker struct {
	name   string // of the lock, in texts
	tokens bool   // every hold has a token

	mu         sync.Mutex // guards what follows
	holders    map[int]struct{}
	last       Token
	holds      int64
	violations int64
	first      string // the first violation, in words
}

// NewChecker returns a Checker. With tokens it demands of every hold a token greater than that of the hold before.
func NewChecker(name string, tokens bool) *Checker {
	return &Checker{name: name, tokens: tokens, holders: make(map[int]struct{})}
}

// Enter begins a hold of a contender, which is any number that no other contender has.
func (c *Checker) Enter(contender int, token Token) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holds++
	for other := range c.holders {
		c.violatedLocked("%d was granted the lock while %d held it", contender, other)
	}
	c.holders[contender] = struct{}{}
	if !c.tokens {
		return
	}
	if token.Compare(c.last) <= 0 {
		c.violatedLocked("%d was granted the lock with token %v after one with token %v", contender, token, c.last)
		return
	}
	c.last = token
}

// Leave ends the hold of a contender.
func (c *Checker) Leave(contender int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.holders[contender]; !ok {
		c.violatedLocked("%d ended a hold it had not begun", contender)
	}
	delete(c.holders, contender)
}

// violatedLocked counts a violation. The caller holds mu.
func (c *Checker) violatedLocked(format string, args ...any) {
	c.violations++
	if c.first == "" {
		c.first = c.name + ": " + fmt.Sprintf(format, args...)
	}
}

// Result returns how many holds were seen, how many violations among them, and the first one in words.
func (c *Checker) Result() (holds, violations int64, first string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.holds, c.violations, c.first
}
