package recipes

import (
	"testing"
	"unsafe"
)

// A lock and its release allocate no more than 600 bytes together, and the lease is the most of that: 320 is a size class.
func TestLeaseIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(Lease{}); unsafe.Sizeof(uintptr(0)) == 8 && n > 320 {
		t.Errorf("a Lease has %d bytes", n)
	}
}
