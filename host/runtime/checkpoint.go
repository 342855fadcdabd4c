package runtime

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/stream"
)

// checkpoints is where the tasks of a job and its coordinator meet. The tasks ask
// what they are to do and hand over their parts of a checkpoint; only the
// coordinator reads these, one after the other.
type checkpoints struct {
	node    *node    // the coordinator's; nil: the job has no checkpoints
	sources []*node  // that start barriers
	writers []*node  // of sinks that commit
	parts   []string // that make a checkpoint: of sources, tasks and sinks, upstream first
	commits int      // that follow it

	wanted  atomic.Int64 // the epoch whose barrier sources are to start
	given   atomic.Int64 // epochs up to here were given up
	durable atomic.Int64 // the newest that this run has made durable: sinks are to commit it

	mu      sync.Mutex
	started map[string]int64 // the last epoch of each source
	inbox   []part
	asked   []func(error) // who asked for a checkpoint
	ended   bool          // the sinks have all their records
	spare   []*checkpoint.Delta
}

// part is what one task hands over for an epoch; exactly one of source, step and
// sink names it.
type part struct {
	epoch    int64
	source   string
	state    sourceState
	step     string
	task     int
	groups   checkpoint.Groups
	base     bool              // delta is all of the task's state, not what changed
	delta    *checkpoint.Delta // nil: the step keeps no state
	sink     string
	handover []byte
	commit   bool // the sink has committed the epoch
}

// of is whose part it is, as in checkpoints.parts.
func (p *part) of() string {
	switch {
	case p.source != "":
		return "source " + p.source
	case p.sink != "":
		return "sink " + p.sink
	}
	return "step " + p.step
}

// sourceState is a source's part of a checkpoint.
type sourceState struct {
	Ended  bool
	Splits []splitState
}

// requested is the epoch of a checkpoint that the source has not started yet, or
// 0.
func (c *checkpoints) requested(source string) int64 {
	epoch := c.wanted.Load()
	if epoch == 0 {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started[source] == epoch {
		return 0
	}
	return epoch
}

func (c *checkpoints) source(name string, epoch int64, s sourceState) {
	c.mu.Lock()
	c.started[name] = epoch
	c.mu.Unlock()
	c.hand(part{epoch: epoch, source: name, state: s})
}

func (c *checkpoints) sink(name string, epoch int64, handover []byte) {
	c.hand(part{epoch: epoch, sink: name, handover: handover})
}

// stateless is the part of a step that keeps no state.
func (c *checkpoints) stateless(step string, epoch int64) { c.hand(part{epoch: epoch, step: step}) }

// committed tells that a sink has committed an epoch.
func (c *checkpoints) committed(name string, epoch int64) {
	c.hand(part{epoch: epoch, sink: name, commit: true})
}

// hand puts a part into the coordinator's inbox, which holds at most one of each
// task and kind.
func (c *checkpoints) hand(p part) {
	c.mu.Lock()
	c.inbox = append(c.inbox, p)
	c.mu.Unlock()
	c.node.wake()
}

// take empties the inbox.
func (c *checkpoints) take(into []part) []part {
	c.mu.Lock()
	defer c.mu.Unlock()
	into = append(into, c.inbox...)
	clear(c.inbox)
	c.inbox = c.inbox[:0]
	return into
}

var errNoCheckpoints = errors.New("the job has no checkpoints")

// ask has a checkpoint taken as soon as none is under way; done is called, from the
// coordinator, when it is durable and committed, or has come to nothing.
func (c *checkpoints) ask(done func(error)) error {
	if c.node == nil {
		return errNoCheckpoints
	}
	c.mu.Lock()
	c.asked = append(c.asked, done)
	c.mu.Unlock()
	c.node.wake()
	return nil
}

// end tells that the sinks have all their records: a last checkpoint is due.
func (c *checkpoints) end() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.node.wake()
}

// wishes are what the coordinator was asked for.
func (c *checkpoints) wishes() (asked []func(error), ended bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked, c.asked = c.asked, nil
	return asked, c.ended
}

// start has the sources start barriers.
func (c *checkpoints) start(epoch int64) {
	c.wanted.Store(epoch)
	for _, n := range c.sources {
		n.wake()
	}
}

// giveUp says that an epoch came to nothing: whoever aligns for it need not any
// more.
func (c *checkpoints) giveUp(epoch int64) { c.given.Store(epoch) }

// commit has the sinks commit an epoch.
func (c *checkpoints) commit(epoch int64) {
	c.durable.Store(epoch)
	for _, n := range c.writers {
		n.wake()
	}
}

// delta gets an empty delta for a task to fill, used ones first.
func (c *checkpoints) delta() *checkpoint.Delta {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.spare); n > 0 {
		d := c.spare[n-1]
		c.spare = c.spare[:n-1]
		return d
	}
	return new(checkpoint.Delta)
}

// deltaBytesKept is how large a delta may be to be used again.
const deltaBytesKept = 8 << 20

// recycle takes a delta back that was written.
func (c *checkpoints) recycle(d *checkpoint.Delta) {
	if d.Bytes() > deltaBytesKept {
		return
	}
	d.Reset()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spare = append(c.spare, d)
}

// splitState is a split's part of a checkpoint.
type splitState struct {
	connector.SplitPosition
	MaxTime stream.EventTime // the greatest event time so far
}

// CheckpointStats tells how a job's checkpoints went.
type CheckpointStats struct {
	Completed, Failed atomic.Int64
	// LastMillis is how long the last one took, from its start until all sinks had
	// committed it; LastBytes is what was written for it.
	LastMillis, LastBytes atomic.Int64
}

func (s *CheckpointStats) completed(a *attempt, now stream.ProcTime) {
	s.Completed.Add(1)
	s.LastMillis.Store(int64(now - a.started))
	s.LastBytes.Store(a.bytes)
}

// toCommit is the epoch that a sink is to commit and has not; 0: none.
func (c *checkpoints) toCommit(done int64) int64 {
	if epoch := c.durable.Load(); epoch > done {
		return epoch
	}
	return 0
}
