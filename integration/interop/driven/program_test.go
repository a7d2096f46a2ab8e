package driven_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/integration/interop/driven"
)

// obedient answers each command with its verb, except for a few.
const obedient = `echo ready 1.0
while read who verb rest; do
	case $verb in
	refuse) echo "$who failed because of $rest" ;;
	wait) ;;
	answer) echo "$rest ok late" ;;
	die) echo alas >&2; exit 3 ;;
	*) echo "$who ok $verb $rest" ;;
	esac
done`

// start starts a shell that runs a script.
func start(t *testing.T, script string) (*driven.Program, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return driven.Start(ctx, "script", "/bin/sh", "-c", script)
}

func TestCommandsAndAnswers(t *testing.T) {
	p, err := start(t, obedient)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Greeting) != 1 || p.Greeting[0] != "1.0" {
		t.Errorf("greeting %q", p.Greeting)
	}
	late, err := p.Send("a", "wait")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Send("a", "more"); err == nil {
		t.Error("a contender that is busy was given another command")
	}
	if got, err := p.Call(t.Context(), "b", "do", "this"); err != nil || got != "do this" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := p.Call(t.Context(), "b", "refuse", "rain"); err == nil || !strings.Contains(err.Error(), "because of rain") {
		t.Errorf("a refusal: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Call(ctx, "c", "answer", "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	if got := <-late; got != "ok late" {
		t.Errorf("the late answer is %q", got)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Errorf("again: %v", err)
	}
}

func TestEnds(t *testing.T) {
	p, err := start(t, obedient)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Call(t.Context(), "a", "die"); err == nil || !strings.Contains(err.Error(), "ended during die") {
		t.Errorf("a program that ends: %v", err)
	}
	if err := p.Close(); err == nil || !strings.Contains(err.Error(), "exit status 3") || p.Log() != "alas\n" {
		t.Errorf("its end is %v, its log %q", err, p.Log())
	}
	if _, err := start(t, "exit 0"); err == nil || !strings.Contains(err.Error(), "ended at once") {
		t.Errorf("a program that ends at once: %v", err)
	}
	p, err = start(t, "echo ready; echo why not; read line; exit 0")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err == nil || !strings.Contains(err.Error(), "why not") {
		t.Errorf("a program that talks: %v", err)
	}
}

func TestNoProgram(t *testing.T) {
	for _, p := range []*driven.Program{nil, {}} {
		if _, err := p.Send("a", "do"); !errors.Is(err, driven.ErrNone) {
			t.Errorf("send: %v", err)
		}
		if _, err := p.Call(t.Context(), "a", "do"); !errors.Is(err, driven.ErrNone) {
			t.Errorf("call: %v", err)
		}
		if err := p.Close(); err != nil || p.Log() != "" {
			t.Errorf("close: %v, log %q", err, p.Log())
		}
	}
}
