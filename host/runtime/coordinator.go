package runtime

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"

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

	schedule  *checkpoint.Schedule
	next      int64               // the epoch of the checkpoint that is started next
	last      checkpoint.Manifest // the newest durable one, or where the first one goes on from
	committed bool                // all sinks have committed it, or there is none
	attempt   *attempt            // under way; nil: none
	parts     []part
	asked     []func(error)
	ended     bool // the sinks have all their records: a last checkpoint is wanted

	unreadable map[string]bool // manifests of which that was told
}

// attempt is the checkpoint that is under way.
type attempt struct {
	manifest   checkpoint.Manifest
	files      map[owner]checkpoint.FileRef // that were written for it
	missing    int                          // parts
	came       map[string]int               // parts of each source, step and sink
	committing int                          // sinks that have not committed; valid when nothing is missing
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
	if len(asked) > 0 || ended && !c.ended {
		c.schedule.Demand()
	}
	c.asked, c.ended = append(c.asked, asked...), ended
	return c.decide()
}

// decide starts what is due and gives up what takes too long. Sinks commit however
// long that takes.
func (c *coordinator) decide() (outcome, error) {
	if c.attempt != nil && c.attempt.missing == 0 {
		return outcome{}, nil
	}
	now := c.clock.Now()
	switch d := c.schedule.Next(now); d.Do {
	case checkpoint.DoStart:
		c.begin(now)
		return outcome{more: true}, nil
	case checkpoint.DoAbort:
		return outcome{more: true}, c.giveUp(errors.New(d.Reason + c.behind()))
	case checkpoint.DoWait:
		if d.At != checkpoint.Never {
			return outcome{deadline: d.At}, nil
		}
	}
	return outcome{}, nil
}

// behind says whose parts of a checkpoint are missing, and of an enrichment among them what
// it may be waiting for: where it cannot keep up, those before it cannot begin either.
func (c *coordinator) behind() string {
	var names []string
	came := maps.Clone(c.attempt.came)
	for _, name := range c.check.parts {
		if came[name]--; came[name] < 0 && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	text := "; missing are " + strings.Join(names[:min(len(names), behindMax)], ", ")
	if more := len(names) - behindMax; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	for _, s := range c.plan.Steps {
		switch {
		case s.Enrich == nil || !slices.Contains(names, "step "+s.Name):
		case s.Enrich.HTTP.Rate > 0:
			text += fmt.Sprintf("; a barrier is behind the records that wait in front of step %s, and its rate-limit is %g in a second", s.Name, s.Enrich.HTTP.Rate)
		default:
			text += fmt.Sprintf("; a barrier is behind the records that wait in front of step %s, which takes them as its servers answer", s.Name)
		}
	}
	return text
}

// behindMax is how many are named.
const behindMax = 10

// begin starts a checkpoint.
func (c *coordinator) begin(now stream.ProcTime) {
	m := checkpoint.Manifest{
		Job: c.plan.Name, History: c.config.Recovery.History, Epoch: c.next, TakenAt: now, Final: c.ended,
		MaxParallelism: c.plan.MaxParallelism, Modules: c.config.Modules,
	}
	c.attempt = &attempt{
		manifest: m, files: map[owner]checkpoint.FileRef{}, missing: len(c.check.parts), came: map[string]int{}, committing: c.check.commits,
		started: now, done: c.asked,
	}
	c.next++
	c.asked = nil
	c.schedule.Started(now, m.Epoch, len(c.check.parts))
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
	c.schedule.PartDone(p.epoch)
	a.came[p.of()]++
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
	err := c.check.node.compute(func(giveWay func()) error {
		return putFile(c.config.Store, &ref, func(w io.Writer) (checkpoint.FileSummary, error) { return p.delta.Write(w, giveWay) })
	})
	if err != nil {
		return err
	}
	c.attempt.bytes += ref.Bytes
	c.attempt.files[owner{p.step, p.task}] = ref
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
		m.Steps = append(m.Steps, checkpoint.Step{Name: s.Name, Layout: layoutOf(s), Files: c.filesOf(s.Name)})
	}
	c.config.reached(ManifestBefore)
	if err := checkpoint.PutManifest(c.config.Store, m); err != nil {
		return err
	}
	c.config.reached(ManifestAfter)
	c.last, c.committed = *m, false
	c.check.commit(m.Epoch)
	if c.check.commits == 0 {
		c.complete()
	}
	return nil
}

// filesOf are the files that have a step's state: of each task what it had, and what
// was written for this checkpoint.
func (c *coordinator) filesOf(step string) (all []checkpoint.FileRef) {
	for task := range c.tasks(step) {
		files := c.merger.apply(owner{step, task}, c.before(step, task))
		if ref, ok := c.attempt.files[owner{step, task}]; ok {
			if ref.Base {
				files = nil
			}
			files = append(files[:len(files):len(files)], ref)
		}
		all = append(all, files...)
	}
	return all
}

// before are the files of a task in the newest durable checkpoint.
func (c *coordinator) before(step string, task int) []checkpoint.FileRef {
	if old := c.last.Step(step); old != nil {
		return checkpoint.RefsFor(old.Files, c.groups(step, task))
	}
	return nil
}

func (c *coordinator) groups(step string, task int) checkpoint.Groups {
	return checkpoint.GroupsOf(task, c.plan.MaxParallelism, c.tasks(step))
}

// tasks is how many tasks a step has.
func (c *coordinator) tasks(step string) int {
	for _, s := range c.plan.Steps {
		if s.Name == step {
			return tasksOf(c.plan, s)
		}
	}
	return 0
}

// complete ends a checkpoint that all sinks have committed.
func (c *coordinator) complete() {
	a := c.attempt
	c.attempt = nil
	if err := c.note(a.manifest.Epoch); err != nil {
		// The next manifest supersedes it; until then a crash has the sinks commit again.
		c.log.Warn("that all sinks have committed a checkpoint could not be noted", "epoch", a.manifest.Epoch, "error", err)
	}
	for _, s := range c.sources {
		s.Checkpointed(positions(sourceOf(&a.manifest, s.name)))
	}
	now := c.clock.Now()
	c.stats.completed(a, now)
	c.schedule.Completed(now, a.manifest.Epoch)
	for _, done := range a.done {
		done(nil)
	}
	if a.manifest.Final {
		c.finish()
		return
	}
	c.tidy()
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
	facts := checkpoint.GarbageFacts{History: c.config.Recovery.History, Retained: c.config.Retained, Pinned: c.merger.pinned()}
	for _, p := range c.config.Recovery.Problems {
		facts.Unsound = append(facts.Unsound, p.Epoch)
	}
	garbage, err := checkpoint.Sweep(c.config.Store, facts)
	if err != nil {
		c.log.Warn("old parts of checkpoints could not be deleted", "error", err)
	}
	if news := slices.DeleteFunc(garbage.Unreadable, func(name string) bool { return c.unreadable[name] }); len(news) > 0 {
		c.log.Warn("checkpoints that cannot be read are kept", "objects", news)
		for _, name := range news {
			c.unreadable[name] = true
		}
	}
	for _, s := range c.plan.Steps {
		for task := range tasksOf(c.plan, s) {
			if c.merger.consider(owner{s.Name, task}, c.groups(s.Name, task), c.before(s.Name, task), c.next) {
				c.next++
			}
		}
	}
}

// giveUp ends a checkpoint that came to nothing; the error is the job's, if there
// were too many.
func (c *coordinator) giveUp(err error) error {
	a, now := c.attempt, c.clock.Now()
	c.attempt = nil
	c.check.giveUp(a.manifest.Epoch)
	c.stats.Failed.Add(1)
	c.schedule.Failed(now, a.manifest.Epoch, err.Error())
	c.log.Warn("a checkpoint came to nothing", "epoch", a.manifest.Epoch, "error", err)
	for _, done := range a.done {
		done(err)
	}
	if c.ended && c.config.Schedule.Interval == 0 {
		c.schedule.Demand()
	}
	if d := c.schedule.Next(now); d.Do == checkpoint.DoFailJob {
		return errors.New(d.Reason)
	}
	return nil
}

// saved is the source's part of a manifest.
func (s *sourceState) saved(name string) checkpoint.Source {
	out := checkpoint.Source{Name: name, Ended: s.Ended}
	for _, p := range s.Splits {
		out.Splits = append(out.Splits, checkpoint.Split{
			Name: p.Split, Position: p.Position, MaxTime: p.MaxTime, Ended: p.Ended, Identity: p.Identity,
		})
	}
	return out
}
