package client_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

const timeout = 10 * time.Second

// bubble runs f in virtual time, with a server in memory.
func bubble(t *testing.T, f func(t *testing.T, srv *zktest.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.New()
		t.Cleanup(func() { srv.Close() })
		f(t, srv)
	})
}

// connect returns a client of srv, which is closed at the end of the test.
func connect(t *testing.T, srv *zktest.Server, opts ...client.Option) *client.Client {
	t.Helper()
	return connectTo(t, srv, "zk:2181", opts...)
}

func connectTo(t *testing.T, srv *zktest.Server, connectString string, opts ...client.Option) *client.Client {
	t.Helper()
	c, err := client.Connect(t.Context(), connectString, append([]client.Option{client.Dialer(srv.Dial), client.SessionTimeout(timeout)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // whether a test has left it in a state to be closed well is the test's business
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("error is %v, want one that matches %v", err, target)
	}
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// outcome checks all that an error says about whether the operation took effect.
func outcome(t *testing.T, err error, o client.Outcome, maybeApplied bool) {
	t.Helper()
	var e *client.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no *client.Error", err)
	}
	equal(t, "outcome", e.Outcome, o)
	equal(t, "MaybeApplied", client.MaybeApplied(err), maybeApplied)
	equal(t, "SafeToRetry", client.SafeToRetry(err), o == client.OutcomeNotSent)
}

// create makes a znode on the server, from outside.
func create(t *testing.T, srv *zktest.Server, path, data string) {
	t.Helper()
	_, err := srv.Create(path, []byte(data), client.ModePersistent)
	must(t, err)
}

// cancelled returns a context that has ended.
func cancelled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// pass lets virtual time pass.
func pass(d time.Duration) { <-time.After(d) }

// spawn runs f in a goroutine and returns the channel on which its result comes.
func spawn(f func() error) <-chan error {
	result := make(chan error, 1)
	// The test that spawns it ends it, with f.
	go func() { result <- f() }()
	return result
}
