package session

import (
	"net"

	"github.com/lockkeeper/lockkeeper/conn"
)

// warnPlain says, once in the Keeper's life, that credentials are about to go over a connection that whoever sits on the way can
// read: some schemes send the password itself, others what it can be guessed from. Excepted is what does not leave the machine:
// nobody reads it on the way, and behind it there may be a proxy that encrypts. It must be called without a lock.
func (k *Keeper) warnPlain(fc *conn.Conn, server, scheme string) {
	if fc.Encrypted() || local(fc.RemoteAddr()) || !k.warned.CompareAndSwap(false, true) {
		return
	}
	k.cfg.Logger.Warn("zk: credentials go over a connection without TLS", "server", server, "scheme", scheme)
}

// local reports whether an address belongs to this machine.
func local(a net.Addr) bool {
	switch a := a.(type) {
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	}
	return false
}
