package recipes

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/lockkeeper/lockkeeper/client"
)

// turnTo says what the members do from now on, unless somebody else has said so.
func (b *DoubleBarrier) turnTo(ctx context.Context, what string, version int32) error {
	_, err := b.s.c.Set(ctx, b.s.dir, []byte(what), version)
	if errors.Is(err, client.ErrBadVersion) {
		return nil
	}
	return err
}

// members returns the names of the members, in order, and the version of the path's znode at that time or shortly after.
func (b *DoubleBarrier) members(ctx context.Context) ([]string, int32, error) {
	g := b.s.c.Group()
	kids, now := g.Children(b.s.dir), g.Exists(b.s.dir)
	_ = g.Do(ctx) // each has its own error
	names, _, err := kids.Names()
	if err != nil {
		return nil, 0, err
	}
	stat, _, err := now.Stat()
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, memberMark) })
	slices.Sort(names)
	return names, stat.Version, err
}

// othersLeft says whether the round is over in which members work at this version, and waits for the end of one of them
// otherwise: all wait for the same one, so that a departure wakes nobody who need not look. The version is read behind the list: if
// members of the next round are in the list, it says so.
func (b *DoubleBarrier) othersLeft(ctx context.Context, version int32) (bool, error) {
	members, now, err := b.members(ctx)
	if err != nil {
		return false, err
	}
	if now != version {
		return true, nil
	}
	if len(members) == 0 {
		return true, b.turnTo(ctx, gathering, version)
	}
	node, w, err := b.s.c.ExistsWatch(ctx, child(b.s.dir, []byte(members[0])))
	if err != nil {
		return false, err
	}
	defer w.Close()
	if node.Exists {
		_, err = w.Wait(ctx)
	}
	return false, err
}
