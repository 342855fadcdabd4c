package runtime

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// checkpoints drives barriers through a job and gathers what the tasks hand
// over. One checkpoint is under way at a time.
type checkpoints struct {
	plan      *job.Job
	sources   []*node
	expected  int // parts of a checkpoint: sources, tasks, sinks
	wanted    atomic.Int64
	mu        sync.Mutex
	started   map[string]int64 // the last epoch of each source
	current   *Snapshot
	missing   int
	completed func(*Snapshot) // told once, outside of mu
}

// sourceState is a source's part of a snapshot.
type sourceState struct {
	Position connector.Position
	Ended    bool
	MaxTime  stream.EventTime // the greatest event time so far
}

// trigger starts a checkpoint; done is called, from some task, with the whole.
func (c *checkpoints) trigger(done func(*Snapshot)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current != nil {
		return fmt.Errorf("checkpoint %d is still under way", c.wanted.Load())
	}
	c.current, c.missing, c.completed = newSnapshot(), c.expected, done
	c.current.groups = c.plan.MaxParallelism
	for _, s := range c.plan.Steps {
		c.current.layouts[s.Name] = layoutOf(s)
	}
	c.wanted.Add(1)
	for _, n := range c.sources {
		n.wake()
	}
	return nil
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
	c.part(func(shot *Snapshot) { shot.sources[name] = s })
}

// task takes the part of a step's task; nil: it has no state.
func (c *checkpoints) task(step string, s *stateShot) {
	groups := map[stream.KeyGroup][]byte{}
	if s != nil {
		for group, records := range s.groups {
			if len(records) > 0 {
				groups[stream.KeyGroup(group)] = sortedRecords(records)
			}
		}
	}
	c.part(func(shot *Snapshot) {
		for group, entries := range groups {
			shot.put(step, group, entries)
		}
	})
}

func (c *checkpoints) sink(name string, handover int64) {
	c.part(func(shot *Snapshot) { shot.sinks[name] = handover })
}

// part adds what one task hands over, and tells of the whole when it was the
// last.
func (c *checkpoints) part(add func(*Snapshot)) {
	c.mu.Lock()
	if c.current == nil {
		c.mu.Unlock()
		return
	}
	add(c.current)
	shot, done := c.current, c.completed
	if c.missing--; c.missing > 0 {
		done = nil
	} else {
		c.current = nil
	}
	c.mu.Unlock()
	if done != nil {
		done(shot)
	}
}
