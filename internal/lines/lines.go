package lines

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Writer collects lines. The zero value is ready; all methods may be called from any goroutine.
type Writer struct {
	mu      sync.Mutex
	partial []byte        // of a line that has not ended
	lines   []string      // without their ends
	read    int           // how many of them Wait has passed
	more    chan struct{} // closed when another line comes
}

// Write takes any number of lines, or a part of one.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.partial = append(w.partial, p...)
	for {
		line, rest, ended := bytes.Cut(w.partial, []byte{'\n'})
		if !ended {
			return len(p), nil
		}
		w.lines = append(w.lines, string(line))
		w.partial = bytes.Clone(rest)
		if w.more != nil {
			close(w.more)
			w.more = nil
		}
	}
}

// All returns the lines so far.
func (w *Writer) All() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.lines)
}

// Wait waits for a line that contains text, behind the one that the last Wait has found. The error has all lines in it.
func (w *Writer) Wait(ctx context.Context, text string) (string, error) {
	for {
		line, more := w.next(text)
		if more == nil {
			return line, nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return "", fmt.Errorf("no line with %q: %w; there are:\n%s", text, ctx.Err(), strings.Join(w.All(), "\n"))
		}
	}
}

// next returns a line that contains text, or what is closed when there may be one.
func (w *Writer) next(text string) (string, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.read < len(w.lines) {
		w.read++
		if line := w.lines[w.read-1]; strings.Contains(line, text) {
			return line, nil
		}
	}
	if w.more == nil {
		w.more = make(chan struct{})
	}
	return "", w.more
}
