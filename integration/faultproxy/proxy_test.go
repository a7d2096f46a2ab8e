package faultproxy_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/integration/faultproxy"
)

// bound is how long a test waits for what must happen; nothing is concluded from reaching it but failure.
const bound = 10 * time.Second

// echo serves connections that get back what they send, until the test ends.
func echo(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	// Acceptor; owned by the test; ends when the listener is closed.
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			// Echo of one connection; owned by the acceptor; ends with the connection.
			go func() {
				_, _ = io.Copy(nc, nc)
				_ = nc.Close()
			}()
		}
	}()
	return ln.Addr().String()
}

func proxy(t *testing.T, target string, opts faultproxy.Options) *faultproxy.Proxy {
	t.Helper()
	p, err := faultproxy.Listen(target, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func dial(t *testing.T, p *faultproxy.Proxy) net.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(bound)); err != nil {
		t.Fatal(err)
	}
	return nc
}

func send(t *testing.T, nc net.Conn, text string) {
	t.Helper()
	if _, err := nc.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, nc net.Conn, text string) {
	t.Helper()
	got := make([]byte, len(text))
	if _, err := io.ReadFull(nc, got); err != nil || string(got) != text {
		t.Fatalf("read %q, %v, want %q", got, err, text)
	}
}

func TestForwardsAndCounts(t *testing.T) {
	p := proxy(t, echo(t), faultproxy.Options{})
	nc := dial(t, p)
	send(t, nc, "hello")
	expect(t, nc, "hello")
	if err := nc.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(nc); err != nil || len(rest) != 0 {
		t.Fatalf("after the half-close: %q, %v, want an orderly end", rest, err)
	}
	if in, out := p.Bytes(faultproxy.ToServer), p.Bytes(faultproxy.ToClient); in != 5 || out != 5 {
		t.Errorf("counted %d and %d bytes, want 5 and 5", in, out)
	}
	if _, total := p.Conns(); total != 1 {
		t.Errorf("accepted %d connections, want 1", total)
	}
}

func TestCutClosesWhatPassesAndAcceptsNew(t *testing.T) {
	p := proxy(t, echo(t), faultproxy.Options{})
	nc := dial(t, p)
	send(t, nc, "a")
	expect(t, nc, "a")
	p.Cut()
	if _, err := nc.Read(make([]byte, 1)); err == nil || errors.Is(err, syscall.ETIMEDOUT) {
		t.Fatalf("read after Cut: %v, want an end", err)
	}
	nc = dial(t, p)
	send(t, nc, "b")
	expect(t, nc, "b")
}

func TestRefuseAndHeal(t *testing.T) {
	p := proxy(t, echo(t), faultproxy.Options{})
	old := dial(t, p)
	send(t, old, "a")
	expect(t, old, "a")
	if err := p.Refuse(); err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("tcp", p.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatalf("dial: %v, want connection refused", err)
	}
	send(t, old, "b")
	expect(t, old, "b")
	if err := p.Heal(); err != nil {
		t.Fatal(err)
	}
	nc := dial(t, p)
	send(t, nc, "c")
	expect(t, nc, "c")
}

// The filter tells when the request has passed; the answer that follows it must wait for Heal.
func TestStallOneDirectionHoldsBackAndHealDelivers(t *testing.T) {
	passed := make(chan struct{}, 2)
	p := proxy(t, echo(t), faultproxy.Options{Filter: func(d faultproxy.Direction) func([]byte) []byte {
		return func(chunk []byte) []byte {
			if d == faultproxy.ToServer {
				passed <- struct{}{}
			}
			return chunk
		}
	}})
	nc := dial(t, p)
	send(t, nc, "a")
	expect(t, nc, "a")
	<-passed
	p.Stall(faultproxy.ToClient)
	send(t, nc, "b")
	<-passed
	if n := p.Bytes(faultproxy.ToClient); n != 1 {
		t.Fatalf("%d bytes reached the client through a stalled direction, want 1", n)
	}
	if err := p.Heal(); err != nil {
		t.Fatal(err)
	}
	expect(t, nc, "b")
}

func TestCloseEndsStalledConnections(t *testing.T) {
	p := proxy(t, echo(t), faultproxy.Options{})
	p.Stall()
	nc := dial(t, p)
	send(t, nc, "a")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Read(make([]byte, 1)); err == nil {
		t.Fatal("a connection outlived the proxy")
	}
}

func TestDelayIsAtLeastWhatWasAsked(t *testing.T) {
	const delay = 20 * time.Millisecond
	p := proxy(t, echo(t), faultproxy.Options{})
	p.Delay(delay)
	nc := dial(t, p)
	began := time.Now()
	send(t, nc, "a")
	expect(t, nc, "a")
	if took := time.Since(began); took < 2*delay {
		t.Fatalf("there and back took %v, want at least %v", took, 2*delay)
	}
}

func TestFilterSeesAndChangesChunks(t *testing.T) {
	p := proxy(t, echo(t), faultproxy.Options{Filter: func(d faultproxy.Direction) func([]byte) []byte {
		return func(chunk []byte) []byte {
			if d == faultproxy.ToServer {
				return bytes.ToUpper(chunk)
			}
			return chunk
		}
	}})
	nc := dial(t, p)
	send(t, nc, "quiet")
	expect(t, nc, "QUIET")
}

// Each connection has a filter of its own, that of the replies knows what was asked.
func TestConnGivesEachConnectionAFilterOfItsOwn(t *testing.T) {
	p := proxy(t, echo(t), faultproxy.Options{Conn: func() func(faultproxy.Direction) func([]byte) []byte {
		asked := make(chan string, 1)
		return func(d faultproxy.Direction) func([]byte) []byte {
			return func(chunk []byte) []byte {
				if d == faultproxy.ToServer {
					asked <- string(chunk)
					return chunk
				}
				return append([]byte(<-asked), chunk...)
			}
		}
	}})
	for _, text := range []string{"a", "b"} {
		nc := dial(t, p)
		send(t, nc, text)
		expect(t, nc, text+text)
	}
}

func TestUnreachableTargetResetsTheClient(t *testing.T) {
	dead := proxy(t, "127.0.0.1:1", faultproxy.Options{})
	if err := dead.Refuse(); err != nil {
		t.Fatal(err)
	}
	p := proxy(t, dead.Addr(), faultproxy.Options{})
	nc, err := net.Dial("tcp", p.Addr())
	if err == nil { // else the reset came while dialling
		defer nc.Close()
		_, err = nc.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("%v, want a reset", err)
	}
}
