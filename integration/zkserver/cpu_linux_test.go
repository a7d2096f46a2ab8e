package zkserver

import (
	"errors"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"7 (java) S 1 7 7 0 -1 4194560 9 8 7 6 123 45 3 2 20 0 30 0 99 1 2":    1680 * time.Millisecond,
		"7 (a) b (c)) R 1 7 7 0 -1 4194560 9 8 7 6 0 1 3 2 20 0 30 0 99 1 2\n": 10 * time.Millisecond,
	} {
		if got, err := parseStat([]byte(text)); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "7 (java) S 1 2", "7 (java) S 1 7 7 0 -1 4194560 9 8 7 6 many 45"} {
		if got, err := parseStat([]byte(text)); !errors.Is(err, errStat) {
			t.Errorf("%q: %v, %v, want an error", text, got, err)
		}
	}
}

func TestCPUTimeOfAServer(t *testing.T) {
	s := Require(t, Options{Own: true}).Server(1)
	first, err := s.CPUTime()
	if err != nil || first <= 0 {
		t.Fatalf("a server that has started: %v, %v", first, err)
	}
	for next := first; next <= first; {
		if _, err := s.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
		if next, err = s.CPUTime(); err != nil || next < first {
			t.Fatalf("%v after %v, %v", next, first, err)
		}
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CPUTime(); !errors.Is(err, ErrNotRunning) {
		t.Fatalf("a server that is down: %v", err)
	}
	if _, err := new(Server).CPUTime(); !errors.Is(err, ErrNotOurs) {
		t.Fatalf("a server that runs elsewhere: %v", err)
	}
}
