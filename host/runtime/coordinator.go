package runtime

import (
	"fmt"
	"io"
	"log/slog"
	goruntime "runtime"
	"time"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// coordinator is the I/O task that takes checkpoints: it starts one when it is due,
// writes what the tasks hand over, makes it durable by its manifest, has the sinks
// commit, notes that they did, and throws away what no checkpoint needs any more.
// One checkpoint is under way at a time, from its start to its note.
//
// Told as a sequence, with where a crash leads to:
//
//	start        the barriers flow; a crash goes back to the checkpoint before
//	gathering    positions, state and hand-overs come in; state is written as it comes
//	manifest     written last; from now on a crash goes on from here
//	committing   the sinks commit; after a crash they commit again
//	note         nothing is left to commit; only now may a sink use again what it handed over
//	garbage      older checkpoints go
//
// A manifest whose Put failed may be there all the same. That is no harm: what it
// hands over was neither committed nor given up, and is in the next one's too.
type coordinator struct {
	plan    *job.Job
	config  *Checkpoints
	clock   stream.Clock
	log     *slog.Logger
	check   *checkpoints
	merger  *merger
	sources []openSource
	stats   *CheckpointStats
	finish  func() // ends the job, all of whose results are committed

	next      int64               // the epoch of the checkpoint that is started next
	last      checkpoint.Manifest // the newest durable one, or where the first one goes on from
	committed bool                // all sinks have committed it, or there is none
	attempt   *attempt            // under way; nil: none
	due       stream.ProcTime     // when the next one is to be started; 0: when asked for
	failures  int                 // in a row
	parts     []part
	asked     []func(error)
	ended     bool // the sinks have all their records: a last checkpoint is wanted
}

// attempt is the checkpoint that is under way.
type attempt struct {
	manifest   checkpoint.Manifest
	files      map[string][]checkpoint.FileRef // that were written for it, by step
	missing    int                             // parts
	committing int                             // sinks that have not committed; valid when nothing is missing
	started    stream.ProcTime
	bytes      int64
	done       []func(error)
}

func (c *coordinator) step() (outcome, error) {
	c.parts = c.check.take(c.parts[:0])
	for _, p := range c.parts {
		if err := c.add(p); err != nil {
			if err := c.giveUp(err); err != nil {
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
	if a := c.attempt; a != nil {
		late := a.started + millis(c.config.Timeout)
		switch {
		case a.missing == 0 || c.config.Timeout == 0: // the sinks commit, however long that takes
			return outcome{}, nil
		case now < late:
			return outcome{deadline: late}, nil
		}
		return outcome{more: true}, c.giveUp(fmt.Errorf("it was not complete within %s", c.config.Timeout))
	}
	wanted := len(c.asked) > 0 || c.ended && c.failures == 0
	if !wanted && (c.due == 0 || now < c.due) {
		return outcome{deadline: c.due}, nil
	}
	c.begin(now)
	return outcome{}, nil
}

// begin starts a checkpoint.
func (c *coordinator) begin(now stream.ProcTime) {
	m := checkpoint.Manifest{
		Job: c.plan.Name, History: c.config.Recovery.History, Epoch: c.next, TakenAt: now, Final: c.ended,
		MaxParallelism: c.plan.MaxParallelism,
	}
	c.attempt = &attempt{
		manifest: m, files: map[string][]checkpoint.FileRef{}, missing: c.check.parts, committing: c.check.commits,
		started: now, done: c.asked,
	}
	c.next++
	c.asked = nil
	c.check.start(m.Epoch)
}

// add takes a part into the checkpoint that it belongs to; one of a checkpoint that
// was given up is dropped.
func (c *coordinator) add(p part) error {
	if p.delta != nil {
		defer c.check.recycle(p.delta)
	}
	a := c.attempt
	if a == nil || a.manifest.Epoch != p.epoch {
		return nil
	}
	switch m := &a.manifest; {
	case p.commit:
		if a.committing--; a.committing == 0 {
			c.complete()
		}
		return nil
	case p.source != "":
		m.Sources = append(m.Sources, p.state.saved(p.source))
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
	return c.makeDurable()
}

// write writes a task's state, what there is of it.
func (c *coordinator) write(p part) error {
	if p.delta.Len() == 0 && !p.base {
		return nil
	}
	kind := checkpoint.KindDelta
	if p.base {
		kind = checkpoint.KindBase
	}
	ref := checkpoint.FileRef{
		Name: checkpoint.FileName(c.config.Recovery.History, p.epoch, p.step, p.task, kind),
		Base: p.base, Epoch: p.epoch, Groups: p.groups,
	}
	err := putFile(c.config.Store, &ref, func(w io.Writer) (checkpoint.FileSummary, error) {
		return p.delta.Write(w, goruntime.Gosched)
	})
	if err != nil {
		return err
	}
	c.attempt.bytes += ref.Bytes
	c.attempt.files[p.step] = append(c.attempt.files[p.step], ref)
	return nil
}

// putFile makes a file durable and says in ref what it is like.
func putFile(store checkpoint.Store, ref *checkpoint.FileRef, write func(io.Writer) (checkpoint.FileSummary, error)) error {
	return store.Put(ref.Name, func(w io.Writer) error {
		summary, err := write(w)
		ref.Bytes, ref.Checksum = summary.Bytes, summary.Checksum
		return err
	})
}

// makeDurable puts the manifest, now that all parts are there, and has the sinks
// commit.
func (c *coordinator) makeDurable() error {
	m := &c.attempt.manifest
	for _, s := range c.plan.Steps {
		var before []checkpoint.FileRef
		if old := c.last.Step(s.Name); old != nil {
			before = c.merger.replace(s.Name, old.Files)
		}
		m.Steps = append(m.Steps, checkpoint.Step{
			Name: s.Name, Layout: layoutOf(s), Files: chain(before, c.attempt.files[s.Name]),
		})
	}
	c.config.reached(ManifestBefore)
	if err := checkpoint.PutManifest(c.config.Store, m); err != nil {
		return err
	}
	c.config.reached(ManifestAfter)
	c.last, c.committed = *m, false
	if c.check.commits == 0 {
		c.complete()
		return nil
	}
	c.check.commit(m.Epoch)
	return nil
}

// chain is what the newer files make of the older ones: of the groups of a base
// nothing older counts.
func chain(older, newer []checkpoint.FileRef) []checkpoint.FileRef {
	for _, n := range newer {
		if !n.Base {
			continue
		}
		var kept []checkpoint.FileRef
		for _, o := range older {
			below, above := o, o
			below.Groups = o.Groups.And(checkpoint.Groups{From: 0, To: n.Groups.From})
			above.Groups = o.Groups.And(checkpoint.Groups{From: n.Groups.To, To: checkpoint.AllGroups.To})
			for _, part := range []checkpoint.FileRef{below, above} {
				if !part.Groups.Empty() {
					kept = append(kept, part)
				}
			}
		}
		older = kept
	}
	return append(older[:len(older):len(older)], newer...)
}

// complete ends a checkpoint that all sinks have committed.
func (c *coordinator) complete() {
	a := c.attempt
	c.attempt, c.failures = nil, 0
	if err := c.note(a.manifest.Epoch); err != nil {
		// The next manifest supersedes it; until then a crash has the sinks commit again.
		c.log.Warn("that all sinks have committed a checkpoint could not be noted", "epoch", a.manifest.Epoch, "error", err)
	}
	for _, s := range c.sources {
		s.Checkpointed(positions(sourceOf(&a.manifest, s.name)))
	}
	now := c.clock.Now()
	c.stats.completed(a, now)
	c.schedule(a, now)
	for _, done := range a.done {
		done(nil)
	}
	if a.manifest.Final {
		c.finish()
		return
	}
	c.tidy()
}

// retryInterval is when a last checkpoint is tried again if there is no other
// interval.
const retryInterval = time.Second

func millis(d time.Duration) stream.ProcTime { return stream.ProcTime(d.Milliseconds()) }

// schedule says when the next checkpoint is due.
func (c *coordinator) schedule(a *attempt, now stream.ProcTime) {
	if c.config.Interval > 0 {
		c.due = max(a.started+millis(c.config.Interval), now+millis(c.config.MinPause))
	} else if c.ended {
		c.due = now + millis(retryInterval)
	}
}

// note makes durable that nothing of a checkpoint is left to commit.
func (c *coordinator) note(epoch int64) error {
	c.config.reached(NoteBefore)
	err := checkpoint.PutCommitted(c.config.Store, c.config.Recovery.History, epoch)
	if err == nil {
		c.committed = true
		c.config.reached(NoteAfter)
	}
	return err
}

// tidy deletes what no checkpoint needs and has files merged that have become many.
// What fails is tried again after the next checkpoint.
func (c *coordinator) tidy() {
	names, err := c.config.Store.List()
	if err != nil {
		c.log.Warn("old checkpoints could not be listed", "error", err)
		return
	}
	for _, name := range c.garbage(names) {
		if err := c.config.Store.Delete(name); err != nil {
			c.log.Warn("an old part of a checkpoint could not be deleted", "object", name, "error", err)
		}
	}
	c.merger.plan(&c.last)
}

// giveUp ends a checkpoint that came to nothing; the error is the job's, if there
// were too many.
func (c *coordinator) giveUp(err error) error {
	a, now := c.attempt, c.clock.Now()
	c.attempt = nil
	c.failures++
	c.check.giveUp(a.manifest.Epoch)
	c.stats.Failed.Add(1)
	c.schedule(a, now)
	c.log.Warn("a checkpoint came to nothing", "epoch", a.manifest.Epoch, "in_a_row", c.failures, "error", err)
	for _, done := range a.done {
		done(err)
	}
	if c.failures > c.config.TolerableFailures {
		return fmt.Errorf("checkpoint %d: %w", a.manifest.Epoch, err)
	}
	return nil
}

// saved is the source's part of a manifest.
func (s *sourceState) saved(name string) checkpoint.Source {
	out := checkpoint.Source{Name: name, Ended: s.Ended}
	for _, p := range s.Splits {
		out.Splits = append(out.Splits, checkpoint.Split{Name: p.Split, Position: p.Position, MaxTime: p.MaxTime, Ended: p.Ended})
	}
	return out
}
