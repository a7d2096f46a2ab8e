package scale

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/load"
)

// All is the name that stands for every curve.
const All = "all"

// Options say what to measure. Register makes flags of the first part; the program sets the second.
type Options struct {
	What   string        // the name of a curve, or All; empty when none is wanted
	Dir    string        // the folder for the SVG files; empty for none
	Points []int         // instead of those that each curve has of its own
	Window time.Duration // of one measurement

	// Ops, when it is not zero, bounds a measurement by a number of operations instead of by Window.
	Ops int

	Drivers []load.Driver // the clients, ours last
	Rounds  int           // each client is measured so often at each point
	// Server starts the server of the curves that need one, or finds it. It is called once at most.
	Server func(ctx context.Context) (*Site, error)
	// Note is told how far it is.
	Note func(format string, args ...any)
}

// Site is a server to measure on.
type Site struct {
	Name  string // for readers
	Addr  string // "host:port,host:port"
	Close func() error
}

// DefaultRounds is how often each client is measured at each point, unless users say otherwise.
const DefaultRounds = 5

// defaultWindow makes all curves together take some minutes.
const defaultWindow = 300 * time.Millisecond

// Register adds the flags.
func (o *Options) Register(fs *flag.FlagSet) {
	fs.StringVar(&o.What, "scale", "", "measure a curve, `what`: "+strings.Join(Names(), ", ")+", or "+All)
	fs.StringVar(&o.Dir, "svg", "", "`folder` into which -scale writes an SVG file per curve")
	fs.DurationVar(&o.Window, "scaletime", defaultWindow, "`time` of each measurement of -scale")
	fs.Func("points", "`numbers` to measure at with -scale, such as 1,10,100; by default each curve has its own", func(s string) error {
		o.Points = nil
		for field := range strings.SplitSeq(s, ",") {
			n, err := strconv.Atoi(field)
			if err != nil {
				return fmt.Errorf("%q is no whole number", field)
			}
			o.Points = append(o.Points, n)
		}
		return nil
	})
}

// ErrOptions is matched by the errors of Validate.
var ErrOptions = errors.New("bad options")

// Validate reports the first thing that is wrong with the flags, in words that name them.
func (o *Options) Validate() error {
	if o.What == "" {
		if o.Dir != "" || o.Points != nil {
			return fmt.Errorf("%w: -svg and -points are for -scale", ErrOptions)
		}
		return nil
	}
	chosen := o.chosen()
	switch {
	case len(chosen) == 0:
		return fmt.Errorf("%w: -scale %q is none of %s, %s", ErrOptions, o.What, strings.Join(Names(), ", "), All)
	case o.Ops == 0 && o.Window <= 0:
		return fmt.Errorf("%w: -scaletime is %v, it must be positive", ErrOptions, o.Window)
	case o.Rounds < 1:
		return fmt.Errorf("%w: -rounds is %d, at least 1 is needed", ErrOptions, o.Rounds)
	}
	for _, c := range chosen {
		for _, x := range o.Points {
			if x < c.least || x > c.most {
				return fmt.Errorf("%w: -points %d is not for -scale %s, which goes from %d to %d", ErrOptions, x, c.name, c.least, c.most)
			}
		}
	}
	return nil
}

// Names are those of the curves.
func Names() (names []string) {
	for _, c := range curves() {
		names = append(names, c.name)
	}
	return names
}

// chosen returns the curves that What names.
func (o *Options) chosen() []curve {
	return slices.DeleteFunc(curves(), func(c curve) bool { return o.What != All && o.What != c.name })
}
