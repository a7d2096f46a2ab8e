package recipes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/lockkeeper/lockkeeper/client"
)

// Member is a member of a group, such as one instance of a service: an ephemeral znode of a fixed name below the path of the
// group, with data that others can read, such as an address. Run stays a member through reconnects and from session to
// session. All methods may be called from any goroutine.
//
// Failure model: a member whose process has died, or cannot be reached, is listed until its session expires, and one that lives
// can be missing, for as long as its session has expired and it has not joined again. So the list is a hint whom to ask,
// and no lock. A name belongs to one session at a time. After an expiry the znode of the former session may still be there:
// a Member knows the sessions in which it was one, waits until the ensemble has deleted what is left of those, and joins then,
// for a znode that it took for its own would vanish under it. The znode of anybody else under the name is an error that
// matches ErrNameTaken; a process that starts again within its predecessor's session timeout gets that too.
type Member struct {
	s    small // of the znode
	dir  string
	data []byte

	mu     sync.Mutex
	former []int64 // sessions in which the znode was made, or may have been
}

// ErrNameTaken is matched by every NameTakenError.
var ErrNameTaken = errors.New("name is taken")

// NameTakenError says that the znode of the name that a Member wants belongs to somebody else. It matches ErrNameTaken.
type NameTakenError struct {
	Node  string
	Owner int64 // session of the znode; 0 if it is not ephemeral
}

func (e *NameTakenError) Error() string {
	if e.Owner == 0 {
		return ErrNameTaken.Error() + ": " + e.Node + " is not ephemeral"
	}
	return fmt.Sprintf("%v: %s belongs to session 0x%x", ErrNameTaken, e.Node, uint64(e.Owner))
}

// Is reports whether target is ErrNameTaken.
func (e *NameTakenError) Is(target error) bool { return target == ErrNameTaken }

// NewMember returns the member called name of the group of path, with its data, which is copied. It does not talk to the
// ensemble. A bad path or name is the error of every method.
func NewMember(c *client.Client, path, name string, data []byte) *Member {
	m := &Member{newSmall(c, child(path, []byte(name))), path, slices.Clone(data), sync.Mutex{}, nil}
	if m.s.err == nil && (name == "" || strings.Contains(name, "/")) {
		m.s.err = fmt.Errorf("%q is no name of a member", name)
	}
	return m
}

func (m *Member) small() *small {
	if m == nil {
		return nil
	}
	return &m.s
}

// Node returns the path of the member's znode, "" of a nil one.
func (m *Member) Node() string { return m.small().path() }

// Join makes the znode, and what is missing above it, and returns when it is there and belongs to the present session; that
// it does already is fine. It waits for the end of what is left of a former session. It does not stay: see Run.
func (m *Member) Join(ctx context.Context) error {
	s := m.small()
	if err := s.usable(ctx, "join"); err != nil {
		return err
	}
	for {
		err := m.join(ctx, s.c.Generation())
		if !s.passing(ctx, err) {
			return s.fail("join", err)
		}
	}
}

// Run joins, and joins again whenever the znode is gone, with an expired session or by somebody's hand, until ctx ends. Then it
// leaves, and returns nil, or an error that matches ErrCleanupPending if the end of the znode was not confirmed within
// CleanupGrace. Any other error says why it is not a member any more, such as ErrNameTaken.
func (m *Member) Run(ctx context.Context) error {
	s := m.small()
	if err := s.usable(ctx, "member"); err != nil {
		return err
	}
	for ctx.Err() == nil {
		gen := s.c.Generation()
		err := m.join(ctx, gen)
		if err == nil {
			err = m.stay(ctx, gen)
		}
		if ctx.Err() == nil && err != nil && !s.passing(ctx, err) {
			return s.fail("member", err)
		}
	}
	grace, cancel := graceful(ctx)
	defer cancel()
	return m.Leave(grace)
}

// Leave deletes the znode if it belongs to the present session, and waits until that is confirmed or ctx ends: then the error
// matches ErrCleanupPending, and the session goes on with it. While Run is running it would join again: end its ctx instead.
func (m *Member) Leave(ctx context.Context) error {
	s := m.small()
	if err := s.usable(ctx, "leave"); err != nil {
		return err
	}
	gen := s.c.Generation()
	if !slices.Contains(m.sessions(), gen.SessionID()) {
		return nil
	}
	// The owner is asked first, since a name can be somebody else's by now. If it cannot be asked the znode may be ours.
	if stat, ok, err := s.c.Exists(ctx, s.dir); err == nil && (!ok || stat.EphemeralOwner != gen.SessionID()) {
		return nil
	}
	var c client.Cleanup
	gen.Delete(&c, s.dir, nil)
	err := c.Wait(ctx)
	done, result := c.Result()
	switch {
	case !done:
		err = join(ErrCleanupPending, err)
	case errors.Is(result, client.ErrSessionExpired), errors.Is(result, client.ErrNoNode):
		err = nil
	default:
		err = result
	}
	return s.fail("leave", err)
}

// sessions returns the sessions in which the znode may have been made.
func (m *Member) sessions() []int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.former)
}

// remember adds a session. If the znode is known to be there those before have left nothing, as there is one of the name.
func (m *Member) remember(id int64, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known {
		m.former = m.former[:0]
	}
	if id != 0 && !slices.Contains(m.former, id) {
		m.former = append(m.former, id)
	}
}

// join makes the znode in this session.
func (m *Member) join(ctx context.Context, gen client.Generation) error {
	for {
		switch err := m.create(ctx, gen); {
		case errors.Is(err, client.ErrNoNode):
			if _, _, err = m.s.c.CreateAll(ctx, m.dir, nil, client.ModePersistent, nil); err != nil && !errors.Is(err, client.ErrNodeExists) {
				return err
			}
		case errors.Is(err, client.ErrNodeExists):
			if mine, err := m.mine(ctx, gen); mine || err != nil {
				return err
			}
		default:
			return explain(err)
		}
	}
}

// create makes the znode, bound to the session, so that it cannot be made in the next one unnoticed.
func (m *Member) create(ctx context.Context, gen client.Generation) error {
	g := gen.Group()
	made := g.Create(m.s.dir, m.data, client.ModeEphemeral, nil)
	_ = g.Do(ctx) // the call has its own error
	err := made.Err()
	if err == nil || client.MaybeApplied(err) {
		m.remember(gen.SessionID(), err == nil) // not known before the first answer of a session
	}
	return err
}

// mine looks at the znode that is there. One of a former session is waited for: false without an error says that it is gone.
func (m *Member) mine(ctx context.Context, gen client.Generation) (bool, error) {
	node, w, err := m.s.c.ExistsWatch(ctx, m.s.dir)
	if err != nil {
		return false, err
	}
	defer w.Close()
	switch owner := node.Stat.EphemeralOwner; {
	case !node.Exists:
		return false, nil
	case owner == gen.SessionID() && owner != 0:
		m.remember(owner, true)
		return true, nil
	case !slices.Contains(m.sessions(), owner):
		return false, &NameTakenError{m.s.dir, owner}
	}
	_, err = w.Wait(ctx)
	return false, err
}

// stay returns when the znode is not that of the session any more.
func (m *Member) stay(ctx context.Context, gen client.Generation) error {
	for {
		node, w, err := m.s.c.ExistsWatch(ctx, m.s.dir)
		if lost(ctx, err) {
			continue
		} else if err != nil {
			return err
		}
		if !node.Exists || node.Stat.EphemeralOwner != gen.SessionID() {
			w.Close()
			return nil
		}
		_, err = w.Wait(ctx)
		w.Close()
		if err != nil {
			return err
		}
	}
}

// GroupMember is a member of a group as others see it.
type GroupMember struct {
	Name    string
	Data    []byte // the caller's
	Session int64  // id of the session that the member belongs to
}

// Members returns the members of the group, in the order of their names, as a server that has caught up with the leader knows
// them; whoever leaves at the same time may be listed or not. Without a group there are none. Znodes that are not ephemeral
// are no members. To follow the list, open a cache of the path.
func (m *Member) Members(ctx context.Context) ([]GroupMember, error) {
	s := m.small()
	if err := s.usable(ctx, "members"); err != nil {
		return nil, err
	}
	for {
		all, err := m.list(ctx)
		if !s.passing(ctx, err) {
			return all, s.fail("members", err)
		}
	}
}

func (m *Member) list(ctx context.Context) ([]GroupMember, error) {
	if err := m.s.c.Sync(ctx, m.dir); err != nil && !errors.Is(err, client.ErrNoNode) {
		return nil, err
	}
	names, _, err := m.s.c.Children(ctx, m.dir)
	if errors.Is(err, client.ErrNoNode) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var all []GroupMember
	for part := range slices.Chunk(names, participantBatch) {
		g := m.s.c.Group()
		calls := make([]client.GetCall, len(part))
		for i, name := range part {
			calls[i] = g.Get(child(m.dir, []byte(name)), nil)
		}
		_ = g.Do(ctx) // each has its own error
		for i, name := range part {
			data, stat, err := calls[i].Data()
			switch {
			case errors.Is(err, client.ErrNoNode):
			case err != nil:
				return nil, err
			case stat.EphemeralOwner != 0:
				all = append(all, GroupMember{name, data, stat.EphemeralOwner})
			}
		}
	}
	return all, nil
}
