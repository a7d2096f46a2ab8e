package conformance

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
)

// bound is how long an entry may wait for what must happen. Nothing is concluded from reaching it but failure.
const bound = 60 * time.Second

// env is what an entry works with.
type env struct {
	*testing.T
	tg   *Target
	ctx  context.Context // ends after bound, and with the entry
	root string          // the entry's own znode
	long time.Duration   // the longest session timeout that the target grants
}

// newEnv makes the entry's znode, which is removed at the end.
func newEnv(t *testing.T, tg *Target, ids string) *env {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	t.Cleanup(cancel)
	name := "/conformance-" + strings.ReplaceAll(ids, " ", "-") + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	e := &env{T: t, tg: tg, ctx: ctx, root: name, long: 20 * tg.Tick}
	r := e.raw()
	r.create(e.root, "", client.ModePersistent)
	r.bye()
	t.Cleanup(func() { e.remove(e.root) })
	return e
}

// remove deletes a znode with everything below it, whatever state an entry has left.
func (e *env) remove(path string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), bound)
	defer cancel()
	r, err := e.open(ctx, newSession(e.long))
	if err != nil {
		e.Logf("%s is left: %v", path, err)
		return
	}
	r.removeAll(path)
	r.bye()
}

// path returns a path below the entry's znode as servers see it.
func (e *env) path(rest string) string { return e.root + rest }

// client connects a client with the entry's znode as chroot. It and its tap are closed at the end.
func (e *env) client(opts ...client.Option) (*client.Client, *tap) {
	e.Helper()
	tp := e.tap()
	return e.connect(tp, opts...), tp
}

// tap returns a new tap before the target.
func (e *env) tap() *tap {
	tp := newTap(e.tg.dial)
	e.Cleanup(tp.close)
	return tp
}

// roamer connects a client that knows all members of the ensemble, if the target is one, and begins at any of them. What
// others read elsewhere may be older than what it has read or written.
func (e *env) roamer() (*client.Client, *tap) {
	e.Helper()
	tp := e.tap()
	return e.connectTo(cmp.Or(e.tg.Members, e.tg.Addr), tp), tp
}

// connect connects a client through tp.
func (e *env) connect(tp *tap, opts ...client.Option) *client.Client {
	e.Helper()
	return e.connectTo(e.tg.Addr, tp, opts...)
}

func (e *env) connectTo(servers string, tp *tap, opts ...client.Option) *client.Client {
	e.Helper()
	c, err := client.Connect(e.ctx, servers+e.root, e.options(tp, opts)...)
	e.must(err)
	e.Cleanup(func() { _ = c.Close() }) // whether it can be confirmed is up to what the entry did
	return c
}

func (e *env) options(tp *tap, opts []client.Option) []client.Option {
	// Short pauses between attempts, since nobody else waits for these servers.
	return append([]client.Option{
		client.Dialer(tp.dial), client.SessionTimeout(e.long), client.Backoff(10*time.Millisecond, 100*time.Millisecond),
	}, opts...)
}

// short is a session timeout for entries that wait for the end of a session: it leaves a slow machine room to work, and is
// still over soon.
func (e *env) short() client.Option { return client.SessionTimeout(4 * e.tg.Tick) }

// must fails the entry if there is an error.
func (e *env) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

// fails checks that an error matches a target.
func (e *env) fails(what string, err, target error) {
	e.Helper()
	if !errors.Is(err, target) {
		e.Fatalf("%s: error %v, want one that matches %v", what, err, target)
	}
}

// outcome checks what an error says about whether its operation took effect.
func (e *env) outcome(err error, want client.Outcome, maybeApplied bool) {
	e.Helper()
	var ce *client.Error
	if !errors.As(err, &ce) {
		e.Fatalf("%v is no *client.Error", err)
	}
	if ce.Outcome != want || client.MaybeApplied(err) != maybeApplied {
		e.Errorf("%v: outcome %v, maybe applied %v, want %v and %v", err, ce.Outcome, client.MaybeApplied(err), want, maybeApplied)
	}
}

// equal checks a value.
func equal[T any](e *env, what string, got, want T) {
	e.Helper()
	if !reflect.DeepEqual(got, want) {
		e.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// wait waits for a channel to be closed, or to yield.
func (e *env) wait(c <-chan struct{}, what string) {
	e.Helper()
	select {
	case <-c:
	case <-e.ctx.Done():
		e.Fatalf("waited in vain for %s", what)
	}
}

// poll asks until the answer is yes. It is for what cannot be waited for otherwise.
func (e *env) poll(what string, ok func() bool) {
	e.Helper()
	every := time.NewTicker(5 * time.Millisecond)
	defer every.Stop()
	for !ok() {
		select {
		case <-every.C:
		case <-e.ctx.Done():
			e.Fatalf("waited in vain for %s", what)
		}
	}
}

// spawn runs f in a goroutine and returns where its result comes.
func (e *env) spawn(f func() error) <-chan error {
	result := make(chan error, 1)
	// Part of the entry; owned by whoever waits for its result; ends with f.
	go func() { result <- f() }()
	return result
}

// result waits for what spawn started.
func (e *env) result(c <-chan error) error {
	e.Helper()
	select {
	case err := <-c:
		return err
	case <-e.ctx.Done():
		e.Fatal("waited in vain for a call to return")
		return nil
	}
}

// event waits for the event of a watch.
func (e *env) event(w *client.Watch) client.Event {
	e.Helper()
	ev, err := w.Wait(e.ctx)
	if err != nil && ev.Err == nil {
		e.Fatal(err)
	}
	return ev
}

// fired reports whether a watch has its event.
func fired(w *client.Watch) bool {
	select {
	case <-w.Done():
		return true
	default:
		return false
	}
}
