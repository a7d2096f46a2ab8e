package conformance

import (
	_ "embed" // for the packets
	"encoding/hex"
	"strings"
)

//go:embed packets.txt
var packetsText string

// Packet is one example of docs/protocol.md section 23, in hex with the lengths of the frames. Dots stand for what differs
// between runs.
type Packet struct {
	Sent    []string // by the client
	Answers []string // what came back, events included
}

// Packets returns the examples that servers can be asked to repeat, by names such as "E2".
func Packets() map[string]Packet {
	out := map[string]Packet{}
	for line := range strings.Lines(packetsText) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "#" {
			continue
		}
		p := out[name]
		if text, ok := strings.CutPrefix(rest, "> "); ok {
			p.Sent = append(p.Sent, text)
		} else {
			p.Answers = append(p.Answers, strings.TrimPrefix(rest, "< "))
		}
		out[name] = p
	}
	return out
}

// unhex returns the bytes of a packet, with zeros for what differs between runs.
func (e *env) unhex(text string) []byte {
	e.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, ".", "0"))
	e.must(err)
	return b
}
