package admin_test

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/admin"
	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/internal/memnet"
)

// The answers that mean that there is none, whatever was asked.
func TestRefusals(t *testing.T) {
	for word, ask := range methods() {
		for answer, want := range map[string]error{
			"": admin.ErrNoAnswer, "\n": admin.ErrNoAnswer, notServing: admin.ErrNotServing,
			word + notWhitelisted: admin.ErrNotWhitelisted,
		} {
			s, f := server(answer)
			_, err := ask(t.Context(), s)
			failed(t, err, word, want)
			if sent := <-f.words; sent != word {
				t.Errorf("sent %q for %s", sent, word)
			}
		}
	}
}

func TestWord(t *testing.T) {
	for _, word := range []string{"envi", "conf", "~!#A"} {
		s, f := server("a\tb\r\nno newline")
		got, err := s.Word(t.Context(), word)
		if got != "a\tb\r\nno newline" || err != nil {
			t.Errorf("%s: %q, %v", word, got, err)
		}
		if sent := <-f.words; sent != word {
			t.Errorf("sent %q for %s", sent, word)
		}
	}
}

func TestBadWordsAreNotSent(t *testing.T) {
	for _, word := range []string{"", "ruo", "ruok\n", "ruok1", "stmk", "ru k", "\x00\x00\x00\x2d", "ru\x7fk", "né1", strings.Repeat("x", 1000)} {
		s, f := server("imok")
		_, err := s.Word(t.Context(), word)
		failed(t, err, word, admin.ErrBadWord)
		if len(err.Error()) > 200 {
			t.Errorf("a text of %d bytes", len(err.Error()))
		}
		if len(f.dials) > 0 {
			t.Errorf("%q: dialled %s", word, <-f.dials)
		}
	}
}

func TestAddr(t *testing.T) {
	for addr, want := range map[string]string{
		"zk1": "tcp zk1:2181", "zk1:1": "tcp zk1:1", "::1": "tcp [::1]:2181", "[fe80::1%eth0]:80": "tcp [fe80::1%eth0]:80",
	} {
		s, f := server("imok")
		s.Addr = addr
		if err := s.Ruok(t.Context()); err != nil {
			t.Error(err)
		}
		if dialled := <-f.dials; dialled != want {
			t.Errorf("%q is dialled as %q, want %q", addr, dialled, want)
		}
	}
}

func TestNoAddress(t *testing.T) {
	for _, s := range []admin.Server{{}, {Addr: "zk1:port"}, {Addr: "zk1:2181,zk2:2181"}} {
		for word, ask := range methods() {
			_, err := ask(t.Context(), s)
			var e *admin.Error
			var ae *conn.AddrError
			if !errors.As(err, &e) || !errors.As(err, &ae) || e.Word != word || e.Addr != s.Addr {
				t.Errorf("%s to %q: %v", word, s.Addr, err)
			}
		}
	}
}

// stage asserts that err is a failed step.
func stage(t *testing.T, err error, op string, cause error) {
	t.Helper()
	failed(t, err, "srvr", cause)
	var ce *conn.Error
	if !errors.As(err, &ce) || ce.Op != op || ce.Addr != "zk1:2181" {
		t.Errorf("got %v, want a failed %s", err, op)
	}
}

// hanging returns a Server with which a call hangs in the step op, and the end of the connection that is the server's, nil when
// it hangs in dial.
func hanging(op string) (admin.Server, net.Conn) {
	if op == "dial" {
		return admin.Server{Addr: "zk1", Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, errors.New("gave up") // a dialer that does not say why
		}}, nil
	}
	limit := 0 // none
	if op == "write" {
		limit = 2 // full before the word has been written
	}
	a, b := memnet.BoundedPipe(limit)
	s := admin.Server{Addr: "zk1", Dial: func(context.Context, string, string) (net.Conn, error) { return a, nil }}
	if op == "tls" {
		s.TLS = tlsConfig(nil)
	}
	return s, b
}

// Each step of a call that never goes on ends with the context, and leaves no connection behind.
func TestContextBoundsEachStep(t *testing.T) {
	for _, op := range []string{"dial", "tls", "write", "read"} {
		for _, cause := range []error{context.DeadlineExceeded, context.Canceled} {
			t.Run(op+" "+cause.Error(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					if cause == context.DeadlineExceeded {
						ctx, cancel = context.WithTimeout(t.Context(), 2*time.Second)
					}
					defer cancel()
					time.AfterFunc(3*time.Second, cancel)
					s, peer := hanging(op)
					_, err := s.Srvr(ctx)
					stage(t, err, op, cause)
					if peer == nil {
						return
					}
					if _, err := io.Copy(io.Discard, peer); err != nil { // returns, as the connection is closed
						t.Error(err)
					}
				})
			})
		}
	}
}

// A server that has begun to answer and stops is bounded as well, and what it has said is not taken for the answer.
func TestContextBoundsTheRestOfAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		a, b := memnet.Pipe()
		if _, err := io.WriteString(b, srvr39); err != nil {
			t.Fatal(err)
		}
		s := admin.Server{Addr: "zk1", Dial: func(context.Context, string, string) (net.Conn, error) { return a, nil }}
		_, err := s.Srvr(ctx)
		stage(t, err, "read", context.DeadlineExceeded)
	})
}

func TestEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := (admin.Server{Addr: l.Addr().String()}).Ruok(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	err = (admin.Server{Addr: addr}).Ruok(t.Context())
	if !errors.Is(err, syscall.ECONNREFUSED) || strings.Count(err.Error(), addr) > 2 {
		t.Errorf("got %v", err)
	}
}

// broken is a connection whose reads fail after some bytes.
type broken struct {
	net.Conn
	before io.Reader
}

func (b broken) Read(p []byte) (int, error) {
	n, err := b.before.Read(p)
	if err == io.EOF {
		err = syscall.ECONNRESET
	}
	return n, err
}

func TestResetInAnAnswer(t *testing.T) {
	a, b := memnet.Pipe()
	defer b.Close()
	s := admin.Server{Addr: "zk1", Dial: func(context.Context, string, string) (net.Conn, error) {
		return broken{a, strings.NewReader(srvr39)}, nil
	}}
	_, err := s.Srvr(t.Context())
	stage(t, err, "read", syscall.ECONNRESET)
}

func TestReceiveLimit(t *testing.T) {
	for _, limit := range []int{1, 4, len(srvr39)} {
		s, _ := server(strings.Repeat("x", limit))
		s.ReceiveLimit = limit
		if got, err := s.Word(t.Context(), "envi"); len(got) != limit || err != nil {
			t.Errorf("limit %d: %d bytes, %v", limit, len(got), err)
		}
		s, _ = server(strings.Repeat("x", limit+1))
		s.ReceiveLimit = limit
		_, err := s.Word(t.Context(), "envi")
		var te *admin.TooLargeError
		if !errors.As(err, &te) || te.Limit != limit {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	s, _ := server("imok")
	s.ReceiveLimit = int(^uint(0) >> 1)
	if err := s.Ruok(t.Context()); err != nil {
		t.Error(err)
	}
}

// endless is a connection that never stops answering.
type endless struct{ net.Conn }

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestEndlessAnswer(t *testing.T) {
	for _, limit := range []int{0, -1} {
		a, b := memnet.Pipe()
		defer b.Close()
		s := admin.Server{Addr: "zk1", ReceiveLimit: limit, Dial: func(context.Context, string, string) (net.Conn, error) { return endless{a}, nil }}
		_, err := s.Mntr(t.Context())
		var te *admin.TooLargeError
		if !errors.As(err, &te) || te.Limit != admin.DefaultReceiveLimit {
			t.Errorf("got %v", err)
		}
	}
}

// What a call allocates follows what has arrived, and not the limit.
func TestMemoryFollowsTheAnswer(t *testing.T) {
	allocated := func(size int) uint64 {
		s, _ := server(strings.Repeat("x", size))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := s.Word(t.Context(), "envi"); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if n := allocated(100); n > 64<<10 {
		t.Errorf("an answer of 100 bytes takes %d", n)
	}
	if n := allocated(1 << 20); n > 16<<20 {
		t.Errorf("an answer of 1 MiB takes %d", n)
	}
}

func TestNilContext(t *testing.T) {
	var none context.Context
	if _, err := (admin.Server{Addr: "127.0.0.1:1"}).Word(none, "srvr"); !errors.Is(err, admin.ErrNilContext) {
		t.Errorf("error %v", err)
	}
}
