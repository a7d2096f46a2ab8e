package scale

import (
	"context"

	"github.com/lockkeeper/lockkeeper/internal/load"
)

// curve is one series of measurements.
type curve struct {
	name        string
	title       string
	x           string // what grows
	points      []int
	least, most int      // of x
	server      bool     // one is needed
	plain       string   // what stands beside the clients, if anything does
	files       int      // open files per x, of this process
	figures     []figure // of one measurement
	measure     func(ctx context.Context, r *runner, s subject, x int) ([]float64, error)
}

// figure is one of the results of a measurement.
type figure struct {
	name string
	unit string
	more bool // is better
}

// subject is who is measured: a client, or what stands beside the clients, which has no driver.
type subject struct {
	name   string
	driver load.Driver
}

// curves are those there are. docs/benchmarks.md says what each means.
func curves() []curve {
	return []curve{
		{
			name: "contenders", title: "one lock with contenders behind its holder", x: "contenders behind",
			points: []int{1, 3, 10, 30, 100, 300, 1000, 3000, 5000}, least: 0, most: 100_000, server: true,
			figures: []figure{
				{"on the peer, acquire and release", "µs", false},
				{"on the peer, requests per acquire", "requests", false},
				{"on the peer, allocations per acquire", "allocations", false},
				{"on the peer, allocated per acquire", "bytes", false},
				{"on the server, acquire and release", "µs", false},
			},
			measure: contenders,
		},
		{
			name: "locks", title: "locks of one session, one goroutine for each", x: "locks",
			points: []int{1, 3, 10, 30, 100, 300, 1000}, least: 1, most: 100_000, server: true,
			figures: []figure{
				{"acquires and releases", "per second", true},
				{"allocated per acquire", "bytes", false},
			},
			measure: locks,
		},
		{
			name: "sessions", title: "sessions with a lock each", x: "sessions",
			points: []int{1, 3, 10, 30, 100, 300, 1000}, least: 1, most: 100_000, server: true, files: 1,
			figures: []figure{
				{"acquires and releases of all sessions", "per second", true},
				{"memory of an idle session, heap and stacks", "bytes", false},
			},
			measure: sessions,
		},
		{
			name: "watches", title: "watches of one session", x: "watches",
			points: []int{1, 10, 100, 1000, 10_000, 100_000}, least: 1, most: 1_000_000, server: true,
			figures: []figure{
				{"memory of a watch, heap", "bytes", false},
				{"from a reconnect until all are set again", "ms", false},
				{"from the cut until all are set again", "ms", false},
			},
			measure: watches,
		},
		{
			name: "payload", title: "reads of data of one size, on the peer", x: "bytes of data",
			points: []int{0, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}, least: 0, most: 1 << 20,
			plain: "plain socket",
			figures: []figure{
				{"replies, headers included", "bytes per second", true},
				{"allocated per read", "bytes", false},
			},
			measure: payload,
		},
		{
			name: "depth", title: "hand-over of one lock with waiters in ten sessions", x: "waiters",
			points: []int{1, 3, 10, 30, 100, 300, 1000}, least: 1, most: 100_000, server: true,
			figures: []figure{
				{"from release to the next holder's return, median", "µs", false},
			},
			measure: depth,
		},
	}
}

// subjects are those of a curve, ours before what stands beside the clients.
func (c *curve) subjects(drivers []load.Driver) (all []subject) {
	for _, d := range drivers {
		all = append(all, subject{d.Name(), d})
	}
	if c.plain != "" {
		all = append(all, subject{name: c.plain})
	}
	return all
}
