package runtime

import goruntime "runtime"

// Tasks for I/O compute, too: a checkpoint of a million keys is sorted and written for
// half a second. On few processors they and the workers share these by giving way to
// each other. Both have to: if only the task did, every few hundred records, a worker
// would go on for the 10 ms that Go gives it each time, and a checkpoint that is some
// thousand pieces of work would take a minute. And both go by time: if a worker gave way
// after each of its tasks, a record would be held up once in each of them.

// turnMillis is how long either computes, about, before it gives way: as long as a batch
// may take a worker, and well below what a record may be held up.
const turnMillis = 2

// compute runs what an I/O task computes for long. Do calls giveWay after each small
// piece of work.
func (n *node) compute(do func(giveWay func()) error) error {
	s := n.sched
	s.computing.Add(1)
	defer s.computing.Add(-1)
	since := s.clock.Now()
	return do(func() {
		if s.clock.Now()-since >= turnMillis {
			goruntime.Gosched()
			since = s.clock.Now()
		}
	})
}

// giveWay lets I/O tasks compute that want to, once a worker has had its turn; and read
// or write, if the node has nothing to do but what can wait.
func (s *scheduler) giveWay(n *node) {
	switch {
	case n.later.Load():
		goruntime.Gosched()
	case s.computing.Load() > 0 && int64(s.clock.Now())-s.turn.Load() >= turnMillis:
		goruntime.Gosched()
		s.beginTurn()
	}
}

// beginTurn notes that the workers have a processor again.
func (s *scheduler) beginTurn() {
	if s.computing.Load() > 0 {
		s.turn.Store(int64(s.clock.Now()))
	}
}
