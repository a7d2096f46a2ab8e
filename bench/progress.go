package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/load"
)

// progress is a line on a terminal that is written again and again. A nil progress shows nothing.
type progress struct {
	w     io.Writer
	width int // of what is on the line
}

// newProgress returns nil unless w is a terminal.
func newProgress(w io.Writer) *progress {
	f, ok := w.(*os.File)
	if !ok || !isTerminal(f) {
		return nil
	}
	return &progress{w: w}
}

// isTerminal reports whether f is a character device other than the null device, which is what a terminal looks like
// without asking it as each system wants to be asked.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// show says how far a run is.
func (p *progress) show(at load.Progress) {
	p.write(fmt.Sprintf("%s of %s, %d operations, %.0f/s",
		at.Elapsed.Round(100*time.Millisecond), at.Total, at.Operations, at.PerSec))
}

// write replaces the line.
func (p *progress) write(text string) {
	fmt.Fprintf(p.w, "\r%-*s", p.width, text)
	p.width = len(text)
}

// clear removes the line.
func (p *progress) clear() {
	if p != nil && p.width > 0 {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", p.width))
	}
}
