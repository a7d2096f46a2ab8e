package recipes

import (
	"context"
	"errors"
	"strconv"

	"github.com/lockkeeper/lockkeeper/client"
)

// Counter is a number that all processes share: the data of a znode, in decimal, which changes only by compare-and-set on the
// znode's version. A missing znode counts as 0 and is made, persistent, by the first change. Any number of goroutines may use
// one Counter.
//
// Failure model: a change is applied once or not at all. If the reply to the one write that could have applied it is lost,
// the method does not try again but returns the error, of which client.MaybeApplied is true: whether the number has
// changed is unknown then, and Get shows what it is. Whoever counts something that must not be missed or counted twice lets
// the number and what it counts change in one Multi instead. Contention costs rounds: of those who write at the same time one
// succeeds, and the others read again.
type Counter struct{ s small }

// ErrNotANumber says that the znode of a Counter holds no decimal number of 64 bits.
var ErrNotANumber = errors.New("znode of the counter holds no number")

// ErrOverflow says that the sum does not fit into 64 bits. Nothing was changed.
var ErrOverflow = errors.New("counter would overflow")

// NewCounter returns the counter of path. It does not talk to the ensemble. A bad path is the error of every method.
func NewCounter(c *client.Client, path string) *Counter { return &Counter{newSmall(c, path)} }

func (n *Counter) small() *small {
	if n == nil {
		return nil
	}
	return &n.s
}

// Path returns the path of the counter, "" of a nil one.
func (n *Counter) Path() string { return n.small().path() }

// Get returns the number, as a server that has caught up with the leader knows it.
func (n *Counter) Get(ctx context.Context) (int64, error) {
	s := n.small()
	if err := s.usable(ctx, "get"); err != nil {
		return 0, err
	}
	for {
		err := s.c.Sync(ctx, s.dir)
		var r reading
		if err == nil || errors.Is(err, client.ErrNoNode) {
			r, err = n.read(ctx)
		}
		if !s.passing(ctx, err) {
			return r.value, s.fail("get", err)
		}
	}
}

// Add adds delta and returns the sum. When it fails the sum is 0; client.MaybeApplied of the error says whether delta may
// have been added.
func (n *Counter) Add(ctx context.Context, delta int64) (int64, error) {
	s := n.small()
	if err := s.usable(ctx, "add"); err != nil {
		return 0, err
	}
	sum, _, err := n.change(ctx, func(old int64) (int64, bool, error) {
		sum := old + delta
		if (sum > old) != (delta > 0) && delta != 0 {
			return 0, false, ErrOverflow
		}
		return sum, true, nil
	})
	return sum, s.fail("add", err)
}

// CompareAndSet sets the number to next if it is old, and returns whether it was. When it fails, client.MaybeApplied of the
// error says whether the number may have been set.
func (n *Counter) CompareAndSet(ctx context.Context, old, next int64) (bool, error) {
	s := n.small()
	if err := s.usable(ctx, "compareandset"); err != nil {
		return false, err
	}
	_, set, err := n.change(ctx, func(now int64) (int64, bool, error) { return next, now == old, nil })
	return set, s.fail("compareandset", err)
}

// change replaces the number by what f makes of it, unless f does not want to, until nobody else was faster.
func (n *Counter) change(ctx context.Context, f func(old int64) (next int64, want bool, err error)) (int64, bool, error) {
	for {
		r, err := n.read(ctx)
		if n.s.passing(ctx, err) {
			continue
		} else if err != nil {
			return 0, false, err
		}
		next, want, err := f(r.value)
		if err != nil || !want {
			return 0, false, err
		}
		switch err := n.write(ctx, r, next); {
		case err == nil:
			return next, true, nil
		case errors.Is(err, client.ErrBadVersion), errors.Is(err, client.ErrNodeExists), r.exists && errors.Is(err, client.ErrNoNode):
			// Somebody was faster. The server that has said so knows the newest number.
		case client.MaybeApplied(err) || !n.s.passing(ctx, err):
			return 0, false, err
		}
	}
}

// reading is the number and the version of the znode that holds it.
type reading struct {
	value   int64
	version int32
	exists  bool
}

func (n *Counter) read(ctx context.Context) (reading, error) {
	data, stat, err := n.s.c.Get(ctx, n.s.dir)
	if errors.Is(err, client.ErrNoNode) {
		return reading{}, nil
	} else if err != nil {
		return reading{}, err
	}
	value, err := strconv.ParseInt(string(data), 10, 64)
	if err != nil {
		return reading{}, join(ErrNotANumber, errors.New(strconv.Quote(string(data[:min(len(data), 100)]))))
	}
	return reading{value, stat.Version, true}, nil
}

// write replaces what was read.
func (n *Counter) write(ctx context.Context, r reading, value int64) error {
	data := strconv.AppendInt(nil, value, 10)
	if !r.exists {
		_, _, err := n.s.c.CreateAll(ctx, n.s.dir, data, client.ModePersistent, nil)
		return err
	}
	_, err := n.s.c.Set(ctx, n.s.dir, data, r.version)
	return err
}
