package scale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/load"
)

// runner is a run under way.
type runner struct {
	*Options
	files int   // how many may be open; 0 when that is not known
	site  *Site // nil until a curve needs it
}

// Run measures the curves, prints a table for each when it is complete, and writes its SVG. When ctx ends the curve that is under
// way is given up, what it has made on the server is removed, and the error matches load.ErrInterrupted.
func Run(ctx context.Context, o *Options, stdout io.Writer) (err error) {
	if err := o.Validate(); err != nil {
		return err
	}
	if o.Dir != "" {
		if err := os.MkdirAll(o.Dir, 0o777); err != nil {
			return err
		}
	}
	r := &runner{Options: o, files: fileLimit()}
	defer func() {
		if r.site != nil {
			err = errors.Join(err, r.site.Close())
		}
	}()
	fmt.Fprintf(stdout, "medians of %d rounds of %s; %s %s/%s, %d processors\n",
		o.Rounds, o.length(), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	for _, c := range o.chosen() {
		res, err := r.run(ctx, c)
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", c.name, load.ErrInterrupted)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if err := errors.Join(res.writeTable(stdout), o.draw(res)); err != nil {
			return err
		}
	}
	return nil
}

// length says in words how long a measurement is.
func (o *Options) length() string {
	if o.Ops > 0 {
		return fmt.Sprintf("%d operations", o.Ops)
	}
	return o.Window.String()
}

// draw writes the SVG of a curve, if that is wanted.
func (o *Options) draw(res *result) error {
	if o.Dir == "" {
		return nil
	}
	f, err := os.Create(filepath.Join(o.Dir, res.curve.name+".svg"))
	if err != nil {
		return err
	}
	return errors.Join(res.figure().Write(f), f.Close())
}

// run measures one curve. A round goes through all points, and at each point through all subjects, the next one first each time:
// what else the machine does for some seconds then concerns one round of some points, which the medians drop.
func (r *runner) run(ctx context.Context, c curve) (*result, error) {
	if c.server && r.site == nil {
		site, err := r.Server(ctx)
		if err != nil {
			return nil, err
		}
		r.site = site
	}
	res := r.newResult(&c)
	samples := make([][][][]float64, len(res.subjects)) // by subject, point, figure, round
	for i := range samples {
		samples[i] = make([][][]float64, len(res.points))
		for k := range samples[i] {
			samples[i][k] = make([][]float64, len(c.figures))
		}
	}
	for round := range r.Rounds {
		for k, x := range res.points {
			for turn := range res.subjects {
				i := (turn + round + k) % len(res.subjects)
				r.Note("%s, round %d of %d, %d %s, %s", c.name, round+1, r.Rounds, x, c.x, res.subjects[i].name)
				got, err := r.once(ctx, &c, res.subjects[i], x)
				if err != nil {
					return nil, fmt.Errorf("%d %s, %s: %w", x, c.x, res.subjects[i].name, err)
				}
				for f, v := range got {
					samples[i][k][f] = append(samples[i][k][f], v)
				}
			}
		}
	}
	for i := range samples {
		for k := range samples[i] {
			for f, rounds := range samples[i][k] {
				res.values[f][i][k] = median(rounds)
			}
		}
	}
	return res, nil
}

// once makes one measurement.
func (r *runner) once(ctx context.Context, c *curve, s subject, x int) ([]float64, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	runtime.GC() // what the one before has left is not collected at this one's expense
	return c.measure(ctx, r, s, x)
}

// median returns the middle value, or the mean of the two in the middle.
func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}

// enough says whether a loop that began then may end after n rounds.
func (r *runner) enough(n int, began time.Time) bool {
	if r.Ops > 0 {
		return n >= r.Ops
	}
	return n >= leastRounds && time.Since(began) >= r.Window
}

// leastRounds is how many rounds a loop makes also when they take longer than its window.
const leastRounds = 10
