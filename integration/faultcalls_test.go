package integration

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/lockkeeper/lockkeeper/client"
)

// register is a znode with one writer, whose values are unique, and what everybody was told of it.
type register struct {
	path string

	mu      sync.Mutex // guards what follows; a leaf
	floor   client.Stat
	wrote   map[string]outcome // by value
	version map[int32]string   // the value of each version, from the replies to writes
	read    map[int32]string   // the same from reads
	count   int
}

func newRegister(path string, st client.Stat) *register {
	return &register{path: path, floor: st, wrote: map[string]outcome{"first": ok}, version: map[int32]string{0: "first"},
		read: make(map[int32]string)}
}

// next returns a value that was never written.
func (r *register) next() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	return []byte("value " + strconv.Itoa(r.count))
}

// seen returns the newest state that any call has shown: whatever begins now must not show an older one.
func (r *register) seen() client.Stat {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.floor
}

// written notes the result of a write.
func (r *register) written(t *testing.T, value []byte, before, st client.Stat, o outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrote[string(value)] = o
	if o != ok {
		return
	}
	if st.Version <= before.Version || st.Mzxid <= before.Mzxid {
		t.Errorf("%s: a write made version %d (zxid %#x) after version %d (%#x)", r.path, st.Version, st.Mzxid, before.Version, before.Mzxid)
	}
	if other, twice := r.version[st.Version]; twice {
		t.Errorf("%s: %q and %q are both version %d", r.path, other, value, st.Version)
	}
	r.version[st.Version] = string(value)
	r.raise(st)
}

// shown notes the result of a read that began when before was known. Data nil means that it was not read.
func (r *register) shown(t *testing.T, data []byte, before, st client.Stat) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if st.Version < before.Version || st.Mzxid < before.Mzxid {
		t.Errorf("%s: a read went back from version %d (zxid %#x) to %d (%#x)", r.path, before.Version, before.Mzxid, st.Version, st.Mzxid)
	}
	if data != nil {
		r.read[st.Version] = string(data)
	}
	r.raise(st)
}

func (r *register) raise(st client.Stat) {
	if st.Version > r.floor.Version {
		r.floor = st
	}
}

// verify reads the znode and compares; it returns how many writes of unknown outcome were applied.
func (r *register) verify(t *testing.T, c *client.Client) int {
	t.Helper()
	data, st, err := c.Get(patient(t), r.path)
	if err != nil {
		t.Fatal(err)
	}
	r.shown(t, data, r.seen(), st)
	r.mu.Lock()
	defer r.mu.Unlock()
	for version, value := range r.read {
		if o, called := r.wrote[value]; !called || o != ok && o != unknownWrite {
			t.Errorf("%s: version %d is %q, the outcome of its write was %d (called: %v)", r.path, version, value, o, called)
		}
		if told, known := r.version[version]; known && told != value {
			t.Errorf("%s: version %d was read as %q, and written as %q", r.path, version, value, told)
		}
	}
	unknown := 0
	for _, o := range r.wrote {
		if o == unknownWrite {
			unknown++
		}
	}
	extra := int(st.Version) + 1 - len(r.version) // each version is one write, the first one included
	if extra < 0 || extra > unknown {
		t.Errorf("%s: %d writes succeeded, %d are unknown, %d were applied", r.path, len(r.version), unknown, st.Version+1)
	}
	return extra
}

func (l *load) setter(r *register) func(context.Context) error {
	return func(ctx context.Context) error {
		value, before := r.next(), r.seen()
		st, err := l.c.Set(ctx, r.path, value, client.AnyVersion)
		r.written(l.t, value, before, st, classify(l.t, err, true))
		return err
	}
}

func (l *load) creator() func(context.Context) error {
	n := 0
	return func(ctx context.Context) error {
		n++
		name := strconv.Itoa(n)
		_, _, err := l.c.Create(ctx, l.dir+"/made/"+name, nil, client.ModePersistent, nil)
		if errors.Is(err, client.ErrNodeExists) {
			l.t.Errorf("%s was created twice", name)
		}
		l.made[name] = classify(l.t, err, true)
		return err
	}
}

func (l *load) getter(i int) func(context.Context) error {
	return func(ctx context.Context) error {
		i++
		r := l.regs[i%len(l.regs)]
		before := r.seen()
		data, st, err := l.c.Get(ctx, r.path)
		if err == nil {
			r.shown(l.t, data, before, st)
		}
		return err
	}
}

func (l *load) exister() func(context.Context) error {
	i := 0
	return func(ctx context.Context) error {
		i++
		r := l.regs[i%len(l.regs)]
		before := r.seen()
		st, there, err := l.c.Exists(ctx, r.path)
		if err == nil && !there {
			l.t.Errorf("%s is gone", r.path)
		} else if err == nil {
			r.shown(l.t, nil, before, st)
		}
		return err
	}
}
