package conformance

import (
	"io"
	"strings"
)

// fourLetterWords asks what a server answers without a session (docs/protocol.md section 19).
func fourLetterWords(e *env) {
	for word, want := range map[string]string{"ruok": "imok", "isro": "rw", "srvr": "Zookeeper version: " + e.tg.Version.String()} {
		nc := e.plain()
		nc.write([]byte(word))
		text, err := io.ReadAll(nc)
		e.must(err)
		if !strings.HasPrefix(string(text), want) && !strings.Contains(string(text), "not in the whitelist") {
			e.Errorf("%s: %.60q, want it to begin with %q", word, text, want)
		}
	}
	nc := e.plain()
	nc.write([]byte("nope"))
	if text, err := io.ReadAll(nc); len(text) != 0 || err != nil && !isClosed(err) {
		e.Errorf("unknown word: %q, %v, want a close", text, err)
	}
}
