package conn

import "net"

// readBuffer holds what has arrived and was not yet handed out: buf[r:w], and behind it, while a frame is collected that is
// too long to be allocated for at once, the chunks.
type readBuffer struct {
	small  []byte // what buf is at first and when large frames have stopped; never replaced
	buf    []byte
	r, w   int
	rounds int      // how many times in a row the buffer ran empty without needing more than small has
	chunks [][]byte // each but the last is full
	extra  int      // bytes in chunks
}

func (b *readBuffer) init() {
	b.small = make([]byte, smallBuffer)
	b.buf = b.small
}

// have returns how many bytes have arrived and were not handed out.
func (b *readBuffer) have() int { return b.w - b.r + b.extra }

// read waits for bytes of nc and adds what comes with one Read. The caller has made room with reserve.
func (b *readBuffer) read(nc net.Conn) (int, error) {
	if len(b.chunks) == 0 {
		n, err := nc.Read(b.buf[b.w:])
		b.w += n
		return n, err
	}
	last := &b.chunks[len(b.chunks)-1]
	n, err := nc.Read((*last)[len(*last):cap(*last)])
	*last = (*last)[:len(*last)+n]
	b.extra += n
	return n, err
}

// reserve makes room for at least one byte more, when need bytes from r on are wanted and have not all arrived. What it
// allocates is at most readAhead more than what has arrived.
func (b *readBuffer) reserve(need int) {
	if len(b.chunks) > 0 {
		if last := b.chunks[len(b.chunks)-1]; len(last) == cap(last) {
			b.addChunk(need)
		}
		return
	}
	if b.r == b.w {
		b.settle()
	}
	if b.r+need > len(b.buf) {
		b.compact()
	}
	switch {
	case b.w < len(b.buf): // the long frame first fills what is there
	case need <= b.w+readAhead:
		b.resize(min(roundUp(need), b.w+readAhead))
	default:
		b.addChunk(need)
	}
}

func (b *readBuffer) addChunk(need int) {
	b.chunks = append(b.chunks, make([]byte, 0, min(readAhead, need-b.have())))
}

// join moves a frame of need bytes that was collected in chunks, all of which have arrived, into the buffer.
func (b *readBuffer) join(need int) {
	if len(b.chunks) == 0 {
		return
	}
	b.resize(roundUp(need))
	for _, c := range b.chunks {
		b.w += copy(b.buf[b.w:], c)
	}
	b.chunks, b.extra = nil, 0
}

// compact moves what is unread to the front. A buffer that was read full, with a frame cut off at its end, is too small for
// the bursts that arrive, so it is doubled on that occasion.
func (b *readBuffer) compact() {
	if b.r > 0 && b.w == len(b.buf) && b.w < readAhead {
		b.resize(b.doubled())
		return
	}
	b.w = copy(b.buf, b.buf[b.r:b.w])
	b.r = 0
}

// settle starts again at the front of the empty buffer, with a larger one if the last burst filled it, and with the small one
// if that has been enough for some time. A burst now and then keeps the large buffer, so that it is not allocated each time.
func (b *readBuffer) settle() {
	switch {
	case b.w == len(b.buf) && b.w < readAhead:
		b.r, b.w, b.rounds = 0, 0, 0
		b.resize(b.doubled())
	case b.w > len(b.small):
		b.rounds = 0
	default:
		b.rounds++
	}
	if b.rounds >= smallRounds && len(b.buf) > len(b.small) {
		b.buf = b.small
	}
	b.r, b.w = 0, 0
}

// doubled returns the size of the next larger buffer.
func (b *readBuffer) doubled() int { return min(2*len(b.buf), readAhead) }

// resize replaces the buffer by one of n bytes and moves what is unread to its front.
func (b *readBuffer) resize(n int) {
	buf := make([]byte, n)
	b.w = copy(buf, b.buf[b.r:b.w])
	b.r = 0
	b.buf = buf
}

// roundUp adds room for the frame to be a little longer the next time.
func roundUp(n int) int { return (n + 2*smallBuffer - 1) &^ (smallBuffer - 1) }
