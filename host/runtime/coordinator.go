package runtime

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// coordinator is the I/O task that takes checkpoints: it starts one when it is due,
// writes what the tasks hand over, makes it durable by its manifest, has the sinks
// commit, notes that they did, and throws away what no checkpoint needs any more.
// One checkpoint is under way at a time, from its start to its note.
//
// It is told as a sequence, with where a crash leads to:
//
//	start        the barriers flow; a crash goes back to the checkpoint before
//	gathering    positions, state and hand-overs come in; state is written as it comes
//	manifest     written last; from now on a crash goes on from here
//	committing   the sinks commit; after a crash they commit again
//	note         nothing is left to commit; only now may a sink reuse what it handed over
//	garbage      older checkpoints go
type coordinator struct {
	plan    *job.Job
	config  *Checkpoints
	clock   stream.Clock
	log     *slog.Logger
	check   *checkpoints
	sources []openSource
	stats   *CheckpointStats
	stop    func(error)

	schedule checkpoint.Schedule
	last     checkpoint.Manifest // the newest durable one
	attempt  *attempt            // under way; nil: none
	merging  *merge              // nil: none
	parts    []part
	asked    []func(error)
	ended    bool // a last checkpoint is wanted
}

// attempt is the checkpoint that is under way.
type attempt struct {
	manifest   checkpoint.Manifest
	missing    int // parts
	committing int // sinks that have not committed; 0 while parts are missing
	since      stream.ProcTime
	done       []func(error)
}

func (c *coordinator) step() (outcome, error) {
	c.parts = c.check.take(c.parts[:0])
	for _, p := range c.parts {
		if err := c.add(p); err != nil {
			if err := c.fail(err); err != nil {
				return outcome{}, err
			}
		}
	}
	asked, ended := c.check.wishes()
	c.asked, c.ended = append(c.asked, asked...), ended
	return c.decide()
}

// decide starts what is due and gives up what takes too long.
func (c *coordinator) decide() (outcome, error) {
	now := c.clock.Now()
	if c.attempt == nil {
		if c.ended || len(c.asked) > 0 {
			c.begin(now)
			return outcome{}, nil
		}
		at := c.schedule.Next()
		if at > now {
			return outcome{deadline: deadlineOf(at)}, nil
		}
		c.begin(now)
	}
	if c.attempt.missing == 0 {
		return outcome{}, nil // the sinks commit, however long that takes
	}
	at := c.attempt.since + stream.ProcTime(c.config.Timeout.Milliseconds())
	if c.config.Timeout == 0 || at > now {
		return outcome{deadline: at}, nil
	}
	err := fmt.Errorf("it was not complete within %s", c.config.Timeout)
	return outcome{more: true}, c.fail(err)
}

// deadlineOf is a moment as a step's deadline; never is none.
func deadlineOf(at stream.ProcTime) stream.ProcTime {
	if at == math.MaxInt64 {
		return 0
	}
	return at
}

// begin starts a checkpoint.
func (c *coordinator) begin(now stream.ProcTime) {
	epoch := c.check.wanted.Load() + 1
	m := checkpoint.Manifest{
		Job: c.plan.Name, History: c.config.History, Epoch: epoch, Taken: int64(now),
		MaxParallelism: c.plan.MaxParallelism, Final: c.ended,
	}
	c.attempt = &attempt{manifest: m, missing: c.check.parts, since: now, done: c.asked}
	c.asked = nil
	c.schedule.Started(now)
	c.check.start(epoch)
}

// add takes a part into the checkpoint that it belongs to; one of a checkpoint that
// was given up is dropped.
func (c *coordinator) add(p part) error {
	a := c.attempt
	if a == nil || a.manifest.Epoch != p.epoch {
		return nil
	}
	switch m := &a.manifest; {
	case p.commit:
		if a.committing--; a.committing == 0 {
			return c.finish()
		}
		return nil
	case p.source != "":
		m.Sources = append(m.Sources, p.state.manifest(p.source))
	case p.sink != "":
		m.Sinks = append(m.Sinks, checkpoint.Sink{Name: p.sink, Handover: p.handover})
	case p.delta != nil:
		if err := c.write(p); err != nil {
			return err
		}
	}
	if a.missing--; a.missing > 0 {
		return nil
	}
	return c.complete()
}

// write writes a task's state, what there is of it.
func (c *coordinator) write(p part) error {
	defer c.check.recycle(p.delta)
	if p.delta.Len() == 0 && !p.base {
		return nil
	}
	return nil
}

// complete makes the checkpoint durable.
func (c *coordinator) complete() error {
	return nil
}

func (c *coordinator) finish() error { return nil }

func (c *coordinator) fail(err error) error { return nil }

type merge struct{}

var (
	_ = errors.New
	_ io.Writer
)
