package zkserver_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

// handshake opens a session with hand-made bytes (docs/protocol.md section 4) and returns the negotiated timeout.
func handshake(t *testing.T, addr string) time.Duration {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := nc.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	req := binary.BigEndian.AppendUint32(nil, 45)
	req = append(req, make([]byte, 4+8)...)         // protocol version, last zxid seen
	req = binary.BigEndian.AppendUint32(req, 10000) // timeout in ms
	req = append(req, make([]byte, 8)...)           // session id
	req = binary.BigEndian.AppendUint32(req, 16)    // password
	req = append(req, make([]byte, 16+1)...)        // and not read-only
	if _, err := nc.Write(req); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 4+37)
	if _, err := io.ReadFull(nc, answer); err != nil {
		t.Fatal(err)
	}
	if n := binary.BigEndian.Uint32(answer); n != 37 {
		t.Fatalf("the answer has %d bytes, want 37", n)
	}
	if id := binary.BigEndian.Uint64(answer[12:]); id == 0 {
		t.Fatal("no session id")
	}
	return time.Duration(binary.BigEndian.Uint32(answer[8:])) * time.Millisecond
}

func TestOneServer(t *testing.T) {
	ens := zkserver.Require(t, zkserver.Options{})
	s := ens.Server(1)
	if got := handshake(t, s.Addr()); got != 10*time.Second {
		t.Errorf("negotiated %v, want 10s", got)
	}
	if answer, err := s.Ask(t.Context(), "ruok"); err != nil || answer != "imok" {
		t.Errorf("ruok: %q, %v", answer, err)
	}
	st, err := s.Status(t.Context())
	if err != nil || st.Version == "" || st.NodeCount == 0 {
		t.Errorf("status %+v, %v", st, err)
	}
	if leader, err := ens.Leader(t.Context()); err != nil || leader.ID() > len(ens.Servers()) {
		t.Errorf("leader %v, %v", leader, err)
	}
}

func TestVersionsAreWhatWasAskedFor(t *testing.T) {
	for _, version := range zkserver.Versions() {
		t.Run("version "+version, func(t *testing.T) {
			s := zkserver.Require(t, zkserver.Options{Version: version}).Server(1)
			if st, err := s.Status(t.Context()); err != nil || version != "" && !strings.HasPrefix(st.Version, version+".") {
				t.Errorf("a server of version %q, %v", st.Version, err)
			}
			handshake(t, s.Addr())
		})
	}
}

func TestOneServerComesAndGoes(t *testing.T) {
	ens := zkserver.Require(t, zkserver.Options{Own: true, TickTime: time.Second})
	s := ens.Server(1)
	if err := s.Start(); !errors.Is(err, zkserver.ErrRunning) {
		t.Errorf("second start: %v, want ErrRunning", err)
	}
	before, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if s.PID() != 0 {
		t.Error("a killed server has a process id")
	}
	if err := s.Pause(); !errors.Is(err, zkserver.ErrNotRunning) {
		t.Errorf("pause of a killed server: %v, want ErrNotRunning", err)
	}
	if _, err := net.Dial("tcp", s.Addr()); err == nil {
		t.Error("a killed server accepts connections")
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitNotServing(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Continue(); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after, err := s.Status(t.Context()); err != nil || after.Mode != before.Mode {
		t.Errorf("after the restart: %+v, %v", after, err)
	}
}

func TestAServerThatCannotStartSaysWhy(t *testing.T) {
	zkserver.Require(t, zkserver.Options{Own: true}) // skips when there is nothing to start
	_, err := zkserver.Start(t.Context(), zkserver.Options{Config: map[string]string{"tickTime": "x"}})
	var exit *zkserver.ExitError
	if !errors.As(err, &exit) || exit.Tail == "" {
		t.Fatalf("%v, want an ExitError with the end of the log", err)
	}
}

func TestCloseRemovesTheData(t *testing.T) {
	var dir string
	t.Run("life", func(t *testing.T) {
		s := zkserver.Require(t, zkserver.Options{Own: true}).Server(1)
		dir = s.Dir()
		if _, err := os.Stat(s.Log()); err != nil {
			t.Error(err)
		}
	})
	if _, err := os.Stat(dir); dir != "" && !os.IsNotExist(err) {
		t.Errorf("after Close: %v, want that %s is gone", err, dir)
	}
}
