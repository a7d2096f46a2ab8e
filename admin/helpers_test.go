package admin_test

import (
	"context"
	"errors"
	"io"
	"net"
	"reflect"
	"testing"

	"github.com/lockkeeper/lockkeeper/admin"
	"github.com/lockkeeper/lockkeeper/internal/memnet"
)

// answering is a server that answers each word with the same bytes and closes. It reports the words, and where it was dialled.
type answering struct {
	answer string
	words  chan string
	dials  chan string
}

// server returns a Server that is answered with answer.
func server(answer string) (admin.Server, *answering) {
	f := &answering{answer: answer, words: make(chan string, 16), dials: make(chan string, 16)}
	return admin.Server{Addr: "zk1", Dial: f.dial}, f
}

func (f *answering) dial(_ context.Context, network, addr string) (net.Conn, error) {
	f.dials <- network + " " + addr
	a, b := memnet.Pipe()
	// Server of one connection; owned by the test; ends when the word has come and is answered, or with the connection.
	go func() {
		defer b.Close()
		word := make([]byte, 4)
		if _, err := io.ReadFull(b, word); err != nil {
			return
		}
		f.words <- string(word)
		_, _ = io.WriteString(b, f.answer) // fails when the client has gone, as it may
	}()
	return a, nil
}

// methods are all ways to ask, by the word they send.
func methods() map[string]func(context.Context, admin.Server) (any, error) {
	return map[string]func(context.Context, admin.Server) (any, error){
		"srvr": func(ctx context.Context, s admin.Server) (any, error) { return s.Srvr(ctx) },
		"ruok": func(ctx context.Context, s admin.Server) (any, error) { return nil, s.Ruok(ctx) },
		"mntr": func(ctx context.Context, s admin.Server) (any, error) { return s.Mntr(ctx) },
		"isro": func(ctx context.Context, s admin.Server) (any, error) { return s.Isro(ctx) },
		"cons": func(ctx context.Context, s admin.Server) (any, error) { return s.Cons(ctx) },
		"wchs": func(ctx context.Context, s admin.Server) (any, error) { return s.Wchs(ctx) },
		"envi": func(ctx context.Context, s admin.Server) (any, error) { return s.Word(ctx, "envi") },
	}
}

// failed asserts that err is an *Error with the word, the server and the cause.
func failed(t *testing.T, err error, word string, cause error) {
	t.Helper()
	var e *admin.Error
	if !errors.As(err, &e) {
		t.Fatalf("%s: got %v, want an *admin.Error", word, err)
	}
	if e.Word != word || e.Addr != "zk1:2181" {
		t.Errorf("the error is about %q and %q, want %q and zk1:2181", e.Word, e.Addr, word)
	}
	if !errors.Is(err, cause) {
		t.Errorf("%s: got %v, want %v", word, err, cause)
	}
	if err.Error() == "" {
		t.Errorf("%s: no text", word)
	}
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %#v\nwant %#v", got, want)
	}
}
