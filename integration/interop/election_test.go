package interop

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// electionRounds is how often each candidate leads.
const electionRounds = 20

// ourID is what our candidates show of themselves.
const ourID = "ours-candidate"

// electionKind is our election.
func electionKind(opts ...recipes.Option) kind {
	return oursKind("ours", func(c *client.Client, path string) func(context.Context, bool) (held, error) {
		e := recipes.NewElection(c, path, []byte(ourID), opts...)
		return func(ctx context.Context, _ bool) (held, error) { return e.Campaign(ctx) }
	})
}

// testElection lets candidates of both sides lead in turn, with the names of LeaderLatch, and with those of LeaderSelector, which
// InterProcessMutex has as well. What only a leader may do loses an increment if there are two.
func testElection(t *testing.T, servers string, curator54, curator57 *program) {
	t.Run("LeaderLatch", func(t *testing.T) {
		contend(t, servers, electionKind(recipes.LatchNames()), []entrant{
			{electionKind(recipes.LatchNames()), 2, electionRounds, modeMutex, false},
			{foreignKind("Curator-5.4", curator54, "latch"), 2, electionRounds, modeMutex, false},
			{foreignKind("Curator-5.7", curator57, "latch"), 2, electionRounds, modeMutex, false},
		})
	})
	t.Run("LeaderSelector", func(t *testing.T) {
		contend(t, servers, electionKind(), []entrant{
			{electionKind(), 2, electionRounds, modeMutex, false},
			{foreignKind("Curator-5.4", curator54, "selector"), 2, electionRounds, modeMutex, false},
			{foreignKind("Curator-5.7", curator57, "selector"), 2, electionRounds, modeMutex, false},
			{foreignKind("Curator-5.7-mutex", curator57, "mutex"), 1, electionRounds, modeMutex, false},
		})
	})
}

// testSuccession lets a candidate come while another leads: it waits, both sides say who leads and who follows, and it leads when
// the other has resigned.
func testSuccession(t *testing.T, server *zkserver.Server, curators ...*program) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	next := orders(t, server)
	for _, names := range []struct {
		there string
		opts  []recipes.Option
	}{{"latch", []recipes.Option{recipes.LatchNames()}}, {"selector", nil}} {
		kinds := []kind{electionKind(names.opts...)}
		for _, p := range curators {
			kinds = append(kinds, foreignKind("Curator-"+p.Greeting[0], p, names.there))
		}
		for _, leader := range kinds {
			for _, standby := range kinds {
				s := succession{order: next(), opts: names.opts}
				if err := s.run(ctx, leader, standby); err != nil {
					need(t, fmt.Errorf("%s: %s leads, %s follows: %w", names.there, leader.name, standby.name, err))
				}
			}
		}
		t.Logf("%s: %d successions", names.there, len(kinds)*len(kinds))
	}
}

// succession is one candidate after another.
type succession struct {
	*order
	opts []recipes.Option
}

func (s *succession) run(ctx context.Context, leader, standby kind) error {
	var all []contender
	for _, k := range []kind{leader, standby} {
		ct, err := k.open(ctx, s.server.Addr(), s.path)
		if err != nil {
			return err
		}
		defer ct.close(ctx) // what is left of it is of no interest
		all = append(all, ct)
	}
	next, stop := iter.Pull2(recipes.NewElection(s.c, s.path, nil, s.opts...).Observe(ctx))
	defer stop()
	if err := firstOf(s.observed(next, nil), all[0].lock(ctx, false), s.observed(next, all[0])); err != nil {
		return err
	}
	first, err := s.newest(ctx)
	if err != nil {
		return err
	}
	done := comes(ctx, all[1], write)
	if err := firstOf(s.waits(ctx, done, first, all[1]), s.seen(ctx, all)); err != nil {
		return err
	}
	if err := firstOf(all[0].release(ctx), <-done, s.seen(ctx, all[1:])); err != nil {
		return err
	}
	if err := firstOf(s.observed(next, all[1]), all[1].release(ctx), s.observed(next, nil)); err != nil {
		return err
	}
	return s.seen(ctx, nil)
}

// observed takes the next leader that an observer is told of, which must be this candidate, or nobody.
func (s *succession) observed(next func() (recipes.Participant, error, bool), want contender) error {
	p, err, _ := next()
	switch {
	case err != nil:
		return err
	case want == nil && p.Node != "":
		return fmt.Errorf("an observer is told of %q (%s), want nobody", p.Data, p.Node)
	case want != nil && (p.Session != want.session() || string(p.Data) != idOf(want)):
		return fmt.Errorf("an observer is told of %q (%s), want %s", p.Data, p.Node, idOf(want))
	}
	return nil
}

// idOf is what a candidate shows of itself.
func idOf(ct contender) string {
	if f, ok := ct.(*foreign); ok {
		return f.name
	}
	return ourID
}

// seen compares what our election says with the candidates, in their order, and what each of Curator's says.
func (s *succession) seen(ctx context.Context, candidates []contender) error {
	var want, starred []string
	for i, ct := range candidates {
		id := idOf(ct)
		want = append(want, id)
		if i == 0 {
			id += "*"
		}
		starred = append(starred, id)
	}
	e := recipes.NewElection(s.c, s.path, nil, s.opts...)
	all, err := e.Participants(ctx)
	if err != nil {
		return err
	}
	var got []string
	for i, p := range all {
		got = append(got, string(p.Data))
		if p.Holds != (i == 0) || i < len(candidates) && p.Session != candidates[i].session() {
			return fmt.Errorf("candidate %d is %+v", i, p)
		}
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("the candidates are %q, want %q", got, want)
	}
	leader, err := e.Leader(ctx)
	if len(want) > 0 && (err != nil || string(leader.Data) != want[0]) {
		return fmt.Errorf("the leader is %q, %v, want %s", leader.Data, err, want[0])
	}
	if len(want) == 0 && err == nil {
		return fmt.Errorf("%q leads, although all have resigned", leader.Data)
	}
	return s.seenThere(ctx, candidates, starred)
}

// seenThere does that with Curator's view, of a candidate that is not waiting itself: it does one thing at a time.
func (s *succession) seenThere(ctx context.Context, candidates []contender, starred []string) error {
	if len(candidates) == 0 {
		return nil
	}
	f, ok := candidates[0].(*foreign)
	if !ok {
		return nil
	}
	leader, err := f.p.Call(ctx, f.name, "leader")
	if err != nil || leader+"*" != starred[0] {
		return fmt.Errorf("%s says that the leader is %q, %v, want %q", f.name, leader, err, starred[0])
	}
	text, err := f.p.Call(ctx, f.name, "participants")
	if err != nil {
		return err
	}
	if got := strings.Fields(text); !slices.Equal(got, starred) {
		return fmt.Errorf("%s says that the candidates are %q, want %q", f.name, got, starred)
	}
	return nil
}
