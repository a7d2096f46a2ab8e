package checker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockkeeper/lockkeeper/client"
)

// setup says what is run.
type setup struct {
	make     maker
	kinds    []kind // of which each path gets one
	each     bool   // there is a path for each of the kinds, with more workers, else one to three with any of them
	model    porcupine.Model
	permits  int   // of every semaphore; 0: some
	multi    bool  // now and then locks of several paths as one, too
	careless bool  // beside those that are taken one by one, these are not Ordered: wrong on purpose
	counter  int32 // where the numbers of each path begin
	faults   []fault
	quiet    bool // without faults
	patience time.Duration
	timeout  time.Duration // of sessions
	lengthy  float64       // how much longer than usual locks are held
}

// target is the ensemble that a run uses.
type target interface {
	connect(ctx context.Context, i int) (*client.Client, error)
	children(path string) ([]string, error)
	identify(path string) Node // of what is there now: without Zxid and Owner if it is not known
	settle(d time.Duration)    // lets time pass
}

// run is one run of the driver.
type run struct {
	setup
	target
	seed    uint64
	h       *History
	paths   []string
	sites   []site // by path
	clients []*client.Client
	locks   [][]lock      // by client and path
	parts   [][]multiPart // likewise; of nobody if nothing is locked as one
	sorted  bool          // some of these take one lock after the other, in the order of the paths
	guarded []resource
	touched sync.Map    // paths of znodes whose data was written by somebody else than their owners
	views   []*observer // of elections
	viewing sync.WaitGroup
	rows    atomic.Int64 // numbers of workers given out

	stop    chan struct{}
	workers sync.WaitGroup
	late    context.Context // ends when no call may take any longer
	lateEnd context.CancelFunc

	mu     sync.Mutex // guards what follows
	bad    []Violation
	counts map[string]int // faults, by name
	grants map[string]int // by kind of lock
}

// resource refuses tokens lower than the highest that it has seen.
type resource struct {
	mu   sync.Mutex
	seen Token
}

func newRun(s setup, t target, seed uint64) *run {
	r := &run{setup: s, target: t, seed: seed, h: NewHistory(), stop: make(chan struct{}), counts: make(map[string]int), grants: make(map[string]int)}
	r.late, r.lateEnd = context.WithCancel(context.Background())
	return r
}

// the four kinds of random numbers of a run.
const (
	ofFaults = iota + 1
	ofSetup
	ofObserver
	ofWorkers
)

func (r *run) rand(what uint64) *rand.Rand { return rand.New(rand.NewPCG(r.seed, what)) }

// begin connects the clients and starts their workers.
func (r *run) begin(ctx context.Context) error {
	rng := r.rand(ofSetup)
	n := 4 + rng.IntN(2)
	for i, k := range r.choose(rng) {
		r.paths = append(r.paths, fmt.Sprintf("/locks/%c", 'a'+i))
		r.sites = append(r.sites, r.site(r.paths[i], k))
	}
	r.guarded = make([]resource, len(r.paths))
	for i := range n {
		c, err := r.connect(ctx, i)
		if err != nil {
			return err
		}
		r.clients = append(r.clients, c)
		var locks []lock
		for _, s := range r.sites {
			locks = append(locks, r.make(c, s, rng))
		}
		r.locks = append(r.locks, locks)
	}
	r.combine()
	if err := r.register(ctx); err != nil {
		return err
	}
	return r.number(ctx)
}

// choose chooses the kinds of the paths.
func (r *run) choose(rng *rand.Rand) (kinds []kind) {
	if r.each {
		return r.kinds
	}
	for range 1 + rng.IntN(3) {
		kinds = append(kinds, r.kinds[rng.IntN(len(r.kinds))])
	}
	return kinds
}

// site chooses what the locks of a path have in common.
func (r *run) site(path string, k kind) site {
	s := site{path: path, kind: k}
	if k != semaphores && k != lines && k != numbered && k != curators {
		return s
	}
	if s.permits = r.permits; s.permits == 0 {
		s.permits = 1 + r.rand(ofSetup+400+uint64(len(r.sites))).IntN(mostPermits)
	}
	r.h.Permits[path] = s.permits
	return s
}

// number writes the numbers of permits into the znodes that have them.
func (r *run) number(ctx context.Context) error {
	for p, l := range r.locks[0] {
		if l, ok := l.(resizer); ok {
			if _, err := l.resize(ctx, r.sites[p].permits); err != nil {
				return err
			}
		}
	}
	return nil
}

// start starts the workers.
func (r *run) start() {
	rng := r.rand(ofSetup + 100)
	for i := range r.clients {
		n := 1 + rng.IntN(2)
		if r.each {
			n = 1 + len(r.kinds)/2
		}
		for range n {
			w := &worker{run: r, client: i, row: int(r.rows.Add(1)) - 1}
			w.rng = r.rand(ofWorkers + uint64(w.row))
			// Worker; owned by the run, which waits for it; ends after its present hold when the run stops.
			r.workers.Go(w.work)
		}
	}
	r.view()
	for i := range r.parts {
		w := &multiWorker{&worker{run: r, client: i, row: int(r.rows.Add(1)) - 1}}
		w.rng = r.rand(ofWorkers + uint64(w.row))
		// Worker that locks several paths as one; owned and ended as the others are.
		r.workers.Go(w.work)
	}
}

// finish lets the workers end and looks whether everything works again; it is called when all faults are over.
func (r *run) finish() {
	close(r.stop)
	stuck := time.AfterFunc(r.patience, r.lateEnd)
	r.workers.Wait()
	r.settle(2 * r.timeout)
	rng := r.rand(ofSetup + 200)
	for i := range r.clients {
		w := &worker{run: r, client: i, row: int(r.rows.Add(1)) - 1, rng: rng}
		for p := range r.paths {
			w.last(p)
		}
		if i < len(r.parts) {
			(&multiWorker{w}).last()
		}
	}
	r.viewed()
	stuck.Stop()
	r.settle(2 * r.timeout)
	for p := range r.paths {
		r.readHolders(p, 1000)
	}
	r.leftOvers()
}

// leftOvers looks for what must be gone.
func (r *run) leftOvers() {
	for _, s := range r.sites {
		for _, folder := range s.folders() {
			names, err := r.children(folder)
			if err != nil {
				r.violate(Strange, s.path, err.Error())
			}
			if len(names) > 0 {
				r.violate(LeftOver, s.path, fmt.Sprint(names))
			}
		}
	}
	for i, c := range r.clients {
		if n := c.CleanupsPending(); n > 0 {
			r.violate(LeftOver, "", fmt.Sprintf("%d clean-ups of client %d", n, i))
		}
	}
}

// closeClients ends the sessions.
func (r *run) closeClients() {
	for i, c := range r.clients {
		if err := c.Close(); err != nil {
			r.violate(Strange, "", fmt.Sprintf("client %d: %v", i, err))
		}
	}
	r.lateEnd()
	r.h.Finish()
}

func (r *run) violate(f Fault, path, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bad = append(r.bad, Violation{f, path, what})
}

// readHolders notes who holds the lock according to the queue.
func (r *run) readHolders(p, row int) {
	if r.sites[p].permits > 0 {
		return // which has no single holder
	}
	op := Op{Client: row, Path: r.paths[p], Kind: Holders, Result: OK, Call: r.h.Now()}
	names, err := r.children(op.Path)
	if err != nil {
		return // a read that failed says nothing
	}
	names, op.Write = front(contenders(names))
	for _, name := range names {
		op.Nodes = append(op.Nodes, r.identify(op.Path+"/"+name))
	}
	r.h.Add(op)
}

// use uses the resource that the lock protects.
func (r *run) use(p, row, hold int, token Token) {
	op := Op{Client: row, Path: r.paths[p], Kind: Use, Hold: hold, Token: token, Result: OK, Call: r.h.Now()}
	g := &r.guarded[p]
	g.mu.Lock()
	if token.Less(g.seen) {
		op.Result = Refused
	} else {
		g.seen = token
	}
	g.mu.Unlock()
	r.h.Add(op)
}
