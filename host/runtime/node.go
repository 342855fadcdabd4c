package runtime

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wasmstream/wasmstream/host/stream"
)

// task is what a node drives.
type task interface {
	// step does a bounded amount of work. It says whether there is more that can
	// be done at once, and until when it need not be called otherwise (never: the
	// zero moment), unless a pipe wakes it.
	step() (outcome, error)
}

// outcome of a step.
type outcome struct {
	more     bool
	later    bool // what is more can wait for all others
	deadline stream.ProcTime
	blocked  bool // it stopped for lack of room
}

// The states of a node. Whoever wakes a running node makes it run again, so that
// no news is lost between its last look and its return.
const (
	idle int32 = iota
	ready
	running
	again
)

// node is a task with its place in the schedule.
type node struct {
	name     string
	task     task
	level    int // distance from the sources: downstream goes first
	state    atomic.Int32
	later    atomic.Bool   // when it is ready: others go first, unless it is woken
	deadline atomic.Int64  // ms; 0: none
	signal   chan struct{} // I/O tasks: wakes their goroutine; nil for others
	sched    *scheduler
	meter    *meter
}

// wake makes sure that the node is stepped after this moment.
func (n *node) wake() {
	if n.later.Load() {
		n.later.Store(false)
	}
	for {
		switch n.state.Load() {
		case idle:
			if n.state.CompareAndSwap(idle, ready) {
				n.sched.announce(n)
				return
			}
		case running:
			if n.state.CompareAndSwap(running, again) {
				return
			}
		default:
			return
		}
	}
}

// run steps the node once; the caller has made it running.
func (n *node) run() {
	out, err := n.step()
	if err != nil {
		n.sched.stop(err)
		return
	}
	n.deadline.Store(int64(out.deadline))
	n.later.Store(out.later && n.state.Load() == running) // who woke it has brought something
	if out.more || !n.state.CompareAndSwap(running, idle) {
		n.state.Store(ready)
		n.sched.announce(n)
	}
	if out.deadline != 0 {
		n.sched.arm(out.deadline)
	}
}

// step steps the task, and measures that if anybody wants to know.
func (n *node) step() (outcome, error) {
	now := n.sched.monotonic
	if now == nil {
		return n.task.step()
	}
	n.meter.began(now())
	out, err := n.task.step()
	n.meter.ended(now(), out.blocked)
	return out, err
}

// scheduler drives the nodes of one job.
type scheduler struct {
	nodes []*node // downstream first
	clock stream.Clock
	// monotonic is for how busy tasks are; nil: that is not measured.
	monotonic func() time.Duration

	sleepers  atomic.Int32
	computing atomic.Int32 // I/O tasks that do, see compute
	turn      atomic.Int64 // since when the workers have not given way meanwhile; ms
	stopped   atomic.Bool
	mu        sync.Mutex
	cond      sync.Cond
	err       error           // why it stopped; guarded by mu
	alarm     stream.ProcTime // when the clock will ring; guarded by mu
	quit      chan struct{}   // closed at stop, for I/O tasks
	failed    func()          // called once, when it stops with an error
}

func newScheduler(clock stream.Clock) *scheduler {
	s := &scheduler{clock: clock, quit: make(chan struct{})}
	s.cond.L = &s.mu
	return s
}

// add registers a task. I/O tasks may block in their step.
func (s *scheduler) add(name string, level int, t task, io bool) *node {
	n := &node{name: name, task: t, level: level, sched: s, meter: newMeter()}
	n.state.Store(ready)
	if io {
		n.signal = make(chan struct{}, 1)
	}
	s.nodes = append(s.nodes, n)
	return n
}

// order sorts the nodes downstream first, once all are there.
func (s *scheduler) order() {
	slices.SortStableFunc(s.nodes, func(a, b *node) int { return b.level - a.level })
}

// announce tells whoever may sleep that a node is ready.
func (s *scheduler) announce(n *node) {
	if n.signal != nil {
		select {
		case n.signal <- struct{}{}:
		default: // it has a signal to see already
		}
		return
	}
	if s.sleepers.Load() > 0 {
		s.mu.Lock()
		s.cond.Signal()
		s.mu.Unlock()
	}
}

// run drives the job with so many workers until it stops, and returns why. All
// goroutines have ended then.
func (s *scheduler) run(workers int) error {
	var group sync.WaitGroup
	for range workers {
		group.Go(newWorker(s).work)
	}
	for _, n := range s.nodes {
		if n.signal != nil {
			group.Go(func() { s.workIO(n) })
		}
	}
	group.Wait()
	return s.cause()
}

func (s *scheduler) workIO(n *node) {
	for {
		for n.state.CompareAndSwap(ready, running) {
			if s.stopped.Load() {
				return
			}
			n.run()
		}
		select {
		case <-n.signal:
		case <-s.quit:
			return
		}
	}
}

// stop ends the job; the first cause counts, nil being success.
func (s *scheduler) stop(err error) {
	if s.halt(err) && err != nil && s.failed != nil {
		s.failed()
	}
}

// halt is true if the scheduler had not stopped.
func (s *scheduler) halt(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped.Load() {
		return false
	}
	s.err = err
	s.stopped.Store(true)
	close(s.quit)
	s.cond.Broadcast()
	return true
}

func (s *scheduler) cause() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// arm has the clock wake nodes whose deadline has come by at.
func (s *scheduler) arm(at stream.ProcTime) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.alarm == 0 || at < s.alarm {
		s.alarm = at
		s.clock.Alarm(at, s.ring)
	}
}

// ring wakes the nodes whose deadline has come and arms the clock for the next.
func (s *scheduler) ring() {
	now, next := s.clock.Now(), stream.ProcTime(0)
	s.mu.Lock()
	s.alarm = 0
	s.mu.Unlock()
	for _, n := range s.nodes {
		switch at := stream.ProcTime(n.deadline.Load()); {
		case at == 0:
		case at <= now:
			n.wake()
		case next == 0 || at < next:
			next = at
		}
	}
	if next != 0 {
		s.arm(next)
	}
}

// drive steps nodes one at a time in the calling goroutine, I/O tasks too, until
// none is ready or the job stops. With a generator the order follows from it;
// without, downstream goes first.
func (s *scheduler) drive(order *rand.Rand) error {
	for !s.stopped.Load() {
		n := s.pick(order)
		if n == nil {
			return nil
		}
		n.state.Store(running)
		n.run()
	}
	return s.cause()
}

func (s *scheduler) pick(order *rand.Rand) *node {
	var chosen *node
	seen := 0
	for _, n := range s.nodes {
		if n.state.Load() != ready {
			continue
		}
		if order == nil {
			return n
		}
		if seen++; order.IntN(seen) == 0 {
			chosen = n
		}
	}
	return chosen
}
