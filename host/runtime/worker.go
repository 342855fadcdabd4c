package runtime

// worker steps nodes, those that are ready in turn: no node waits for more than a turn of
// each of the others, however much these have to do. It goes along the stream, so that
// what one task puts out is taken up by the next while it is in the cache, and little
// waits in the pipes.
type worker struct {
	sched *scheduler
	turns int
	// at is the node that comes next, and late the next one of those that can wait.
	at, late int
}

// What a node that is ready is like; several together are a choice of nodes.
const (
	isPrompt = 1 << iota
	isLate
)

// laterTurns is how many turns of a worker there are for one in which what can wait goes
// first.
const laterTurns = 16

func newWorker(s *scheduler) *worker { return &worker{sched: s} }

func (w *worker) work() {
	s := w.sched
	for !s.stopped.Load() {
		n := w.claim()
		if n == nil {
			n = w.await()
			s.beginTurn()
		}
		if n != nil {
			n.run()
			s.giveWay(n)
		}
	}
}

// claim finds a node and makes it running. What can wait for others comes last, but for
// one turn in some: a job that is never out of work would never come to it. The last look
// takes any: between the two somebody may have woken a node, who does not announce one
// that is ready.
func (w *worker) claim() *node {
	if w.turns++; w.turns%laterTurns == 0 {
		if n := w.take(&w.late, isLate); n != nil {
			return n
		}
	}
	if n := w.take(&w.at, isPrompt); n != nil {
		return n
	}
	return w.take(&w.late, isPrompt|isLate)
}

// take finds the next of the nodes that are wanted, and goes on behind it. The nodes are
// downstream first.
func (w *worker) take(at *int, wanted int) *node {
	nodes := w.sched.nodes
	for range nodes {
		if *at--; *at < 0 {
			*at = len(nodes) - 1
		}
		n := nodes[*at]
		if n.signal != nil || n.state.Load() != ready {
			continue
		}
		is := isPrompt
		if n.later.Load() {
			is = isLate
		}
		if wanted&is != 0 && n.state.CompareAndSwap(ready, running) {
			return n
		}
	}
	return nil
}

// await sleeps until a node is ready or the job stops. The look after sleepers
// was raised closes the gap: a node that became ready before it is seen here,
// one after it finds a sleeper to wake.
func (w *worker) await() *node {
	s := w.sched
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sleepers.Add(1)
	defer s.sleepers.Add(-1)
	for !s.stopped.Load() {
		if n := w.claim(); n != nil {
			return n
		}
		s.cond.Wait()
	}
	return nil
}
