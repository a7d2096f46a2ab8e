package recipes

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/lockkeeper/lockkeeper/client"
)

// base is what all recipes with one queue under one path have in common. It has no state of its own but what saves work, so
// any number of goroutines may contend through it at once.
type base struct {
	settings
	c   *client.Client
	dir string
	// counter is the path of the znode whose version tells the holds of a fixed znode apart; "" of a lock with a queue.
	counter string
	err     error // what was wrong with the arguments
	host    string
	key     any // holdKey: under which a context carries a hold of this lock

	owner atomic.Pointer[ownerData] // publishes the default data of the newest session
	pool  sync.Pool                 // *contender or *taker, ready for use
	line  line                      // with LocalQueue and HandOver
	gate  *base                     // whoever wants a lease of Curator's semaphore holds this mutex while it is decided
}

var errNilOption = errors.New("nil option")

type ownerData struct {
	session int64
	data    []byte
}

// newBase checks the arguments; k is any of the kinds that contend with each other.
func newBase(c *client.Client, path string, k kind, opts []Option) *base {
	b := &base{c: c, dir: path}
	b.host, _ = os.Hostname() // without a name the data says less, which is no reason to fail
	if c == nil {
		b.err = client.ErrZeroValue
		return b
	}
	if b.err = client.ValidatePath(path); b.err != nil {
		return b
	}
	for _, o := range opts {
		err := errNilOption
		if o != nil {
			err = o.apply(&b.settings)
		}
		if err != nil && b.err == nil {
			b.err = err
		}
	}
	if b.err == nil {
		b.err = b.settings.check(k)
	}
	if b.stem != nil && b.err == nil {
		b.err = client.ValidatePath(child(path, []byte(*b.stem+"0000000000")))
	}
	if b.curator {
		b.dir = child(path, []byte("leases"))
		b.gate = &base{c: c, dir: child(path, []byte("locks")), host: b.host, err: b.err}
		b.gate.settings = settings{acl: b.acl, plain: b.plain, noOwn: b.noOwn, relist: b.relist, noAhead: b.noAhead, failGone: b.failGone,
			data: b.data, ownData: b.ownData}
		b.gate.key = holdKey{c.Identity(), c.FullPath(b.gate.dir), lockMark}
	}
	b.key = holdKey{c.Identity(), c.FullPath(path), b.names(k)}
	return b
}

// names is whose names the contenders have: holds of locks with others do not exclude each other.
func (s *settings) names(k kind) string {
	switch {
	case s.stem != nil:
		return "plain " + *s.stem
	case s.curator:
		return leaseMark
	case k == permit:
		return "permits"
	case k == latch && !s.latch:
		return lockMark
	case k == fixed:
		return "fixed"
	}
	return claim{kind: k, layout: s.layout}.mark()
}

// usable returns what is wrong with the recipe or the context; b may be nil.
func (b *base) usable(ctx context.Context, op string) error {
	switch {
	case b == nil:
		return &Error{op, "", client.ErrZeroValue}
	case b.err != nil:
		return &Error{op, b.path(), b.err}
	case ctx == nil:
		return &Error{op, b.path(), client.ErrNilContext}
	case b.c == nil:
		return &Error{op, b.path(), client.ErrZeroValue}
	}
	if err := ctx.Err(); err != nil {
		return &Error{op, b.path(), err}
	}
	return nil
}

// acquire is Lock and TryLock of every recipe.
func (b *base) acquire(ctx context.Context, op string, want claim, try bool) (*Lease, error) {
	if err := b.usable(ctx, op); err != nil {
		return nil, err
	}
	if l := b.carried(ctx); l != nil {
		return nil, &Error{op, b.path(), l.nested(want.kind)}
	}
	want = b.named(want)
	var l *Lease
	var err error
	if b.local {
		l, err = b.lineUp(ctx, want, try)
	} else {
		l, err = b.contend(ctx, want, try, nil)
	}
	if err != nil {
		return nil, &Error{op, b.path(), err}
	}
	return l, nil
}

// contend makes a contender and waits for its grant. A lease of Curator's semaphore is decided under the mutex, and in the
// session that has that: without it two that decide at once could wait for each other.
func (b *base) contend(ctx context.Context, want claim, try bool, gaveUp []*client.Cleanup) (*Lease, error) {
	if b.counter != "" {
		t := b.taker(try)
		t.gaveUp = gaveUp
		return t.acquire(ctx)
	}
	if b.gate == nil {
		ct := b.contender(want, try)
		ct.gaveUp = gaveUp
		return ct.acquire(ctx)
	}
	want.kind = lease
	for {
		pass, err := b.gate.acquire(ctx, "lock", one(exclusive), try)
		var e *Error
		if errors.As(err, &e) {
			return nil, e.Err
		}
		ct := b.contender(want, try)
		ct.gaveUp, ct.pass = gaveUp, pass
		l, err := ct.acquire(ctx)
		_ = pass.ReleasePipelined() // whatever has become of it
		if !errors.Is(err, errAgain) {
			return l, err
		}
	}
}

// path returns the path of the recipe; b may be nil.
func (b *base) path() string {
	switch {
	case b == nil:
		return ""
	case b.gate != nil:
		return b.gate.dir[:max(1, len(b.gate.dir)-len("/locks"))]
	}
	return b.dir
}

// localWaiters returns how many goroutines wait in memory; b may be nil.
func (b *base) localWaiters() int {
	if b == nil {
		return 0
	}
	return b.line.waiting()
}

// contender returns one from the pool, or a new one.
func (b *base) contender(want claim, try bool) *contender {
	ct, ok := b.pool.Get().(*contender)
	if !ok {
		ct = &contender{entrant: entrant{b: b, q: client.NewQueue()}}
		ct.of = ct
	}
	ct.claim, ct.try, ct.part, ct.gaveUp, ct.pass = want, try, false, nil, nil
	return ct
}

// put takes back the entrant of a lease whose release is confirmed: nothing is under way to its queue any more.
func (b *base) put(e *entrant) { b.pool.Put(e.of) }

// nodeData returns the data for a znode made in this session.
func (b *base) nodeData(gen client.Generation) []byte {
	switch {
	case b.ownData:
		return b.data
	case b.revocable:
		return []byte{} // as Curator has it; it stays so until somebody asks
	}
	id := gen.SessionID()
	if o := b.owner.Load(); o != nil && o.session == id {
		return o.data
	}
	text := append([]byte("host="), b.host...)
	text = strconv.AppendInt(append(text, " pid="...), int64(os.Getpid()), 10)
	if id != 0 {
		text = strconv.AppendUint(append(text, " session=0x"...), uint64(id), 16)
	}
	b.owner.Store(&ownerData{id, text})
	return text
}
