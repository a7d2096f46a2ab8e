package client

// WatchCount returns the number of watches that the current session holds, for tests of leaks.
func (c *Client) WatchCount() int { return c.keep.Current().WatchCount() }

// ParseConfig is parseConfig.
func ParseConfig(data []byte) Config { return parseConfig(data) }

// Poison overwrites the memory of the replies of a round, as the replies of the next one may.
func (g *Group) Poison() {
	for i := range g.g.Len() {
		b := g.g.Body(i)
		for k := range b {
			b[k] = 0xaa
		}
	}
}
