package admin

import (
	"context"
	"strconv"
	"strings"
)

// WatchSummary is the answer to wchs: the watches that this server keeps for its clients. Those that watch for children are
// not among them.
type WatchSummary struct {
	Connections int64    // that have a watch
	Paths       int64    // that are watched
	Watches     int64    // pairs of a connection and a path
	Extra       []string // lines that this package does not know; nil without any
}

// Wchs asks for a summary of the server's watches. It blocks until the server has answered or ctx ends. Errors are as in the
// package comment; a server without a leader gives ErrNotServing.
func (s Server) Wchs(ctx context.Context) (WatchSummary, error) {
	const word = "wchs"
	answer, err := s.Word(ctx, word)
	if err != nil {
		return WatchSummary{}, err
	}
	var sc scanner
	w := sc.watches(answer)
	if err := sc.finish(word, s); err != nil {
		return WatchSummary{}, err
	}
	return w, nil
}

func (sc *scanner) watches(answer string) WatchSummary {
	const watching, total = "connections watching", "Total watches"
	var w WatchSummary
	counted, summed := false, false
	for line := range sc.lines(answer) {
		if conns, rest, ok := strings.Cut(line, " "+watching+" "); ok {
			paths, ok := strings.CutSuffix(rest, " paths")
			if !ok {
				sc.fail(watching, line, strconv.ErrSyntax)
			}
			w.Connections, w.Paths = sc.number(watching, conns), sc.number(watching, paths)
			counted = true
		} else if n, ok := strings.CutPrefix(line, total+":"); ok {
			w.Watches = sc.number(total, n)
			summed = true
		} else {
			w.Extra = append(w.Extra, line)
		}
	}
	sc.need(watching, counted)
	sc.need(total, summed)
	return w
}
