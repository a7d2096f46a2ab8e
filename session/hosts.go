package session

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// hosts is the server list of a Keeper: shuffled once, then tried in turn.
type hosts struct {
	mu    sync.Mutex // guards what follows
	list  []string   // replaced as a whole
	next  int
	notes map[string]error // why the newest attempt at a server failed
	news  chan struct{}    // closed when the list is replaced
}

func newHosts(servers []string, rand func() uint64) *hosts {
	h := &hosts{}
	h.replace(servers, rand)
	return h
}

// replace puts another list in place, shuffled, so that the clients of an ensemble spread over its servers.
func (h *hosts) replace(servers []string, rand func() uint64) {
	list := append([]string(nil), servers...)
	for i := len(list) - 1; i > 0; i-- {
		j := int(rand() % uint64(i+1))
		list[i], list[j] = list[j], list[i]
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list, h.next, h.notes = list, 0, make(map[string]error)
	if h.news != nil {
		close(h.news)
	}
	h.news = make(chan struct{})
}

// replacement is closed when the list is replaced.
func (h *hosts) replacement() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.news
}

// size returns the number of servers.
func (h *hosts) size() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.list)
}

// has says whether a server is in the list.
func (h *hosts) has(server string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.list, server)
}

// take returns the server to try now.
func (h *hosts) take() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	server := h.list[h.next%len(h.list)]
	h.next++
	return server
}

// note keeps the result of the newest attempt at a server.
func (h *hosts) note(server string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		delete(h.notes, server)
	} else {
		h.notes[server] = err
	}
}

// ServerError says why a server could not be used.
type ServerError struct {
	Server string
	Err    error
}

func (e *ServerError) Error() string {
	text := e.Err.Error()
	if strings.HasPrefix(text, e.Server+": ") { // an error of package conn names its peer already
		return text
	}
	return e.Server + ": " + text
}

// Unwrap returns the reason.
func (e *ServerError) Unwrap() error { return e.Err }

// ServersError lists, per server, why the newest attempt failed.
type ServersError struct {
	Servers []*ServerError // in the order of the server list
}

func (e *ServersError) Error() string {
	parts := make([]string, len(e.Servers))
	for i, s := range e.Servers {
		parts[i] = s.Error()
	}
	return strings.Join(parts, "; ")
}

// Unwrap returns the reasons.
func (e *ServersError) Unwrap() []error {
	errs := make([]error, len(e.Servers))
	for i, s := range e.Servers {
		errs[i] = s
	}
	return errs
}

// failures returns what is known against each server, nil if nothing.
func (h *hosts) failures() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var e ServersError
	for _, server := range h.list {
		if err := h.notes[server]; err != nil {
			e.Servers = append(e.Servers, &ServerError{server, err})
		}
	}
	if len(e.Servers) == 0 {
		return nil
	}
	return &e
}

// resolve returns the addresses of a server: itself, when the dialer is to resolve the name.
func (s *Session) resolve(ctx context.Context, server string) ([]string, error) {
	if s.cfg.Env.Resolve == nil {
		return []string{server}, nil
	}
	host, port, err := net.SplitHostPort(server)
	if err != nil {
		return nil, err
	}
	if end, ok := ctx.Deadline(); ok { // half of an attempt is left for the addresses
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	ips, err := s.cfg.Env.Resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	addrs := make([]string, len(ips))
	for i, ip := range ips {
		addrs[i] = net.JoinHostPort(ip, port)
	}
	return addrs, nil
}
