package zktest

// Version is a release of ZooKeeper whose behaviour a Server has.
type Version int

// The releases, as Debian ships them. Version380 has Debian's filter of events by ACL, which upstream came with 3.8.4.
//
// Version393 differs in this (docs/protocol.md section 21, number 41):
//   - the modes of watches that a connection has on one path add up, and a recursive watch is one of data only
//   - checkWatches and removeWatches know types 4 and 5, and look at the own connection's watches alone
//   - notifications carry the zxid of their transaction, but for those that setWatches makes up
//   - a create2 inside a multi is answered with its Stat
//   - exists needs READ
//   - check outside a multi is an unknown operation
//   - a write that cannot be read takes no zxid, and a multi with flags that are no mode cannot be read
const (
	Version380 Version = iota
	Version393
)

// String returns the number of the release.
func (v Version) String() string {
	if v == Version393 {
		return "3.9.3"
	}
	return "3.8.0"
}

// Imitate sets the release whose behaviour the server has. The default is Version380.
func Imitate(v Version) Option {
	return func(c *config) { c.version = v }
}

// is39 reports whether the server behaves as 3.9.3. It does not change after New.
func (s *Server) is39() bool { return s.cfg.version >= Version393 }
