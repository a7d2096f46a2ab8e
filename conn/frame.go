package conn

import (
	"encoding/binary"
	"math"
)

// lengthSize is the size in bytes of the length in front of a frame's body, which does not count itself.
const lengthSize = 4

// BeginFrame appends the place of a frame's length to dst; append the body, then call EndFrame with the start that is
// returned here. Frames may follow one another in one slice.
func BeginFrame(dst []byte) (b []byte, start int) {
	return append(dst, 0, 0, 0, 0), len(dst)
}

// EndFrame writes the length of the frame that begins at start and ends with dst. A body above the protocol's 1<<31-1 bytes
// is the caller's to refuse before: the length is then the largest possible, which every server answers by closing.
func EndFrame(dst []byte, start int) {
	n := min(len(dst)-start-lengthSize, math.MaxInt32)
	binary.BigEndian.PutUint32(dst[start:], uint32(n))
}
