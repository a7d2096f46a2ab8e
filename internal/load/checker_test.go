package load_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockkeeper/lockkeeper/internal/load"
)

func token(n int64) load.Token { return load.Token{Zxid: n} }

func TestCheckerAcceptsHoldsThatFollowEachOther(t *testing.T) {
	c := load.NewChecker("/l", true)
	for i := range 10 {
		c.Enter(i%3, token(int64(i+1)))
		c.Leave(i % 3)
	}
	c.Enter(1, load.Token{Zxid: 10, Hand: 1})
	c.Leave(1)
	holds, violations, first := c.Result()
	assert.EqualValues(t, 11, holds)
	assert.Zero(t, violations)
	assert.Empty(t, first)
}

func TestCheckerFindsViolations(t *testing.T) {
	for name, tc := range map[string]struct {
		play func(c *load.Checker)
		want int64
		text string
	}{
		"two holders": {func(c *load.Checker) {
			c.Enter(1, token(1))
			c.Enter(2, token(2))
			c.Leave(2)
			c.Leave(1)
		}, 1, "/l: 2 was granted the lock while 1 held it"},
		"three holders": {func(c *load.Checker) {
			c.Enter(1, token(1))
			c.Enter(2, token(2))
			c.Enter(3, token(3))
		}, 3, "/l: 2 was granted the lock while 1 held it"},
		"lower token": {func(c *load.Checker) {
			c.Enter(1, token(5))
			c.Leave(1)
			c.Enter(2, token(4))
			c.Leave(2)
		}, 1, "/l: 2 was granted the lock with token {4 0} after one with token {5 0}"},
		"same token": {func(c *load.Checker) {
			c.Enter(1, token(5))
			c.Leave(1)
			c.Enter(1, token(5))
		}, 1, "/l: 1 was granted the lock with token {5 0} after one with token {5 0}"},
		"no token":          {func(c *load.Checker) { c.Enter(1, load.Token{}) }, 1, "/l: 1 was granted the lock with token {0 0} after one with token {0 0}"},
		"end without begin": {func(c *load.Checker) { c.Leave(4) }, 1, "/l: 4 ended a hold it had not begun"},
	} {
		t.Run(name, func(t *testing.T) {
			c := load.NewChecker("/l", true)
			tc.play(c)
			_, violations, first := c.Result()
			assert.Equal(t, tc.want, violations)
			assert.Equal(t, tc.text, first)
		})
	}
}

func TestCheckerWithoutTokensLooksAtTimeAlone(t *testing.T) {
	c := load.NewChecker("/l", false)
	for range 3 {
		c.Enter(1, load.Token{})
		c.Leave(1)
	}
	_, violations, _ := c.Result()
	assert.Zero(t, violations)
	c.Enter(1, load.Token{})
	c.Enter(2, load.Token{})
	_, violations, _ = c.Result()
	assert.EqualValues(t, 1, violations)
}

func TestCheckingAHoldDoesNotAllocate(t *testing.T) {
	c := load.NewChecker("/l", true)
	n := int64(0)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		n++
		c.Enter(1, token(n))
		c.Leave(1)
	}))
}

func TestFairness(t *testing.T) {
	for _, tc := range []struct {
		shares []int64
		want   float64
	}{
		{nil, 1},
		{[]int64{0, 0}, 1},
		{[]int64{7}, 1},
		{[]int64{5, 5, 5, 5}, 1},
		{[]int64{9, 0, 0}, 1.0 / 3},
		{[]int64{4, 4, 0, 0}, 0.5},
		{[]int64{1, 2, 3}, 36.0 / 42},
	} {
		assert.InDelta(t, tc.want, load.Fairness(tc.shares), 1e-12, "%v", tc.shares)
	}
}
