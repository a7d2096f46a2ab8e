package integration

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
)

// lifetime is what became of a client's sessions.
type lifetime struct {
	away    time.Duration // without a connection
	breaks  int           // connections that ended
	expired int
	story   []string
}

// life follows the states of a client.
type life struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex // guards what follows; a leaf
	sum     lifetime
	entered [client.StateClosed + 1]int // how often each state was
	since   time.Time                   // when the connection ended; zero while there is one
}

// follow begins with the client's current state, which is to be connected.
func follow(t *testing.T, c *client.Client) *life {
	ctx, cancel := context.WithCancel(context.Background())
	l := &life{cancel: cancel, done: make(chan struct{})}
	t.Cleanup(cancel)
	// Follower of the states; owned by l; ends with its context or the client.
	go func() {
		defer close(l.done)
		for change := range c.States(ctx) {
			l.note(change, time.Now())
		}
	}()
	return l
}

func (l *life) note(change client.Change, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entered[change.State]++
	l.sum.story = append(l.sum.story, fmt.Sprintf("%v %s", change.State, change.Server))
	switch {
	case change.State.Connected() && !l.since.IsZero():
		l.sum.away += now.Sub(l.since)
		l.since = time.Time{}
	case !change.State.Connected() && l.since.IsZero():
		l.since = now
		l.sum.breaks++
	}
	if change.State == client.StateExpired {
		l.sum.expired++
	}
}

// end stops following and returns what there was.
func (l *life) end() lifetime {
	l.cancel()
	<-l.done
	return l.sum
}

func (l *life) count(s client.State) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.entered[s]
}

// next returns a function that waits until the client enters the state once more than it has until now.
func (l *life) next(s client.State) func(t *testing.T) {
	before := l.count(s)
	return func(t *testing.T) {
		t.Helper()
		until(t, "the client to be "+s.String(), func() bool { return l.count(s) > before })
	}
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx := patient(t)
	every := time.NewTicker(5 * time.Millisecond)
	defer every.Stop()
	for !holds() {
		select {
		case <-every.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
