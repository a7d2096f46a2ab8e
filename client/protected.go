package client

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/lockkeeper/lockkeeper/session"
)

// maxRecoveries is how many connections may be lost in a row before a CreateProtected gives up: a server that closes the
// connection for a request does so every time.
const maxRecoveries = 10

// CreateProtected is Create for a znode that can be found again when the reply is lost. Its name begins with "_c_", a GUID and
// "-", as that of Curator's withProtection does: "/a/b" becomes "/a/_c_<GUID>-b", and the path that is returned says so.
//
// After a connection loss it finds out, on the next connection of the same session, what became of the create, so that it
// returns exactly one znode. If it cannot, because ctx or the session ends, ten connections in a row are lost, with FailFast there
// is none, or the parent cannot be listed (for a sequential mode that takes PermRead, and a list within the ReceiveLimit),
// MaybeApplied is true of the error, and the session goes on to delete what may have been created and it can find, as long as it
// lives (CleanupsPending). Once it is over, an ephemeral znode is gone with it; any other may remain. In a new
// session nothing is created: the error matches ErrSessionExpired. Servers with ZOOKEEPER-4907 (before 3.9.4, with the Netty
// connection factory) may still execute a request of the lost connection after they have answered on the next one: with those a
// second znode of the same GUID can appear later.
func (c *Client) CreateProtected(ctx context.Context, path string, data []byte, mode CreateMode, acl []ACL) (string, Stat, error) {
	err := c.checkProtected(ctx, path, mode)
	if err != nil {
		return "", Stat{}, &Error{Op: "create", Path: path, Err: err, Outcome: session.NotSent}
	}
	gn := c.Generation() // of this session only can it be said what a create has left
	slash := strings.LastIndexByte(path, '/')
	p := &protectedCreate{gn: gn, g: gn.Group(), dir: path[:max(slash, 1)], prefix: newPrefix(), data: data, mode: mode, acl: acl}
	p.path = path[:slash+1] + p.prefix + path[slash+1:]
	created, st, err := p.run(ctx)
	if e, ok := err.(*Error); ok {
		e.Path = path // that with the GUID means nothing to the caller
	}
	return created, st, err
}

func (c *Client) checkProtected(ctx context.Context, path string, mode CreateMode) error {
	switch {
	case !c.usable():
		return ErrZeroValue
	case ctx == nil:
		return ErrNilContext
	}
	if err := checkCreate(path, mode); err != nil {
		return err
	}
	if path == "/" && !mode.IsSequential() {
		return &PathError{Path: path, Offset: 1, Reason: "no name"}
	}
	return nil
}

// protectedCreate is a CreateProtected under way.
type protectedCreate struct {
	gn          Generation
	g           *Group
	path        string // with the GUID
	dir, prefix string // where to look, and for what
	data        []byte
	mode        CreateMode
	acl         []ACL
	made        []string // by creates that were answered, while it was not known what else there is
}

// run creates the znode. What may have been created and cannot be returned is left to the session to be deleted.
func (p *protectedCreate) run(ctx context.Context) (string, Stat, error) {
	h := p.g.Create(p.path, p.data, p.mode, p.acl)
	p.g.run(ctx)
	created, st, err := h.Path()
	if !MaybeApplied(err) {
		return created, st, err
	}
	for tries := 0; tries < maxRecoveries && (errors.Is(err, ErrConnectionLoss) || errors.Is(err, ErrThrottled)); tries++ {
		if errors.Is(err, ErrThrottled) && !waited(ctx, throttledPause) {
			err = ctx.Err()
			break
		}
		created, st, err = p.recover(ctx)
		if err == nil || errors.Is(err, ErrNoNode) { // without a parent there is nothing of ours either
			return created, st, err
		}
	}
	for _, path := range p.made {
		p.gn.Delete(new(Cleanup), path, nil)
	}
	if p.mode.IsSequential() {
		p.gn.DeleteMatching(new(Cleanup), p.dir, p.prefix)
	} else {
		p.gn.Delete(new(Cleanup), p.path, nil)
	}
	return "", Stat{}, &Error{Op: "create", Path: p.path, Err: cause(err), Outcome: session.Unknown, write: true}
}

// throttledPause is how long to leave a server in peace that is too busy.
const throttledPause = 100 * time.Millisecond

// waited waits, and reports whether ctx lives on.
func waited(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// cause returns what an Error says about why, and any other error as it is.
func cause(err error) error {
	if e, ok := err.(*Error); ok {
		return e.Err
	}
	return err
}

// recover finds out what became of a create whose reply was lost. It does not search: the server of the new connection may
// be behind, and the create itself may still be on its way. It creates again, under the same GUID, and looks in the same
// flight. The second create goes through the leader, so when it has been answered the first one has either been applied,
// and this server knows it, or never will be (docs/locks.md I12). A sync and a look would be enough for the server that is
// behind, and would need another create, and another look, whenever they find nothing.
func (p *protectedCreate) recover(ctx context.Context) (string, Stat, error) {
	if !p.mode.IsSequential() {
		return p.recoverPlain(ctx)
	}
	h, kids := p.g.Create(p.path, p.data, p.mode, p.acl), p.g.Children(p.dir)
	p.g.run(ctx)
	created, st, err := h.Path()
	if err != nil {
		return "", Stat{}, err
	}
	p.made = append(p.made, created)
	own, err := p.find(kids)
	switch {
	case err != nil:
		return "", Stat{}, err
	case len(own) < 2:
		return created, st, nil
	}
	return p.choose(ctx, created, st, own)
}

// recoverPlain is recover for a znode without a number: it exists once at most, and nobody else has this GUID.
func (p *protectedCreate) recoverPlain(ctx context.Context) (created string, st Stat, err error) {
	for range maxRaces {
		h, look := p.g.Create(p.path, p.data, p.mode, p.acl), p.g.Exists(p.path)
		p.g.run(ctx)
		created, st, err = h.Path()
		if !errors.Is(err, ErrNodeExists) {
			return created, st, err
		}
		found, ok, why := look.Stat()
		if ok || why != nil {
			return p.path, found, why
		}
		// Somebody has deleted it since.
	}
	return "", Stat{}, err
}

// find returns the paths of the znodes with the GUID.
func (p *protectedCreate) find(kids ChildrenCall) (own []string, err error) {
	prefix := []byte(p.prefix)
	_, err = kids.scan(func(name []byte) bool {
		if bytes.HasPrefix(name, prefix) {
			own = append(own, childPath(p.dir, string(name)))
		}
		return true
	})
	return own, err
}

// choose returns the oldest of the own znodes, which others may have seen before the connection was lost, and has the
// others deleted. An ephemeral one counts only if it belongs to this session.
func (p *protectedCreate) choose(ctx context.Context, created string, st Stat, own []string) (string, Stat, error) {
	looks := make([]ExistsCall, len(own))
	for i, path := range own {
		if path != created {
			looks[i] = p.g.Exists(path)
		}
	}
	p.g.run(ctx)
	best, bestStat := created, st
	for i, path := range own {
		if path == created {
			continue
		}
		other, ok, err := looks[i].Stat()
		if err != nil {
			return "", Stat{}, err
		}
		if ok && other.Czxid < bestStat.Czxid && (!p.mode.IsEphemeral() || other.EphemeralOwner == p.gn.SessionID()) {
			best, bestStat = path, other
		}
	}
	var surplus []*Cleanup
	for _, path := range own {
		if path != best {
			cl := new(Cleanup)
			p.gn.Delete(cl, path, nil)
			surplus = append(surplus, cl)
		}
	}
	for _, cl := range surplus {
		_ = cl.Wait(ctx) // the session goes on with it in any case, and the znode to return exists
	}
	return best, bestStat, nil
}

// newPrefix returns "_c_" with a random UUID and a hyphen. It has to be unique, not secret.
func newPrefix() string {
	var raw [16]byte
	for i := range 2 {
		v := rand.Uint64()
		for j := range 8 {
			raw[8*i+j] = byte(v >> (8 * j))
		}
	}
	b := []byte("_c_")
	for _, part := range [...][]byte{raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:]} {
		b = append(hex.AppendEncode(b, part), '-')
	}
	return string(b)
}
