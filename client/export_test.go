package client

// WatchCount returns the number of watches that the current session holds, for tests of leaks.
func (c *Client) WatchCount() int { return c.keep.Current().WatchCount() }
