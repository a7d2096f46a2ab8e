package wirecount

import (
	"encoding/binary"

	"github.com/lockkeeper/lockkeeper/proto"
)

const (
	lengthSize = 4
	// frameLimit is more than any server takes or gives; a larger length is the beginning of something else.
	frameLimit = 64 << 20
)

// stream cuts one direction of a connection into frames. It keeps of a frame what may be its header, and its last byte.
type stream struct {
	start [lengthSize + proto.ReplyHeaderSize]byte
	seen  int // bytes of the frame so far, its length included
	size  int // of the body, known once the length has been seen
	last  byte
}

// frame is what is looked at of one; it is valid during the call that gets it.
type frame struct {
	header []byte // the beginning of the body: all of it, or as much as a reply's header
	size   int    // of the body
	last   byte   // of the body
}

// cut gives each frame that chunk completes to found, and stops at the first error: found's, or that of a length.
func (s *stream) cut(chunk []byte, found func(frame) error) error {
	for len(chunk) > 0 {
		n := min(len(chunk), s.missing())
		if s.seen < len(s.start) {
			copy(s.start[s.seen:], chunk[:n])
		}
		s.seen += n
		s.last = chunk[n-1]
		chunk = chunk[n:]
		if s.seen == lengthSize {
			size := binary.BigEndian.Uint32(s.start[:])
			if size > frameLimit {
				return &StreamError{What: "the length of a frame", Bytes: string(s.start[:lengthSize])}
			}
			s.size = int(size)
		}
		if s.missing() > 0 {
			continue
		}
		f := frame{header: s.start[lengthSize:min(s.seen, len(s.start))], size: s.size, last: s.last}
		s.seen = 0
		if err := found(f); err != nil {
			return err
		}
	}
	return nil
}

// missing is how many bytes there are until the end of the length or of the body.
func (s *stream) missing() int {
	if s.seen < lengthSize {
		return lengthSize - s.seen
	}
	return lengthSize + s.size - s.seen
}
