//go:build !unix

package scale

// fileLimit returns 0: these systems have no such limit, or none that can be asked for.
func fileLimit() int { return 0 }
