// Package leakcheck fails a package's tests when goroutines of ours are left after them.
//
//	func TestMain(m *testing.M) { leakcheck.Main(m) }
//
// Only goroutines with code of this module on their stack, or started by it, count; what the runtime and other libraries keep
// is their business.
package leakcheck
