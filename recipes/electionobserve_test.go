package recipes

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// observer is a loop over Observe in its own goroutine.
type observer struct {
	t      *testing.T
	seen   chan Participant
	err    error
	cancel context.CancelFunc
	done   chan struct{}
}

func observe(t *testing.T, e *Election) *observer {
	ctx, cancel := context.WithCancel(t.Context())
	o := &observer{t: t, seen: make(chan Participant, 100), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(o.done)
		for p, err := range e.Observe(ctx) {
			if o.err = err; err == nil {
				o.seen <- p
			}
		}
	}()
	synctest.Wait()
	return o
}

// sees fails unless exactly these leaders, by their data, were yielded since the last call; "" is that there is none.
func (o *observer) sees(want ...string) {
	o.t.Helper()
	synctest.Wait()
	var got []string
	for {
		select {
		case p := <-o.seen:
			if p.Node == "" && (p.Data != nil || p.Holds) || p.Node != "" && (!p.Holds || p.Err != nil || p.Token.IsZero() || p.Session == 0) {
				o.t.Errorf("%+v", p)
			}
			got = append(got, string(p.Data))
			continue
		case <-o.done:
			o.t.Fatalf("over: %v", o.err)
		default:
		}
		break
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		o.t.Errorf("saw %q, want %q", got, want)
	}
}

// ends ends the loop by its context, and looks at what is left of it.
func (o *observer) ends(srv *zktest.Server) {
	o.t.Helper()
	o.cancel()
	<-o.done
	var e *Error
	if !errors.As(o.err, &e) || e.Op != "observe" || !errors.Is(o.err, context.Canceled) {
		o.t.Errorf("%v", o.err)
	}
	synctest.Wait()
	if ws := srv.Watches(); len(ws) > 0 {
		o.t.Errorf("watches left: %v", ws)
	}
}

func TestObserve(t *testing.T) {
	for name, opts := range layouts {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b, c := dial(t, srv), dialTo(t, srv, "two:2181"), dialTo(t, srv, "three:2181")
				defer a.Close()
				defer b.Close()
				defer c.Close()
				o := observe(t, NewElection(c, "/el/x", nil, opts...))
				o.sees("") // the path does not exist
				must(srv.Create("/el", nil, proto.ModePersistent))
				must(srv.Create("/el/x", nil, proto.ModePersistent))
				o.sees()
				must(srv.Create("/el/x/config", []byte("not a candidate"), proto.ModePersistent))
				o.sees()
				first := must(NewElection(a, "/el/x", []byte("a"), opts...).Campaign(t.Context()))
				o.sees("a")
				standby := campaign(t.Context(), NewElection(b, "/el/x", []byte("b"), opts...))
				o.sees()
				if err := srv.Set(first.Node(), []byte("a2")); err != nil {
					t.Fatal(err)
				}
				o.sees("a2")
				if err := srv.Set(first.Node(), []byte("a2")); err != nil { // no change
					t.Fatal(err)
				}
				o.sees()
				resign(t, first)
				o.sees("b")
				resign(t, standby.leads(t))
				o.sees("")
				third := must(NewElection(a, "/el/x", []byte("third"), opts...).Campaign(t.Context()))
				o.sees("third")
				fourth := campaign(t.Context(), NewElection(b, "/el/x", []byte("fourth"), opts...))
				srv.ExpireSession(a.SessionID())
				o.sees("fourth")
				_ = third.Resign(t.Context())
				for _, name := range srv.Children("/el/x") {
					if err := srv.Delete("/el/x/" + name); err != nil {
						t.Fatal(err)
					}
				}
				if err := srv.Delete("/el/x"); err != nil {
					t.Fatal(err)
				}
				o.sees("")
				if err := fourth.leads(t).Resign(t.Context()); !errors.Is(err, ErrNodeGone) {
					t.Errorf("%v", err)
				}
				for srv.Sweep() > 0 {
				}
				fifth := must(NewElection(b, "/el/x", []byte("fifth"), opts...).Campaign(t.Context()))
				o.sees("fifth")
				o.ends(srv)
				resign(t, fifth)
			})
		})
	}
}

// TestObserveFromAStandby: the observer may be a candidate itself, with the same client.
func TestObserveFromAStandby(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		e := NewElection(b, "/el", []byte("b"))
		l := must(NewElection(a, "/el", []byte("a")).Campaign(t.Context()))
		standby := campaign(t.Context(), e)
		o := observe(t, e)
		o.sees("a")
		o.cancel() // must not take the watch of the standby with it
		<-o.done
		o = observe(t, e)
		resign(t, l)
		own := standby.leads(t)
		o.sees("a", "b")
		o.ends(srv)
		resign(t, own)
		nothingLeft(t, srv)
	})
}

// TestObserveRequests: what each change costs each observer, and nothing in between.
func TestObserveRequests(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, c := dial(t, srv), dialTo(t, srv, "two:2181"), dialTo(t, srv, "three:2181")
		defer a.Close()
		defer b.Close()
		defer c.Close()
		reqs := see(srv, c.SessionID())
		o := observe(t, NewElection(c, "/el", nil))
		costs := func(what string, want int, f func()) {
			t.Helper()
			f()
			<-time.After(time.Minute) // nothing is asked without a reason
			if got := reqs.take(); len(got) != want {
				t.Errorf("%s: %d requests, want %d: %v", what, len(got), want, got)
			}
			if n := srv.Snapshot().Watches.Total(); n != 1 {
				t.Errorf("%s: %d watches: %v", what, n, srv.Watches())
			}
		}
		costs("the path is missing", 4, func() {})
		var l *Leadership
		costs("the path and its first candidate", 3, func() { l = must(NewElection(a, "/el", []byte("a")).Campaign(t.Context())) })
		o.sees("", "a")
		costs("data", 3, func() { _ = srv.Set(l.Node(), []byte("new")) })
		costs("no candidate any more", 3, func() { resign(t, l) })
		costs("a candidate", 3, func() { l = must(NewElection(a, "/el", []byte("a")).Campaign(t.Context())) })
		o.sees("new", "", "a")
		standby := campaign(t.Context(), NewElection(b, "/el", []byte("b"), NoOwnWatch(), NoLookAhead()))
		synctest.Wait()
		if got := reqs.take(); len(got) != 0 {
			t.Errorf("a standby: %v", got)
		}
		costs("the next leader", 3, func() { resign(t, l); <-standby.done })
		o.sees("b")
		o.ends(srv)
		resign(t, standby.lead)
	})
}
