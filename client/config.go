package client

import (
	"strconv"
	"strings"
)

// Config is the configuration of an ensemble, as it stands in /zookeeper/config.
type Config struct {
	Data    []byte         // the text itself; empty in standalone mode
	Version int64          // what a Reconfiguration can ask for; -1 in standalone mode
	Servers []ConfigServer // one per line "server.N="; none in standalone mode
}

// ConfigServer is one member of an ensemble. What its line does not tell, or tells in a form that this package does not
// know, is zero: the line is always there.
type ConfigServer struct {
	ID           int    // the number of the server
	Host         string // where the other servers find it; of several addresses the first
	QuorumPort   int    // for those that follow it
	ElectionPort int
	Role         string // "participant" or "observer"; "" for participant if the line does not say
	Client       string // where it listens for clients, such as "0.0.0.0:2181" or "2181"
	Line         string // the whole line
}

// parseConfig reads the text of a configuration, which it keeps (QuorumMaj and QuorumServer in Java). It takes what it
// understands: newer servers may write more.
func parseConfig(data []byte) Config {
	cfg := Config{Data: data, Version: -1}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		key, value, _ := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if key == "version" {
			if v, err := strconv.ParseUint(value, 16, 64); err == nil {
				cfg.Version = int64(v)
			}
			continue
		}
		number, ok := strings.CutPrefix(key, "server.")
		if !ok {
			continue
		}
		s := parseConfigServer(value)
		s.ID, _ = strconv.Atoi(number)
		s.Line = line
		cfg.Servers = append(cfg.Servers, s)
	}
	return cfg
}

// parseConfigServer reads "host:quorumPort:electionPort[:role][;[clientAddress:]clientPort]". Several addresses stand with
// bars between them.
func parseConfigServer(value string) (s ConfigServer) {
	quorum, client, _ := strings.Cut(value, ";")
	s.Client = client
	first, others, _ := strings.Cut(quorum, "|")
	host, rest := cutHost(first)
	s.Host = host
	fields := strings.Split(rest, ":")
	s.QuorumPort, _ = strconv.Atoi(fields[0])
	if len(fields) > 1 {
		s.ElectionPort, _ = strconv.Atoi(fields[1])
	}
	last := fields
	if others != "" { // the role stands behind the last address
		_, rest := cutHost(others[strings.LastIndexByte(others, '|')+1:])
		last = strings.Split(rest, ":")
	}
	if len(last) > 2 {
		s.Role = last[2]
	}
	return s
}

// cutHost cuts "host:rest" behind the host, which may be an IPv6 address in brackets.
func cutHost(s string) (host, rest string) {
	if inner, ok := strings.CutPrefix(s, "["); ok {
		host, rest, _ = strings.Cut(inner, "]")
		return host, strings.TrimPrefix(rest, ":")
	}
	host, rest, _ = strings.Cut(s, ":")
	return host, rest
}
