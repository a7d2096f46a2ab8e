package interop

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lockkeeper/lockkeeper/client"
)

// section is what the lock protects, as in java/Section.java: a counter that is read and written without looking at its
// version, so that an overlap of two writers loses an increment, and znodes by which those inside see each other. The counter's
// data are its value and the kind of who has written it.
type section struct {
	c          *client.Client
	root       string
	name, kind string
	permits    int // where several may be inside
	value      int
	result     result
}

// result is how often somebody has counted, how often another kind had done so just before, or was inside with a permit, and how
// many were inside at most.
type result struct{ increments, changes, most int }

func (s *section) counter() string { return s.root + "/counter" }
func (s *section) inside() string  { return s.root + "/inside" }
func (s *section) readers() string { return s.root + "/readers" }
func (s *section) self() string    { return s.readers() + "/" + s.name }

// write counts, and fails when anybody else is inside.
func (s *section) write(ctx context.Context) error {
	if _, _, err := s.c.Create(ctx, s.inside(), nil, client.ModePersistent, nil); err != nil {
		return fmt.Errorf("a writer enters: %w", err)
	}
	if err := s.noReaders(ctx); err != nil {
		return err
	}
	data, _, err := s.c.Get(ctx, s.counter())
	if err != nil {
		return err
	}
	var last string
	if _, err := fmt.Sscan(string(data), &s.value, &last); err != nil {
		return err
	}
	s.value++
	if _, err := s.c.Set(ctx, s.counter(), s.own(), client.AnyVersion); err != nil {
		return err
	}
	s.result.increments++
	if last != s.kind {
		s.result.changes++
	}
	if err := s.noReaders(ctx); err != nil {
		return err
	}
	return s.c.Delete(ctx, s.inside(), client.AnyVersion)
}

// own is what the counter's data are after a write.
func (s *section) own() []byte { return fmt.Appendf(nil, "%d %s", s.value, s.kind) }

// looks is how often who has a permit looks for others: it takes them some requests to follow.
const looks = 20

// share counts those inside, of whom there may be as many as there are permits.
func (s *section) share(ctx context.Context) error {
	if err := s.enterShared(ctx); err != nil {
		return err
	}
	met, inside := false, 0
	other := func(name string) bool { return name[:strings.LastIndexByte(name, '-')] != s.kind }
	for i := 0; i < looks && inside < s.permits; i++ {
		all, _, err := s.c.Children(ctx, s.readers())
		if err != nil {
			return err
		}
		if inside = len(all); inside > s.permits {
			return fmt.Errorf("%q are inside with %d permits", all, s.permits)
		}
		s.result.most = max(s.result.most, inside)
		met = met || slices.ContainsFunc(all, other)
	}
	s.result.increments++
	if met {
		s.result.changes++
	}
	return s.c.Delete(ctx, s.self(), client.AnyVersion)
}

// enterShared tells writers that a reader is inside; read and readOwn end that.
func (s *section) enterShared(ctx context.Context) error {
	_, _, err := s.c.Create(ctx, s.self(), nil, client.ModePersistent, nil)
	return err
}

// read fails when the counter changes, or a writer is inside.
func (s *section) read(ctx context.Context) error {
	data, before, err := s.c.Get(ctx, s.counter())
	if err != nil {
		return err
	}
	first := string(data)
	if err := s.noWriter(ctx); err != nil {
		return err
	}
	data, after, err := s.c.Get(ctx, s.counter())
	if err != nil {
		return err
	}
	if string(data) != first || before.Mzxid != after.Mzxid {
		return fmt.Errorf("the counter changed under a reader from %s to %s", first, data)
	}
	if err := s.noWriter(ctx); err != nil {
		return err
	}
	return s.c.Delete(ctx, s.self(), client.AnyVersion)
}

// readOwn does the same for who has just written and not let go.
func (s *section) readOwn(ctx context.Context) error {
	data, _, err := s.c.Get(ctx, s.counter())
	if err != nil {
		return err
	}
	if string(data) != string(s.own()) {
		return fmt.Errorf("the counter is %s after a downgrade at %s", data, s.own())
	}
	return s.read(ctx)
}

func (s *section) noReaders(ctx context.Context) error {
	names, _, err := s.c.Children(ctx, s.readers())
	if err == nil && len(names) > 0 {
		return fmt.Errorf("a writer is inside with the readers %q", names)
	}
	return err
}

func (s *section) noWriter(ctx context.Context) error {
	_, ok, err := s.c.Exists(ctx, s.inside())
	if err == nil && ok {
		return fmt.Errorf("a reader is inside with a writer")
	}
	return err
}
