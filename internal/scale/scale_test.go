package scale

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/internal/leakcheck"
	"github.com/lockkeeper/lockkeeper/internal/load"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// bounded returns options of runs that are bounded by numbers, on a server of the test's own, which must be empty in the end.
func bounded(t *testing.T, what string) *Options {
	t.Helper()
	o, _ := served(t, what)
	return o
}

// served is bounded, and returns the server too.
func served(t *testing.T, what string) (*Options, *zktest.Server) {
	t.Helper()
	srv := zktest.New()
	addr, err := srv.Listen()
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.Equal(t, []string{"zookeeper"}, srv.Children("/"), "left on the server")
		srv.Close()
	})
	closed := 0
	t.Cleanup(func() { assert.LessOrEqual(t, closed, 1, "the server is started and ended once") })
	return &Options{
		What: what, Ops: 12, Rounds: 2, Points: []int{1, 4}, Drivers: []load.Driver{load.Lockkeeper{}},
		Server: func(context.Context) (*Site, error) {
			return &Site{Name: "test", Addr: addr, Close: func() error { closed++; return nil }}, nil
		},
		Note: func(string, ...any) {},
	}, srv
}

// wellFormed reads a file as XML.
func wellFormed(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err, file)
	}
}

// Each curve, with two clients of which one stands for the other, so that there are ratios.
func TestEveryCurve(t *testing.T) {
	for _, c := range curves() {
		t.Run(c.name, func(t *testing.T) {
			o := bounded(t, c.name)
			o.Dir = filepath.Join(t.TempDir(), "made", "for it")
			o.Drivers = append([]load.Driver{other{}}, o.Drivers...)
			var out bytes.Buffer
			require.NoError(t, Run(t.Context(), o, &out))
			for _, word := range []string{c.title, "other", "lockkeeper/other", "exponent", "r²"} {
				assert.Contains(t, out.String(), word)
			}
			for _, f := range c.figures {
				assert.Contains(t, out.String(), f.name+", "+f.unit)
			}
			assert.Equal(t, c.plain != "", strings.Contains(out.String(), "plain socket"))
			wellFormed(t, filepath.Join(o.Dir, c.name+".svg"))
			files, err := os.ReadDir(o.Dir)
			require.NoError(t, err)
			assert.Len(t, files, 1)
		})
	}
}

// other is our client under another name.
type other struct{ load.Lockkeeper }

func (other) Name() string { return "other" }

// values measures a curve of our client alone and returns one figure of each point.
func values(t *testing.T, o *Options, figure int) []float64 {
	t.Helper()
	r := &runner{Options: o}
	defer func() {
		if r.site != nil {
			require.NoError(t, r.site.Close())
		}
	}()
	res, err := r.run(t.Context(), o.chosen()[0])
	require.NoError(t, err)
	return res.values[figure][0]
}

// What is counted is exact, so it shows that the curves do what they say.
func TestCounts(t *testing.T) {
	o := bounded(t, "contenders")
	o.Points = []int{0, 1, 50}
	assert.Equal(t, []float64{3, 3, 3}, values(t, o, 1), "requests of acquire and release, whoever stands behind")
	o = bounded(t, "payload")
	o.Points, o.Ops = []int{100_000}, 200
	assert.LessOrEqual(t, values(t, o, 1)[0], float64(bytesPerRead), "reads into the caller's memory allocate nothing")
	o = bounded(t, "watches")
	o.Points, o.Rounds = []int{200}, 1
	each := values(t, o, 0)[0]
	assert.True(t, each > 50 && each < 5000, "a watch occupies %.0f bytes", each)
	o = bounded(t, "sessions")
	o.Points, o.Rounds = []int{20}, 1
	each = values(t, o, 1)[0]
	assert.True(t, each > 1000 && each < 1_000_000, "a session occupies %.0f bytes", each)
}

// On the server the contenders behind are really there, and have gone afterwards.
func TestContendersStandBehindOnTheServer(t *testing.T) {
	o := bounded(t, "contenders")
	o.Points, o.Rounds = []int{3}, 1
	looked := &looking{children: make(chan int, 1)}
	o.Drivers = []load.Driver{looked}
	_ = values(t, o, 0)
	assert.Equal(t, 3, <-looked.children)
}

// looking is our client, and counts once what stands in the queue of a lock on the server while it is held.
type looking struct {
	load.Lockkeeper
	children chan int
}

func (l *looking) Open(ctx context.Context, servers string) (load.Session, error) {
	ss, err := l.Lockkeeper.Open(ctx, servers)
	return lookingSession{ss, l, servers}, err
}

type lookingSession struct {
	load.Session
	l       *looking
	servers string
}

func (s lookingSession) Locker(path string, how load.LockOptions) load.Locker {
	if path != "/perf/lock-0" { // that of the peer
		t, err := load.Plant(context.Background(), s.servers, 0)
		if err == nil {
			names, _, _ := t.Client.Children(context.Background(), path)
			s.l.children <- len(names)
			_ = t.Remove(context.Background())
		}
	}
	return s.Session.Locker(path, how)
}

// Wherever the interrupt comes, the curve is given up, says so, and leaves nothing.
func TestAnInterrupt(t *testing.T) {
	for _, c := range curves() {
		t.Run(c.name, func(t *testing.T) {
			for _, after := range []int{0, 1, 2} {
				o := bounded(t, c.name)
				o.Dir = t.TempDir()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				notes := 0
				o.Note = func(string, ...any) {
					if notes++; notes > after {
						cancel()
					}
				}
				var out bytes.Buffer
				require.ErrorIs(t, Run(ctx, o, &out), load.ErrInterrupted)
				assert.NotContains(t, out.String(), "exponent")
				files, err := os.ReadDir(o.Dir)
				require.NoError(t, err)
				assert.Empty(t, files)
			}
		})
	}
}

// A watch that the server has confirmed and that says nothing all the same fails the curve.
func TestADeafWatchFailsTheCurve(t *testing.T) {
	o := bounded(t, "watches")
	o.Drivers = []load.Driver{deaf{}}
	require.ErrorIs(t, Run(t.Context(), o, io.Discard), errDeaf)
}

var errDeaf = errors.New("nothing heard")

type deaf struct{ load.Lockkeeper }

func (d deaf) Open(ctx context.Context, servers string) (load.Session, error) {
	ss, err := d.Lockkeeper.Open(ctx, servers)
	if err != nil {
		return nil, err
	}
	return deafSession{ss, ss.(load.Watching)}, nil
}

type deafSession struct {
	load.Session
	load.Watching
}

func (deafSession) Wait(context.Context, any) error { return errDeaf }

// A window that is too short for anything grows until each goroutine has had its share.
func TestAWindowThatIsTooShortGrows(t *testing.T) {
	o, srv := served(t, "locks")
	addr, err := srv.Listen()
	require.NoError(t, err)
	o.Ops, o.Window = 0, 50*time.Microsecond
	rep, err := (&runner{Options: o}).load(t.Context(), load.Config{
		Driver: load.Lockkeeper{}, Servers: addr, Sessions: 2, Goroutines: 3, Locks: 6,
	})
	require.NoError(t, err)
	assert.GreaterOrEqual(t, rep.Operations, int64(leastShare*6))
}

var errNoServer = errors.New("no server")

func TestAServerThatDoesNotStart(t *testing.T) {
	o := bounded(t, All)
	o.Server = func(context.Context) (*Site, error) { return nil, errNoServer }
	require.ErrorIs(t, Run(t.Context(), o, io.Discard), errNoServer)
	o = bounded(t, "payload")
	o.Server = func(context.Context) (*Site, error) { return nil, errNoServer }
	require.NoError(t, Run(t.Context(), o, io.Discard), "this one needs none")
}

func TestAServerThatDoesNotAnswerFailsEachCurve(t *testing.T) {
	for _, c := range curves() {
		if !c.server {
			continue
		}
		o := bounded(t, c.name)
		o.Server = func(context.Context) (*Site, error) {
			return &Site{Addr: "no:such:address", Close: func() error { return nil }}, nil
		}
		require.Error(t, Run(t.Context(), o, io.Discard), c.name)
	}
}

// A client that can neither read nor watch is an error of these curves.
type bare struct{ load.Lockkeeper }

func (d bare) Open(ctx context.Context, servers string) (load.Session, error) {
	ss, err := d.Lockkeeper.Open(ctx, servers)
	return struct{ load.Session }{ss}, err
}

func TestClientsThatCannot(t *testing.T) {
	for _, what := range []string{"watches", "payload"} {
		o := bounded(t, what)
		o.Drivers = []load.Driver{bare{}}
		require.ErrorIs(t, Run(t.Context(), o, io.Discard), errors.ErrUnsupported, what)
	}
}

func TestPointsThatNeedTooManyFilesAreLeftOut(t *testing.T) {
	o := bounded(t, "sessions")
	o.Points = []int{1, 3, 100}
	c := o.chosen()[0]
	res := (&runner{Options: o, files: 50 + filesBeside, site: &Site{}}).newResult(&c)
	assert.Equal(t, []int{1, 3}, res.points)
	var out bytes.Buffer
	require.NoError(t, res.writeTable(&out))
	assert.Contains(t, out.String(), "left out from 100 sessions on: only 114 files may be open")
	res = (&runner{Options: o, site: &Site{}}).newResult(&c)
	assert.Equal(t, o.Points, res.points, "where the limit is not known")
	o.Points = nil
	assert.Equal(t, c.points, (&runner{Options: o, site: &Site{}}).newResult(&c).points)
}

// Rounds alternate: who is first changes from point to point and from round to round.
func TestOrder(t *testing.T) {
	o := bounded(t, "payload")
	o.Points = []int{0, 1}
	var order []string
	o.Note = func(_ string, args ...any) { order = append(order, fmt.Sprint(args[1], args[3], args[5])) }
	require.NoError(t, Run(t.Context(), o, io.Discard))
	assert.Equal(t, []string{
		"1 0lockkeeper", "1 0plain socket", "1 1plain socket", "1 1lockkeeper",
		"2 0plain socket", "2 0lockkeeper", "2 1lockkeeper", "2 1plain socket",
	}, slices.Clone(order))
}

func TestMediansAndDigits(t *testing.T) {
	assert.InDelta(t, 2, median([]float64{9, 1, 2}), 0)
	assert.InDelta(t, 3, median([]float64{4, 9, 1, 2}), 0)
	for v, want := range map[float64]string{0: "0", 12345.6: "12346", 99.95: "100.0", 12.34: "12.3", 1.234: "1.23", 0.1: "0.10", 0.00274: "0.0027"} {
		assert.Equal(t, want, digits(v))
	}
	assert.Equal(t, "-", quotient(1, 0))
	assert.Equal(t, "0.50", quotient(1, 2))
}

func TestALoopIsLongEnough(t *testing.T) {
	r := &runner{Options: &Options{Window: time.Hour}}
	assert.False(t, r.enough(leastRounds, time.Now()))
	assert.True(t, r.enough(leastRounds, time.Now().Add(-2*time.Hour)))
	assert.False(t, r.enough(leastRounds-1, time.Now().Add(-2*time.Hour)))
	r.Ops = 3
	assert.False(t, r.enough(2, time.Now().Add(-2*time.Hour)))
	assert.True(t, r.enough(3, time.Now()))
}

func TestFirstOf(t *testing.T) {
	for servers, want := range map[string][2]string{
		"a:1": {"a:1", ""}, "a:1,b:2": {"a:1", ""}, "a:1,b:2/app": {"a:1", "/app"}, "a:1/app/x": {"a:1", "/app/x"},
	} {
		server, chroot := firstOf(servers)
		assert.Equal(t, want, [2]string{server, chroot})
	}
}
