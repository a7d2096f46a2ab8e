package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockkeeper/lockkeeper/integration/wirecount"
)

// cost is what has been measured of one client under one load.
type cost struct {
	units   float64 // holds or seconds
	wire    wirecount.Tally
	servers account
	cpu     cpu
}

// cpu is computing time of servers.
type cpu struct {
	known             bool
	leader, followers time.Duration // followers is the sum of theirs
}

// window is a measurement under way: what there was at its beginning.
type window struct {
	r        *rig
	counter  *wirecount.Counter
	earliest wirecount.Tally // before the servers were asked
	wire     wirecount.Tally
	servers  account
	cpu      cpu
}

// errDisagree means that the proxies and the servers count differently, so that neither is to be believed.
var errDisagree = errors.New("the servers have received another number of packets than the proxies have passed on")

// open begins a measurement, while nothing is under way but pings. The servers' computing time is looked at last, and first
// by close, so that the questions are not in it.
func (r *rig) open(ctx context.Context, counter *wirecount.Counter) (*window, error) {
	w := &window{r: r, counter: counter}
	var err error
	if w.earliest, err = counter.Await(ctx, still); err != nil {
		return nil, err
	}
	if w.servers, err = r.ask(ctx); err != nil {
		return nil, err
	}
	if w.cpu, err = r.cpu(); err != nil {
		return nil, err
	}
	w.wire = counter.Tally()
	return w, nil
}

func still(t wirecount.Tally) bool { return t.Outstanding == 0 }

// close ends the measurement, when nothing is under way any more, and compares what the proxies have counted with what the
// servers have.
func (w *window) close(ctx context.Context) (cost, error) {
	wire := w.counter.Tally()
	if err := w.counter.Err(); err != nil {
		return cost{}, err
	}
	now, err := w.r.cpu()
	if err != nil {
		return cost{}, err
	}
	// What has been counted here, the servers have by the time that it is answered.
	if _, err := w.counter.Await(ctx, still); err != nil {
		return cost{}, err
	}
	servers, err := w.r.ask(ctx)
	if err != nil {
		return cost{}, err
	}
	c := cost{wire: wire.Minus(w.wire), servers: servers.minus(w.servers)}
	c.cpu = cpu{now.known && w.cpu.known, now.leader - w.cpu.leader, now.followers - w.cpu.followers}
	// The servers were asked some time after the one tally and before the other: pings may have passed in between.
	least, most := wire.Packets()-w.wire.Packets(), w.counter.Tally().Packets()-w.earliest.Packets()
	if got := c.servers.received; got < least || got > most {
		return c, fmt.Errorf("%w: %d, and %d to %d", errDisagree, got, least, most)
	}
	return c, nil
}

// cpu returns the computing time of the servers so far; on systems that do not tell it is not known.
func (r *rig) cpu() (c cpu, err error) {
	for _, s := range r.servers {
		d, err := s.CPUTime()
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			return cpu{}, nil
		case err != nil:
			return cpu{}, err
		case s == r.leader():
			c.leader = d
		default:
			c.followers += d
		}
	}
	c.known = true
	return c, nil
}
