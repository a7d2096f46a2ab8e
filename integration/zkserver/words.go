package zkserver

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// wordTimeout bounds one four-letter word: a stopped server accepts connections in the kernel and never answers.
const wordTimeout = 2 * time.Second

// Ask sends a four-letter word (docs/protocol.md section 19) to the server at addr and returns its answer. It waits up to
// two seconds, or until ctx ends.
func Ask(ctx context.Context, addr, word string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, wordTimeout)
	defer cancel()
	var d net.Dialer
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer nc.Close()
	stop := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := io.WriteString(nc, word); err != nil {
		return "", fmt.Errorf("zkserver: %s to %s: %w", word, addr, err)
	}
	answer, err := io.ReadAll(nc)
	if err != nil {
		return "", fmt.Errorf("zkserver: %s to %s: %w", word, addr, err)
	}
	return string(answer), nil
}

// Modes of a server, as srvr prints them.
const (
	ModeStandalone = "standalone"
	ModeLeader     = "leader"
	ModeFollower   = "follower"
	ModeObserver   = "observer"
	ModeReadOnly   = "read-only"
)

// Status is what the word srvr tells of a server that serves.
type Status struct {
	Version     string
	Mode        string // one of the Mode constants
	Zxid        int64  // the last transaction this server has applied
	Connections int
	Outstanding int // requests that wait in the server
	NodeCount   int
}

// parseStatus reads the answer to srvr; a server that does not serve gives ErrNotServing.
func parseStatus(answer string) (Status, error) {
	var st Status
	for line := range strings.Lines(answer) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "Zookeeper version":
			st.Version, _, _ = strings.Cut(value, "-")
		case "Mode":
			st.Mode = value
		case "Zxid":
			// The text is a 64-bit pattern in hexadecimal; malformed ones read as 0, which srvr's callers do not rely on.
			zxid, _ := strconv.ParseUint(strings.TrimPrefix(value, "0x"), 16, 64)
			st.Zxid = int64(zxid)
		case "Connections":
			st.Connections, _ = strconv.Atoi(value)
		case "Outstanding":
			st.Outstanding, _ = strconv.Atoi(value)
		case "Node count":
			st.NodeCount, _ = strconv.Atoi(value)
		}
	}
	if st.Mode == "" {
		return st, fmt.Errorf("%w: %.80q", ErrNotServing, answer)
	}
	return st, nil
}
