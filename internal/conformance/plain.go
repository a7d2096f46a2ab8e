package conformance

import (
	"cmp"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
)

// plain is a connection for bytes that are no frames.
type plain struct {
	net.Conn
	e *env
}

// plain connects to the target without a handshake.
func (e *env) plain() plain {
	e.Helper()
	nc, err := e.tg.dial(e.ctx, "tcp", e.tg.Addr)
	e.must(err)
	e.Cleanup(func() { _ = nc.Close() }) // read from or not, nothing follows
	e.must(nc.SetDeadline(time.Now().Add(bound)))
	return plain{nc, e}
}

func (p plain) write(b []byte) {
	p.e.Helper()
	_, err := p.Write(b)
	p.e.must(err)
}

// frame reads one frame and returns its body.
func (p plain) frame() []byte {
	p.e.Helper()
	size := make([]byte, 4)
	_, err := io.ReadFull(p, size)
	p.e.must(err)
	body := make([]byte, binary.BigEndian.Uint32(size))
	_, err = io.ReadFull(p, body)
	p.e.must(err)
	return body
}

// sortClients brings the identities of a connection into an order.
func sortClients(list []proto.ClientInfo) {
	slices.SortFunc(list, func(a, b proto.ClientInfo) int {
		return cmp.Or(cmp.Compare(a.AuthScheme, b.AuthScheme), cmp.Compare(a.User, b.User))
	})
}
