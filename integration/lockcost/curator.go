package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lockkeeper/lockkeeper/integration/interop/driven"
	"github.com/lockkeeper/lockkeeper/integration/interop/java"
)

// curatorVersions are those that are looked for, the newest first.
var curatorVersions = []string{"5.7", "5.4"}

// startCurator starts a Java virtual machine with a version of Curator, the newest if it is empty, whose contenders have
// sessions of their own, all with one timeout. stop ends it. What is missing gives an error that matches driven.ErrMissing.
func startCurator(ctx context.Context, version string, timeout time.Duration) (k kind, stop func() error, err error) {
	version, jars, err := findCurator(version)
	if err != nil {
		return kind{}, nil, err
	}
	dir, err := os.MkdirTemp("", "lockcost-")
	if err != nil {
		return kind{}, nil, err
	}
	remove := func() error { return os.RemoveAll(dir) }
	classes, err := java.Compile(ctx, dir, jars)
	if err != nil {
		return kind{}, nil, errors.Join(err, remove())
	}
	p, err := java.Start(ctx, version, classes, jars, java.SessionTimeout(timeout))
	if err != nil {
		return kind{}, nil, errors.Join(err, remove())
	}
	var opened atomic.Int64 // numbers contenders, so that no two have one name
	k.name = "Curator " + strings.Join(p.Greeting[:min(1, len(p.Greeting))], "")
	k.open = func(ctx context.Context, at place) (contender, error) {
		f := &foreign{p: p, name: fmt.Sprintf("contender-%d", opened.Add(1))}
		return f, f.do(ctx, "open", "mutex", at.servers, at.path)
	}
	return k, func() error { return errors.Join(p.Close(), remove()) }, nil
}

// findCurator returns the version and its class path.
func findCurator(version string) (found, jars string, err error) {
	if version != "" {
		jars, err = java.Curator(version)
		return version, jars, err
	}
	var missing []error
	for _, v := range curatorVersions {
		if jars, err = java.Curator(v); err == nil {
			return v, jars, nil
		}
		missing = append(missing, err)
	}
	return "", "", errors.Join(missing...)
}

// closeBound is how long Curator may take to close a session; it takes a tenth of a second.
const closeBound = 30 * time.Second

// foreign is a contender in another program.
type foreign struct {
	p    *driven.Program
	name string
}

func (f *foreign) do(ctx context.Context, command ...string) error {
	_, err := f.p.Call(ctx, f.name, command...)
	return err
}

func (f *foreign) lock(ctx context.Context) error    { return f.do(ctx, "lock", "false") }
func (f *foreign) release(ctx context.Context) error { return f.do(ctx, "release") }

func (f *foreign) loop(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}
	return f.do(ctx, "loop", strconv.Itoa(n))
}

// close waits, so that the end of a session is in no measurement. A contender that a failure has left waiting is busy, and ends
// with the program.
func (f *foreign) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeBound)
	defer cancel()
	return f.do(ctx, "close")
}
