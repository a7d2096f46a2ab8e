package admin

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// Metrics is the answer to mntr. The fields are what servers of all versions tell, and 0 when this one does not; Values has
// everything.
type Metrics struct {
	Version             string // such as "3.9.3"
	Build               string // what stands behind the version's first hyphen
	ServerState         Mode   // zk_server_state
	PeerState           string // zk_peer_state, such as "leading - broadcast"; empty for a standalone server and before 3.6
	Latency             Latency
	Uptime              time.Duration // zk_uptime; since 3.6
	PacketsReceived     int64
	PacketsSent         int64
	AliveConnections    int64 // zk_num_alive_connections
	OutstandingRequests int64
	ZnodeCount          int64
	WatchCount          int64
	EphemeralsCount     int64
	ApproximateDataSize int64 // bytes of paths and data
	OpenFileDescriptors int64 // zk_open_file_descriptor_count; on Unix only
	MaxFileDescriptors  int64 // zk_max_file_descriptor_count; on Unix only
	// Told by leaders, 0 for others.
	Learners        int64 // zk_learners; before 3.6 zk_followers
	SyncedFollowers int64
	PendingSyncs    int64

	// Values holds every line, by its key as the server prints it, such as "zk_avg_latency": some 15 before 3.6, 500 since.
	// The map is the caller's.
	Values map[string]string
}

// Int returns a metric that is a whole number; ok is false when there is none of that name or it is none. name is a key of
// Values.
func (m Metrics) Int(name string) (n int64, ok bool) {
	n, err := parseInt(m.Values[name])
	if err != nil {
		return 0, false
	}
	return n, true
}

// Float returns a metric that is a number; ok is false when there is none of that name or it is none. name is a key of
// Values.
func (m Metrics) Float(name string) (f float64, ok bool) {
	f, err := parseFloat(m.Values[name])
	if err != nil {
		return 0, false
	}
	return f, true
}

// Mntr asks for the server's metrics. It blocks until the server has answered or ctx ends. Errors are as in the package
// comment; a server without a leader gives ErrNotServing.
func (s Server) Mntr(ctx context.Context) (Metrics, error) {
	const word = "mntr"
	answer, err := s.Word(ctx, word)
	if err != nil {
		return Metrics{}, err
	}
	var sc scanner
	m := sc.metrics(answer)
	if err := sc.finish(word, s); err != nil {
		return Metrics{}, err
	}
	return m, nil
}

func (sc *scanner) metrics(answer string) Metrics {
	m := Metrics{Values: make(map[string]string)}
	for line := range sc.lines(answer) {
		key, value, ok := strings.Cut(line, "\t")
		if !ok {
			sc.fail("", line, strconv.ErrSyntax)
			break
		}
		m.Values[key] = value
		switch key {
		case "zk_version":
			m.Version, m.Build = splitVersion(value)
		case "zk_server_state":
			m.ServerState = Mode(value)
		case "zk_peer_state":
			m.PeerState = value
		case "zk_min_latency":
			m.Latency.Min = sc.millis(key, value)
		case "zk_avg_latency":
			m.Latency.Avg = sc.millis(key, value)
		case "zk_max_latency":
			m.Latency.Max = sc.millis(key, value)
		case "zk_uptime":
			m.Uptime = sc.millis(key, value)
		default:
			if n := m.counter(key); n != nil {
				*n = sc.number(key, value)
			}
		}
	}
	sc.need("zk_version", m.Version != "")
	sc.need("zk_server_state", m.ServerState != "")
	return m
}

// counter returns the field for a metric that is a whole number, nil for those without a field.
func (m *Metrics) counter(key string) *int64 {
	switch key {
	case "zk_packets_received":
		return &m.PacketsReceived
	case "zk_packets_sent":
		return &m.PacketsSent
	case "zk_num_alive_connections":
		return &m.AliveConnections
	case "zk_outstanding_requests":
		return &m.OutstandingRequests
	case "zk_znode_count":
		return &m.ZnodeCount
	case "zk_watch_count":
		return &m.WatchCount
	case "zk_ephemerals_count":
		return &m.EphemeralsCount
	case "zk_approximate_data_size":
		return &m.ApproximateDataSize
	case "zk_open_file_descriptor_count":
		return &m.OpenFileDescriptors
	case "zk_max_file_descriptor_count":
		return &m.MaxFileDescriptors
	case "zk_learners", "zk_followers":
		return &m.Learners
	case "zk_synced_followers":
		return &m.SyncedFollowers
	case "zk_pending_syncs":
		return &m.PendingSyncs
	}
	return nil
}
