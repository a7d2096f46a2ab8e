package conformance

import (
	"errors"
	"net"
	"sync"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
)

func closeEntries() []entry {
	return []entry{
		{"C141", "Close is confirmed, and the ephemerals are gone when it returns", nil, closeRemoves},
		{"C143 F55", "requests after Close, and while it runs, end with ErrClosed; watches too", nil, requestsAfterClose},
		{"C144 F54", "Close by many at once, and again", nil, closeByMany},
		{"F58", "connect and close again and again: no session and no connection stays", nil, openAndClose},
	}
}

func closeRemoves(e *env) {
	other := e.raw()
	c, tp := e.client()
	_, _, err := c.Create(e.ctx, "/e", nil, client.ModeEphemeral, nil)
	e.must(err)
	e.must(c.Close())
	equal(e, "exists afterwards", other.exists(e.path("/e"), false), proto.ErrNoNode)
	equal(e, "closeSession requests", len(tp.frames(sent(proto.OpCloseSession))), 1)
	equal(e, "replies to them", len(tp.frames(replied(proto.OpCloseSession))), 1)
}

func requestsAfterClose(e *env) {
	c, _ := e.client()
	_, watch, err := c.GetWatch(e.ctx, "/")
	e.must(err)
	var calls sync.WaitGroup
	begun := make(chan struct{}, 64)
	for range cap(begun) {
		calls.Go(func() {
			for first := true; ; first = false {
				_, _, err := c.Exists(e.ctx, "/")
				if first {
					begun <- struct{}{}
				}
				if err != nil {
					e.closed(err)
					return
				}
			}
		})
	}
	for range cap(begun) {
		e.wait(begun, "the first calls")
	}
	e.must(c.Close())
	calls.Wait()
	_, _, err = c.Get(e.ctx, "/")
	e.closed(err)
	e.outcome(err, client.OutcomeNotSent, false)
	e.fails("watch", e.event(watch).Err, client.ErrClosed)
	equal(e, "state", c.State(), client.StateClosed)
}

// closed checks that an error is that of a closed client.
func (e *env) closed(err error) {
	e.Helper()
	for _, want := range []error{client.ErrClosed, net.ErrClosed} {
		if !errors.Is(err, want) {
			e.Errorf("error %v, want one that matches %v", err, want)
		}
	}
}

func closeByMany(e *env) {
	c, tp := e.client()
	var calls sync.WaitGroup
	for range 10 {
		calls.Go(func() {
			if err := c.Close(); err != nil {
				e.Error(err)
			}
		})
	}
	calls.Wait()
	e.must(c.Close())
	equal(e, "closeSession requests", len(tp.frames(sent(proto.OpCloseSession))), 1)
}

func openAndClose(e *env) {
	other := e.raw()
	for range 50 {
		tp := e.tap()
		c := e.connect(tp)
		_, _, err := c.Create(e.ctx, "/e", nil, client.ModeEphemeral, nil)
		e.must(err)
		_, _, err = c.GetWatch(e.ctx, "/")
		e.must(err)
		e.must(c.Close())
		equal(e, "ephemerals afterwards", other.exists(e.path("/e"), false), proto.ErrNoNode)
		e.poll("the connection to end", func() bool { return tp.open() == 0 })
	}
}
