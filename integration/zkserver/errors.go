package zkserver

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound means that there is no ZooKeeper to run: the error's text says what was looked for.
	ErrNotFound = errors.New("no ZooKeeper server found")
	// ErrNotOurs means that a server named by ZK_SERVERS was asked for a fault, a start or a stop.
	ErrNotOurs = errors.New("the server was not started here")
	// ErrRunning means that a running server was started.
	ErrRunning = errors.New("the server is running")
	// ErrNotRunning means that a signal was meant for a server that is down.
	ErrNotRunning = errors.New("the server is not running")
	// ErrTaken means that a port was taken by somebody else between its choice and the server's start. It cannot happen on
	// Linux.
	ErrTaken = errors.New("a port is taken")
	// ErrNotServing means that a server answered, and does not serve: it looks for a leader, starts or stops.
	ErrNotServing = errors.New("the server is not serving")
)

// ExitError says that a server's process ended while it was to serve.
type ExitError struct {
	Server int    // the server's number
	Status string // as the operating system tells it, such as "exit status 1"
	Tail   string // the last lines of the log
	taken  bool
}

// Error names the server, its status and the end of its log.
func (e *ExitError) Error() string {
	return fmt.Sprintf("zkserver: server %d ended: %s\n%s", e.Server, e.Status, e.Tail)
}

// Is reports ErrTaken when the log says that the server could not bind its port.
func (e *ExitError) Is(target error) bool { return e.taken && target == ErrTaken }
