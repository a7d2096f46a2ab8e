package session

// Newest returns the newest change, and a channel that is closed when another one follows, or when none ever will. Between the
// two nothing is missed, but whoever looks late sees the newest change only.
func (k *Keeper) Newest() (Change, <-chan struct{}) {
	c := k.changes.current()
	return c.Change, c.ready
}
