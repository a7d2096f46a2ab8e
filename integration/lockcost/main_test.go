package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestWrongCallsAreRefused(t *testing.T) {
	for args, want := range map[string]string{
		"-sites two-memory":               "two-memory",
		"-sites ,":                        "-sites names none",
		"-loads alone,often":              "often",
		"-clients ours,theirs":            "theirs",
		"-holds 0":                        "-holds is 0",
		"-warmup -1":                      "-warmup is -1",
		"-rounds 0":                       "-rounds is 0",
		"-idle 0s":                        "-idle is 0s",
		"-timeout 1ms":                    "-timeout is 1ms",
		"-sites one-disk -disk /nowhere":  "/nowhere",
		"-sites one-memory -memory /none": "/none",
		"more":                            "unexpected argument",
	} {
		var out, errs bytes.Buffer
		status := run(t.Context(), strings.Fields(args), &out, &errs)
		if status != 2 || !strings.Contains(errs.String(), want) || out.Len() > 0 {
			t.Errorf("%s: status %d, %q, want 2 and %q", args, status, errs.String(), want)
		}
	}
	if status := run(t.Context(), []string{"-h"}, io.Discard, io.Discard); status != 0 {
		t.Errorf("-h: status %d", status)
	}
}

func TestChoicesKeepTheirOrder(t *testing.T) {
	got, err := chosen("-loads", "idle, alone", loads)
	if err != nil || keys(got) != "alone,idle" {
		t.Errorf("%s, %v", keys(got), err)
	}
}

// What has its data in memory must not be called a disk, nor the other way round.
func TestFoldersAreWhatTheyAreCalled(t *testing.T) {
	memory, err := inMemory("/dev/shm")
	if err != nil || !memory {
		t.Skipf("SKIPPED, needs a memory file system at /dev/shm: %v", err)
	}
	o := &options{disk: "/dev/shm", memory: "/proc"}
	for _, s := range sites {
		if err := s.checkFolder(o); err == nil {
			t.Errorf("%s: no error", s.name)
		}
	}
	o.disk, o.memory = o.memory, o.disk
	for _, s := range sites {
		if err := s.checkFolder(o); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
	}
}

func TestWithoutServersTheStatusSaysSo(t *testing.T) {
	o := testOptions(t, nil, "-clients", "ours")
	o.start = func(context.Context, zkserver.Options) (*zkserver.Ensemble, func() error, error) {
		return nil, nil, zkserver.ErrNotFound
	}
	if err := measureAll(t.Context(), o, io.Discard, io.Discard); !errors.Is(err, zkserver.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func TestAVersionOfCuratorThatNobodyHas(t *testing.T) {
	o := testOptions(t, nil, "-clients", "curator", "-curator", "0.1")
	var errs bytes.Buffer
	err := measureAll(t.Context(), o, io.Discard, &errs)
	if err == nil || !strings.Contains(errs.String(), "SKIPPED, Curator") {
		t.Errorf("%v, %q", err, errs.String())
	}
}

// testOptions returns options whose servers are these, which the test has started.
func testOptions(t *testing.T, ens *zkserver.Ensemble, args ...string) *options {
	t.Helper()
	// Where the data are is up to the servers.
	o, err := parse(append([]string{"-sites", "one-disk", "-disk", "/", "-json"}, args...), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	o.start = func(context.Context, zkserver.Options) (*zkserver.Ensemble, func() error, error) {
		return ens, func() error { return nil }, nil
	}
	return o
}
