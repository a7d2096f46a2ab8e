package admin_test

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/admin"
)

const ms = time.Millisecond

func TestSrvr(t *testing.T) {
	for name, tc := range map[string]struct {
		answer string
		want   admin.Status
	}{
		"3.4 follower": {srvr34, admin.Status{
			Version: "3.4.14", Build: "4c25d480e66aadd371de8bd2fd8da255ac140bcf, built on 03/06/2019 16:18 GMT",
			Latency: admin.Latency{Avg: 2 * ms, Max: 16 * ms}, Received: 51, Sent: 50, Connections: 2, Zxid: 0x1f00000003,
			Mode: admin.ModeFollower, NodeCount: 12,
		}},
		"3.8 leader": {srvr38Leader, admin.Status{
			Version: "3.8.0", Build: "${mvngit.commit.id}, built on 2024-12-29 17:54 UTC",
			Latency:  admin.Latency{Min: ms, Avg: 5_833_300, Max: 14 * ms},
			Received: 9, Sent: 8, Connections: 3, Zxid: 0x100000004, Mode: admin.ModeLeader, NodeCount: 7,
			Proposals: admin.ProposalSizes{Last: 87, Min: 48, Max: 87},
		}},
		"3.9 standalone": {srvr39, admin.Status{
			Version: "3.9.3", Build: "${mvngit.commit.id}, built on 2026-03-08 16:19 UTC",
			Latency:  admin.Latency{Min: ms, Avg: 9_166_700, Max: 26 * ms},
			Received: 31, Sent: 30, Connections: 3, Zxid: 4, Mode: admin.ModeStandalone, NodeCount: 7,
		}},
		"of a later version": {"Zookeeper version: 4.0\r\nColour: blue\nOutstanding: 5\nNothing\n\nZxid: 0xffffffffffffffff\n" +
			"Latency min/avg/max: 0/1.0E-4/0\nMode: resting\nProposal sizes last/min/max: -1/-1/-1\nNode count: 1\n", admin.Status{
			Version: "4.0", Outstanding: 5, Zxid: -1, Mode: "resting", NodeCount: 1, Latency: admin.Latency{Avg: 100},
			Proposals: admin.ProposalSizes{Last: -1, Min: -1, Max: -1}, Extra: []string{"Colour: blue", "Nothing"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := server(tc.answer)
			got, err := s.Srvr(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			equal(t, got, tc.want)
		})
	}
}

func TestMntr(t *testing.T) {
	for name, tc := range map[string]struct {
		answer string
		want   admin.Metrics // without Values
	}{
		"3.4 leader": {mntr34, admin.Metrics{
			Version: "3.4.14", Build: "4c25d480e66aadd371de8bd2fd8da255ac140bcf, built on 03/06/2019 16:18 GMT",
			ServerState: admin.ModeLeader, Latency: admin.Latency{Avg: 2 * ms, Max: 16 * ms}, PacketsReceived: 51, PacketsSent: 50,
			AliveConnections: 2, ZnodeCount: 12, WatchCount: 3, EphemeralsCount: 1, ApproximateDataSize: 174,
			OpenFileDescriptors: 31, MaxFileDescriptors: 4096, Learners: 2, SyncedFollowers: 2,
		}},
		"3.8 leader": {mntr38Leader, admin.Metrics{
			Version: "3.8.0", Build: "${mvngit.commit.id}, built on 2024-12-29 17:54 UTC", ServerState: admin.ModeLeader,
			PeerState: "leading - broadcast", Latency: admin.Latency{Min: ms, Avg: 5_833_300, Max: 14 * ms}, Uptime: 1455 * ms,
			PacketsReceived: 10, PacketsSent: 9, AliveConnections: 3, ZnodeCount: 7, WatchCount: 1, EphemeralsCount: 1,
			ApproximateDataSize: 50, OpenFileDescriptors: 73, MaxFileDescriptors: 20000, Learners: 2, SyncedFollowers: 2,
		}},
		"3.9 standalone": {mntr39, admin.Metrics{
			Version: "3.9.3", Build: "${mvngit.commit.id}, built on 2026-03-08 16:19 UTC", ServerState: admin.ModeStandalone,
			Latency: admin.Latency{Min: ms, Avg: 9_166_700, Max: 26 * ms}, Uptime: 455 * ms, PacketsReceived: 32, PacketsSent: 31,
			AliveConnections: 3, ZnodeCount: 7, WatchCount: 1, EphemeralsCount: 1, ApproximateDataSize: 50,
			OpenFileDescriptors: 44, MaxFileDescriptors: 20000,
		}},
		"backlog": {"zk_version\t1\nzk_server_state\tleader\nzk_outstanding_requests\t8\nzk_pending_syncs\t9\n", admin.Metrics{
			Version: "1", ServerState: admin.ModeLeader, OutstandingRequests: 8, PendingSyncs: 9,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := server(tc.answer)
			got, err := s.Mntr(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(tc.answer, "\n"); len(got.Values) != n {
				t.Errorf("%d values, want %d", len(got.Values), n)
			}
			got.Values = nil
			equal(t, got, tc.want)
		})
	}
}

func TestMetricsByName(t *testing.T) {
	s, _ := server(mntr38Leader + "zk_small\t1.0E-4\nzk_none\tNaN\nzk_hex\t0x10\nzk_plus\t+1\n")
	m, err := s.Mntr(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := m.Int("zk_quorum_size"); n != 3 || !ok {
		t.Errorf("zk_quorum_size is %d, %v", n, ok)
	}
	for name, want := range map[string]float64{"zk_avg_1_learner_handler_qp_size": 0.2857, "zk_quorum_size": 3, "zk_small": 1e-4} {
		if f, ok := m.Float(name); f != want || !ok {
			t.Errorf("%s is %v, %v, want %v", name, f, ok, want)
		}
	}
	if f, ok := m.Float("zk_none"); f == f || !ok {
		t.Errorf("zk_none is %v, %v", f, ok)
	}
	for _, name := range []string{"zk_quorum_sizes", "zk_version", "zk_hex", "zk_plus", ""} {
		if n, ok := m.Int(name); n != 0 || ok {
			t.Errorf("%q is the number %d", name, n)
		}
		if f, ok := m.Float(name); f != 0 || ok {
			t.Errorf("%q is the number %v", name, f)
		}
	}
	if _, ok := m.Int("zk_avg_latency"); ok {
		t.Error("a fraction is an integer")
	}
	if n, ok := (admin.Metrics{}).Int("zk_znode_count"); n != 0 || ok {
		t.Error("the zero Metrics has values")
	}
}

func TestCons(t *testing.T) {
	for name, tc := range map[string]struct {
		answer string
		want   []admin.Connection
	}{
		"3.8, one without a session": {cons38, []admin.Connection{{
			Addr: "127.0.0.1:50590", Interest: 1, Received: 3, Sent: 3, SessionID: 0x100000c2fb80001, LastOp: "GETD",
			Established: time.UnixMilli(1796049163849), Timeout: 10 * time.Second, LastXid: 2, LastZxid: 4,
			LastResponse: 798900 * ms, LastLatency: ms, Latency: admin.Latency{Avg: ms, Max: 2 * ms},
		}, {Addr: "127.0.0.1:50642", Received: 1}}},
		"3.9, IPv6, no xid yet": {cons39, []admin.Connection{{
			Addr: "[::1]:52208", Interest: 5, Queued: 7, Received: 3, Sent: 2, SessionID: 0xf00001122790000, LastOp: "PING",
			Established: time.UnixMilli(1796049488316), Timeout: 4 * time.Second, LastXid: -1, LastZxid: -1,
			LastResponse: 1123446 * ms, LastLatency: 3 * ms, Latency: admin.Latency{Min: ms, Avg: 17 * ms, Max: 26 * ms},
		}}},
		"IPv6 of an old Java, a name, nobody": {" /0:0:0:0:0:0:0:1:52208[0](queued=0,recved=1,sent=0)\n" +
			" zk.example/10.0.0.1:80[1](queued=0,recved=1,sent=0)\n null[0](queued=0,recved=1,sent=0)\n" +
			" /a/b:c[0](queued=0,recved=1,sent=0)\n",
			[]admin.Connection{{Addr: "[::1]:52208", Received: 1}, {Addr: "10.0.0.1:80", Interest: 1, Received: 1},
				{Addr: "null", Received: 1}, {Addr: "a/b:c", Received: 1}}},
		"of a later version": {" /10.0.0.1:80[1](queued=0,recved=1,sent=0,colour=blue)\n",
			[]admin.Connection{{Addr: "10.0.0.1:80", Interest: 1, Received: 1, Extra: map[string]string{"colour": "blue"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := server(tc.answer)
			got, err := s.Cons(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			equal(t, got, tc.want)
		})
	}
}

func TestWchs(t *testing.T) {
	for answer, want := range map[string]admin.WatchSummary{
		wchs38: {Connections: 1, Paths: 2, Watches: 3},
		"Colour: blue\n0 connections watching 0 paths\nTotal watches:0\n": {Extra: []string{"Colour: blue"}},
	} {
		s, _ := server(answer)
		got, err := s.Wchs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		equal(t, got, want)
	}
}

func TestRuokAndIsro(t *testing.T) {
	s, _ := server("imok")
	if err := s.Ruok(t.Context()); err != nil {
		t.Error(err)
	}
	for answer, want := range map[string]bool{"rw": false, "ro": true, "ro\n": true} {
		s, _ := server(answer)
		if got, err := s.Isro(t.Context()); got != want || err != nil {
			t.Errorf("%q: %v, %v", answer, got, err)
		}
	}
	s, _ = server("null")
	_, err := s.Isro(t.Context())
	failed(t, err, "isro", admin.ErrNotServing)
}

// Each answer has one thing wrong, and the error names it.
func TestUnreadableAnswers(t *testing.T) {
	var good = map[string]string{"srvr": srvr38Leader, "mntr": mntr38Leader, "cons": cons38, "wchs": wchs38}
	for _, tc := range []struct {
		word, old, new string
		line           int
		field          string
		cause          error
	}{
		{"srvr", "Received: 9", "Received: nine", 3, "Received", strconv.ErrSyntax},
		{"srvr", "Received: 9", "Received: +9", 3, "Received", strconv.ErrSyntax},
		{"srvr", "Received: 9", "Received: ", 3, "Received", strconv.ErrSyntax},
		{"srvr", "Sent: 8", "Sent: 9223372036854775808", 4, "Sent", strconv.ErrRange},
		{"srvr", "0x100000004", "100000004", 7, "Zxid", strconv.ErrSyntax},
		{"srvr", "0x100000004", "0x1000000000000000f", 7, "Zxid", strconv.ErrRange},
		{"srvr", "1/5.8333/14", "1/14", 2, "Latency min/avg/max", strconv.ErrSyntax},
		{"srvr", "1/5.8333/14", "1/5,8333/14", 2, "Latency min/avg/max", strconv.ErrSyntax},
		{"srvr", "1/5.8333/14", "1/NaN/14", 2, "Latency min/avg/max", strconv.ErrRange},
		{"srvr", "1/5.8333/14", "1/0x5p1/14", 2, "Latency min/avg/max", strconv.ErrSyntax},
		{"srvr", "1/5.8333/14", "1/1e300/14", 2, "Latency min/avg/max", strconv.ErrRange},
		{"srvr", "1/5.8333/14", "1/5.8333/9223372036855", 2, "Latency min/avg/max", strconv.ErrRange},
		{"srvr", "87/48/87", "87", 10, "Proposal sizes last/min/max", strconv.ErrSyntax},
		{"srvr", "Mode: leader\n", "", 0, "Mode", io.ErrUnexpectedEOF},
		{"srvr", "Node count: 7\n", "", 0, "Node count", io.ErrUnexpectedEOF},
		{"srvr", "Zookeeper version", "Version", 0, "Zookeeper version", io.ErrUnexpectedEOF},
		{"srvr", "/87\n", "/8", 10, "", io.ErrUnexpectedEOF},
		{"mntr", "zk_znode_count\t7", "zk_znode_count 7", 9, "", strconv.ErrSyntax},
		{"mntr", "zk_znode_count\t7", "zk_znode_count\t7.5", 9, "zk_znode_count", strconv.ErrSyntax},
		{"mntr", "zk_uptime\t1455", "zk_uptime\tlong", 22, "zk_uptime", strconv.ErrSyntax},
		{"mntr", "zk_server_state\tleader\n", "", 0, "zk_server_state", io.ErrUnexpectedEOF},
		{"mntr", "zk_version\t", "version\t", 0, "zk_version", io.ErrUnexpectedEOF},
		{"mntr", "0.2857\n", "0.2857", 25, "", io.ErrUnexpectedEOF},
		{"cons", "sid=0x1", "sid=1", 1, "sid", strconv.ErrSyntax},
		{"cons", "est=1", "est=x", 1, "est", strconv.ErrSyntax},
		{"cons", "to=10000", "to=", 1, "to", strconv.ErrSyntax},
		{"cons", "sent=0)", "sent=0", 2, "", strconv.ErrSyntax},
		{"cons", "sent=0)", "sent)", 2, "", strconv.ErrSyntax},
		{"cons", ",sent=0)", ")", 2, "", strconv.ErrSyntax},
		{"cons", "queued=0,recved=1", "recved=1", 2, "", strconv.ErrSyntax},
		{"cons", "recved=1,", "", 2, "", strconv.ErrSyntax},
		{"cons", "[0]", "", 2, "", strconv.ErrSyntax},
		{"cons", "[0]", "[x]", 2, "", strconv.ErrSyntax},
		{"cons", "50642[", "50642", 2, "", strconv.ErrSyntax},
		{"wchs", "2 paths", "2 path", 1, "connections watching", strconv.ErrSyntax},
		{"wchs", "1 connections", "1.5 connections", 1, "connections watching", strconv.ErrSyntax},
		{"wchs", "watches:3", "watches:three", 2, "Total watches", strconv.ErrSyntax},
		{"wchs", "watches:3\n", "watches:3", 2, "", io.ErrUnexpectedEOF},
		{"wchs", "Total watches:3\n", "", 0, "Total watches", io.ErrUnexpectedEOF},
		{"wchs", "1 connections watching 2 paths\n", "", 0, "connections watching", io.ErrUnexpectedEOF},
	} {
		if !strings.Contains(good[tc.word], tc.old) {
			t.Fatalf("%s has no %q", tc.word, tc.old)
		}
		s, _ := server(strings.Replace(good[tc.word], tc.old, tc.new, 1))
		_, err := methods()[tc.word](t.Context(), s)
		failed(t, err, tc.word, tc.cause)
		var pe *admin.ParseError
		if !errors.As(err, &pe) || pe.Line != tc.line || pe.Field != tc.field {
			t.Errorf("%s with %q for %q: %v", tc.word, tc.new, tc.old, err)
		}
	}
}

func TestUnreadableGarbage(t *testing.T) {
	for _, answer := range []string{"\x15\x03\x03\x00\x02\x02\x50", "HTTP/1.1 400 Bad Request\r\n\r\n", strings.Repeat("x", 5000), "\x00\n", "im", "r"} {
		for word, ask := range methods() {
			if word == "envi" { // any text will do
				continue
			}
			s, _ := server(answer)
			_, err := ask(t.Context(), s)
			var pe *admin.ParseError
			if !errors.As(err, &pe) || len(pe.Text) > 120 {
				t.Errorf("%s answered %.20q: %v", word, answer, err)
			}
		}
	}
}

// Every prefix of an answer is refused, or says less in a way that can be seen: a number is never cut.
func TestTornAnswers(t *testing.T) {
	whole, _ := server(srvr38Leader)
	want, err := whole.Srvr(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(srvr38Leader) {
		s, _ := server(srvr38Leader[:n])
		st, err := s.Srvr(t.Context())
		if err != nil {
			continue
		}
		st.Proposals = want.Proposals // the last line, whole or not there
		equal(t, st, want)
	}
}
