package runtime

import (
	goruntime "runtime"

	"github.com/wasmstream/wasmstream/host/stream"
)

// Tasks for I/O compute, too: a checkpoint of a million keys is sorted and written for
// half a second. On few processors they and the workers share these by giving way to
// each other. Both have to: if only the task did, every few hundred records, a worker
// would go on for the 10 ms that Go gives it each time, and a checkpoint that is some
// thousand pieces of work would take a minute. A worker gives way between batches, but
// only while somebody computes, since it is not free.

// computeMillis is how long a task computes, about, before it gives way: as long as a
// batch may take a worker, and well below what a record may be held up.
const computeMillis = 2

// compute runs what an I/O task computes for long. Do calls giveWay after each small
// piece of work.
func (n *node) compute(do func(giveWay func()) error) error {
	s := n.sched
	s.computing.Add(1)
	defer s.computing.Add(-1)
	var since stream.ProcTime
	return do(func() {
		if s.clock.Now()-since >= computeMillis {
			goruntime.Gosched()
			since = s.clock.Now()
		}
	})
}

// giveWay lets I/O tasks compute that want to.
func (s *scheduler) giveWay() {
	if s.computing.Load() > 0 {
		goruntime.Gosched()
	}
}
