package recipes

import (
	"context"
	"errors"

	"github.com/lockkeeper/lockkeeper/client"
)

// small is what the recipes have in common that keep a fixed znode, or a few of them, and no queue.
type small struct {
	c   *client.Client
	dir string
	err error // what was wrong with the arguments
}

func newSmall(c *client.Client, path string) small {
	if c == nil {
		return small{nil, path, client.ErrZeroValue}
	}
	return small{c, path, client.ValidatePath(path)}
}

// usable returns what is wrong with the recipe or the context; s may be nil.
func (s *small) usable(ctx context.Context, op string) error {
	if s == nil {
		return &Error{op, "", client.ErrZeroValue}
	}
	b := base{c: s.c, dir: s.dir, err: s.err}
	return b.usable(ctx, op)
}

// path returns the path of the recipe; s may be nil.
func (s *small) path() string {
	if s == nil {
		return ""
	}
	return s.dir
}

// fail wraps the error of an operation, if there is one.
func (s *small) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{op, s.dir, err}
}

// lost says whether err is no more than a lost connection: the same thing can be asked on the next one.
func lost(ctx context.Context, err error) bool {
	return errors.Is(err, client.ErrConnectionLoss) && ctx.Err() == nil
}

// passing says whether what has failed can be done again, on the next connection or in the next session. With FinalExpiry
// there is none, and with FailFast the next try says at once that there is no connection.
func (s *small) passing(ctx context.Context, err error) bool {
	if lost(ctx, err) {
		return true
	}
	return errors.Is(err, client.ErrSessionExpired) && ctx.Err() == nil && s.c.Generation().Err() == nil
}
