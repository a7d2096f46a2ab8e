package admin

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// Mode is what a server is at the moment. Values other than the constants are possible: it is what the server says.
type Mode string

// Modes of a server that serves.
const (
	ModeStandalone Mode = "standalone"
	ModeLeader     Mode = "leader"
	ModeFollower   Mode = "follower"
	ModeObserver   Mode = "observer"
	ModeReadOnly   Mode = "read-only"
)

// Latency is how long requests took in the server, from their arrival to their answer, since the start or the last reset of
// the statistics.
type Latency struct {
	Min, Avg, Max time.Duration
}

// ProposalSizes are lengths, in bytes, of the transactions that a leader has proposed; -1 before the first.
type ProposalSizes struct {
	Last, Min, Max int64
}

// Status is the answer to srvr.
type Status struct {
	Version     string // such as "3.9.3"
	Build       string // what stands behind the version's first hyphen, such as a revision and the time of the build
	Latency     Latency
	Received    int64 // frames from clients, and words, since the start or the last reset
	Sent        int64 // frames to clients, events included
	Connections int64 // that of the question included
	Outstanding int64 // requests that wait in the server
	Zxid        int64 // the last transaction that this server has applied
	Mode        Mode
	NodeCount   int64 // znodes, those of the server's own included
	// Proposals is told by leaders since 3.5, and is zero for others.
	Proposals ProposalSizes
	Extra     []string // lines that this package does not know; nil without any
}

// Srvr asks for the server's status. It blocks until the server has answered or ctx ends. Errors are as in the package
// comment; a server without a leader gives ErrNotServing.
func (s Server) Srvr(ctx context.Context) (Status, error) {
	const word = "srvr"
	answer, err := s.Word(ctx, word)
	if err != nil {
		return Status{}, err
	}
	var sc scanner
	st := sc.status(answer)
	if err := sc.finish(word, s); err != nil {
		return Status{}, err
	}
	return st, nil
}

func (sc *scanner) status(answer string) Status {
	var st Status
	counted := false
	for line := range sc.lines(answer) {
		key, value, _ := strings.Cut(line, ": ")
		switch key {
		case "Zookeeper version":
			st.Version, st.Build = splitVersion(value)
		case "Latency min/avg/max":
			least, avg, most := sc.triple(key, value)
			st.Latency = Latency{Min: sc.millis(key, least), Avg: sc.millis(key, avg), Max: sc.millis(key, most)}
		case "Zxid":
			st.Zxid = sc.hex(key, value)
		case "Mode":
			st.Mode = Mode(value)
		case "Proposal sizes last/min/max":
			last, least, most := sc.triple(key, value)
			st.Proposals = ProposalSizes{Last: sc.number(key, last), Min: sc.number(key, least), Max: sc.number(key, most)}
		default:
			n := st.counter(key)
			if n == nil {
				st.Extra = append(st.Extra, line)
				break
			}
			*n = sc.number(key, value)
			counted = counted || n == &st.NodeCount
		}
	}
	// The first that every mode has, and the last: an answer that was cut off does not pass for a whole one.
	sc.need("Zookeeper version", st.Version != "")
	sc.need("Mode", st.Mode != "")
	sc.need("Node count", counted)
	return st
}

// counter returns the field for a line that holds one number, nil for others.
func (st *Status) counter(key string) *int64 {
	switch key {
	case "Received":
		return &st.Received
	case "Sent":
		return &st.Sent
	case "Connections":
		return &st.Connections
	case "Outstanding":
		return &st.Outstanding
	case "Node count":
		return &st.NodeCount
	}
	return nil
}

// Ruok asks whether the server runs: nil means that it has answered imok. That says nothing of whether it serves; Srvr and
// Isro do.
func (s Server) Ruok(ctx context.Context) error {
	const word = "ruok"
	answer, err := s.Word(ctx, word)
	if err == nil && strings.TrimSpace(answer) != "imok" {
		err = s.unreadable(word, &ParseError{Line: 1, Text: answer[:min(len(answer), shownText)], Err: strconv.ErrSyntax})
	}
	return err
}

// Isro asks whether the server is in read-only mode, which it is when it is cut off from its ensemble and configured to go on
// with reads. A server that does not serve gives ErrNotServing.
func (s Server) Isro(ctx context.Context) (readOnly bool, err error) {
	const word = "isro"
	answer, err := s.Word(ctx, word)
	if err != nil {
		return false, err
	}
	switch strings.TrimSpace(answer) {
	case "rw":
		return false, nil
	case "ro":
		return true, nil
	case "null":
		return false, s.unreadable(word, ErrNotServing)
	}
	return false, s.unreadable(word, &ParseError{Line: 1, Text: answer[:min(len(answer), shownText)], Err: strconv.ErrSyntax})
}
