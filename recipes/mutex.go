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

// Mutex is a lock that one holder at a time can have, among all processes that use its path, first come first served. A
// Mutex has no state of its own: any number of goroutines may call Lock at once, and each is a contender with a znode of
// its own.
type Mutex struct {
	settings
	c    *client.Client
	dir  string
	err  error // what was wrong with the arguments of NewMutex
	host string

	owner atomic.Pointer[ownerData] // publishes the default data of the newest session
	pool  sync.Pool                 // *contender, ready for use
}

var errNilOption = errors.New("nil option")

type ownerData struct {
	session int64
	data    []byte
}

// NewMutex returns the mutex of path, whose children are its znodes; path and what is missing above it are created as
// containers when first needed. It does not talk to the ensemble. A bad path or option is the error of every method.
func NewMutex(c *client.Client, path string, opts ...Option) *Mutex {
	m := &Mutex{c: c, dir: path}
	m.host, _ = os.Hostname() // without a name the data says less, which is no reason to fail
	if c == nil {
		m.err = client.ErrZeroValue
		return m
	}
	if m.err = client.ValidatePath(path); m.err != nil {
		return m
	}
	for _, o := range opts {
		err := errNilOption
		if o != nil {
			err = o.apply(&m.settings)
		}
		if err != nil && m.err == nil {
			m.err = err
		}
	}
	return m
}

// Path returns the path of the mutex.
func (m *Mutex) Path() string {
	if m == nil {
		return ""
	}
	return m.dir
}

// Lock waits until the mutex is acquired or ctx ends; ctx bounds the wait, not the hold. When it fails, it returns within
// CleanupGrace of the end of ctx, and its znode is gone or the error matches ErrCleanupPending as well.
func (m *Mutex) Lock(ctx context.Context) (*Lease, error) { return m.acquire(ctx, "lock", false) }

// TryLock acquires the mutex if nobody is ahead, and otherwise returns an error that matches ErrNotAcquired, leaving
// nothing behind. It waits for the ensemble's answer, but for no other contender.
func (m *Mutex) TryLock(ctx context.Context) (*Lease, error) { return m.acquire(ctx, "trylock", true) }

func (m *Mutex) acquire(ctx context.Context, op string, try bool) (*Lease, error) {
	switch {
	case m == nil:
		return nil, &Error{op, "", client.ErrZeroValue}
	case m.err != nil:
		return nil, &Error{op, m.dir, m.err}
	case ctx == nil:
		return nil, &Error{op, m.dir, client.ErrNilContext}
	case m.c == nil:
		return nil, &Error{op, m.dir, client.ErrZeroValue}
	}
	if err := ctx.Err(); err != nil {
		return nil, &Error{op, m.dir, err}
	}
	ct := m.contender(try)
	l, err := ct.acquire(ctx)
	if err != nil {
		return nil, &Error{op, m.dir, err}
	}
	return l, nil
}

// contender returns one from the pool, or a new one.
func (m *Mutex) contender(try bool) *contender {
	ct, ok := m.pool.Get().(*contender)
	if !ok {
		ct = &contender{m: m, q: client.NewQueue()}
	}
	ct.try = try
	return ct
}

// put takes back the contender of a lease whose release is confirmed: nothing is under way to its queue any more.
func (m *Mutex) put(ct *contender) { m.pool.Put(ct) }

// nodeData returns the data for a znode made in this session.
func (m *Mutex) nodeData(gen client.Generation) []byte {
	if m.ownData {
		return m.data
	}
	id := gen.SessionID()
	if o := m.owner.Load(); o != nil && o.session == id {
		return o.data
	}
	b := append([]byte("host="), m.host...)
	b = strconv.AppendInt(append(b, " pid="...), int64(os.Getpid()), 10)
	if id != 0 {
		b = strconv.AppendUint(append(b, " session=0x"...), uint64(id), 16)
	}
	m.owner.Store(&ownerData{id, b})
	return b
}
