package leakcheck

import (
	"net"
	"testing"
)

func TestSocketsSeesOneUntilItIsClosed(t *testing.T) {
	before, known := Sockets()
	if !known {
		t.Log("the sockets of this process cannot be counted here")
		return
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := Sockets(); n != before+1 {
		t.Errorf("%d sockets with one more, %d before", n, before)
	}
	_ = ln.Close()
	if n := waitSockets(before); n != 0 {
		t.Errorf("%d sockets left", n)
	}
}
