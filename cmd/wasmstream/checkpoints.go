package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/checkpoint/folder"
	"github.com/wasmstream/wasmstream/host/connector/kafka"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
)

// StartFlags say what a run goes on from.
type StartFlags struct {
	Restore string `help:"Go on from this checkpoint: a .manifest file, or a folder of which the newest is taken." placeholder:"PATH" xor:"start"`
	Fresh   bool   `help:"Start anew, whatever checkpoints there are." xor:"start"`
	Lineage string `help:"Keep this run's checkpoints and transactions apart from those of others, under a name." placeholder:"NAME"`
}

// lineageBytesMax keeps the names of folders and transactional ids short.
const lineageBytesMax = 64

// Validate implements kong's check of flags.
func (f *StartFlags) Validate() error {
	for _, r := range f.Lineage {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_') {
			return fmt.Errorf("--lineage %q: a name has letters, digits, - and _ only", f.Lineage)
		}
	}
	if len(f.Lineage) > lineageBytesMax {
		return fmt.Errorf("--lineage: the name has %d bytes, and the limit is %d", len(f.Lineage), lineageBytesMax)
	}
	return nil
}

// keeping is the folder of a job's checkpoints, and what the next run of the job in
// this process goes on from.
type keeping struct {
	store    checkpoint.Store
	dir      string
	shown    string // the folder, for people
	plan     *job.Job
	modules  []checkpoint.Module
	recovery checkpoint.Recovery
	chosen   bool // by --restore: the recovery is the checkpoint that was restored
}

// openKeeping opens the folder of a job's checkpoints; nil if the job has none.
func openKeeping(e *Env, plan *job.Job, f *StartFlags, modules []checkpoint.Module) (_ *keeping, err error) {
	c := plan.Checkpoint
	if c == nil {
		if f.Restore != "" || f.Fresh || f.Lineage != "" {
			return nil, &exitError{exitBadInput, errors.New("--restore, --fresh and --lineage are for jobs with checkpoints; this one has no checkpoint: {dir: …}")}
		}
		return nil, nil
	}
	dir := c.Dir
	if f.Lineage != "" {
		dir = filepath.Join(dir, "lineage-"+f.Lineage)
	}
	k := &keeping{dir: dir, shown: shownPath(dir), plan: plan, modules: modules}
	if k.store, err = folder.Open(folder.OS{}, dir); err != nil {
		return nil, &exitError{exitBadInput, err}
	}
	if err := k.begin(e, f); err != nil {
		return nil, errors.Join(err, k.store.Close())
	}
	return k, nil
}

// begin finds what the first run goes on from.
func (k *keeping) begin(e *Env, f *StartFlags) (err error) {
	switch {
	case f.Fresh:
		err = k.start(e, f.Lineage)
	case f.Restore != "":
		k.chosen = true
		k.recovery, err = k.restoreFrom(e, f.Restore)
	default:
		if err = k.recover(e); err == nil && k.recovery.Manifest == nil && !k.recovery.Begun {
			err = k.start(e, f.Lineage)
		}
	}
	if m := k.recovery.Manifest; err == nil && m != nil && m.Job != k.plan.Name {
		err = fmt.Errorf("the checkpoints in %s are those of job %s, and this is job %s; give it another checkpoint.dir, or a --lineage", k.shown, m.Job, k.plan.Name)
	}
	if err != nil {
		return &exitError{exitBadInput, err}
	}
	k.compareModules(e)
	return nil
}

// canGoOn says what to do about a job that cannot go on from a checkpoint, nil if there is none.
func (k *keeping) canGoOn(m *checkpoint.Manifest) error {
	if m == nil {
		return nil
	}
	if err := runtime.CanRestore(m, k.plan); err != nil {
		return &exitError{exitBadInput, fmt.Errorf("%w. It goes on with the steps and the states of functions that it had; to run it anew, use %s", err, anew(k.plan))}
	}
	return nil
}

// left says what a run that is ended leaves to the next one.
func (k *keeping) left() string {
	names, err := k.store.List()
	complete := slices.ContainsFunc(names, func(name string) bool {
		n, known := checkpoint.ParseName(name)
		return known && n.Kind == checkpoint.KindManifest && n.History == k.recovery.History
	})
	if err == nil && !complete {
		return "no checkpoint is complete in " + k.shown + ", so the next run begins anew"
	}
	return "the next run goes on from the newest checkpoint in " + k.shown
}

// compareModules tells of modules that are not those that the state was made with:
// that is allowed, and should be meant.
func (k *keeping) compareModules(e *Env) {
	if k.recovery.Manifest == nil {
		return
	}
	for _, was := range k.recovery.Manifest.Modules {
		for _, is := range k.modules {
			if is.Name == was.Name && is.Digest != was.Digest {
				e.Log.Warn("a module is another than the one that the checkpoint's state was made with", "module", is.Name, "was", was.Digest, "is", is.Digest)
			}
		}
	}
}

// start begins a history from the beginning of the input. That it was begun is noted
// first, so that a run that was killed before its first checkpoint does not find its
// own transactions.
func (k *keeping) start(e *Env, lineage string) (err error) {
	if err = k.unused(e, lineage); err == nil {
		k.recovery, err = checkpoint.Begin(k.store)
	}
	return err
}

// prefixTimeout is how long the brokers have to tell whether a prefix was used.
const prefixTimeout = 30 * time.Second

// unused makes sure that results can be put out anew: what a former run committed
// under a transactional prefix stays where it is, and would be there twice.
func (k *keeping) unused(e *Env, lineage string) error {
	for _, s := range k.plan.Sinks {
		if s.Connector.KafkaSink == nil || s.Connector.KafkaSink.Delivery != job.ExactlyOnce {
			continue
		}
		o := kafkaSink(e, s, startOptions{lineage: lineage})
		used, err := prefixUsed(e, o)
		switch {
		case err != nil:
			return fmt.Errorf("sink %s: whether its transactional-id-prefix was used before cannot be told: %w", s.Name, err)
		case used:
			return fmt.Errorf("sink %s: its transactional-id-prefix %s has been used, so the topic %s has results of a former run, and one that begins anew would put them out again; bring that run's checkpoints back to %s, or, if they are to be put out again, in a topic that is new, --lineage NAME gives this run a prefix and checkpoints of its own", s.Name, o.TransactionalIDPrefix, o.Topic, k.shown)
		}
	}
	return nil
}

func prefixUsed(e *Env, o kafka.SinkOptions) (used bool, err error) {
	s, err := kafka.NewSink(o)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ctx, cancel := context.WithTimeout(e.Context, prefixTimeout)
	defer cancel()
	return s.PrefixUsed(ctx)
}

// again is for a run after another of this process. From a checkpoint of its own it goes
// on as any run does: that results are to be put out again was said of the restored one.
func (k *keeping) again(e *Env) error {
	was := k.recovery.Manifest
	err := k.recover(e)
	if is := k.recovery.Manifest; err == nil && is != nil && (was == nil || is.Epoch != was.Epoch) {
		k.chosen = false
	}
	return err
}

// recover takes the newest sound checkpoint, and tells of those that are not.
func (k *keeping) recover(e *Env) (err error) {
	if k.recovery, err = checkpoint.Recover(k.store); err != nil {
		return err
	}
	for _, p := range k.recovery.Problems {
		e.Log.Warn("a checkpoint is damaged and is passed over", "folder", k.shown, "epoch", p.Epoch, "object", p.Object, "error", p.Err)
	}
	if r := k.recovery; r.CommittedBeyond > 0 {
		e.Log.Warn("the damaged checkpoints were committed: "+k.comesAgain(), "folder", k.shown, "from_epoch", r.Manifest.Epoch, "to_epoch", r.CommittedBeyond)
	}
	return nil
}

// goesBack says that results after the checkpoint may have been committed, as was told:
// the user wants that, or those checkpoints are damaged.
func (k *keeping) goesBack() bool {
	return k != nil && (k.chosen || k.recovery.CommittedBeyond > 0)
}

// begins says that the next run is of a job that has no checkpoint yet.
func (k *keeping) begins() bool { return k != nil && k.recovery.Manifest == nil }

// comesAgain says what becomes of results that were committed after the checkpoint that a
// run goes on from. A plain file has appeared as a whole, or not yet, and is written anew.
func (k *keeping) comesAgain() string {
	for _, s := range k.plan.Sinks {
		if f := s.Connector.File; f == nil || f.Rolling != nil {
			return "their results may be put out again"
		}
	}
	return "what came after it is computed anew, and is there once"
}

// restoreFrom takes a checkpoint that a user names, of this folder or another, as the
// beginning of a new history here.
func (k *keeping) restoreFrom(e *Env, path string) (_ checkpoint.Recovery, err error) {
	from, closeFrom, name, err := k.source(path)
	if err != nil {
		return checkpoint.Recovery{}, err
	}
	defer func() { err = errors.Join(err, closeFrom()) }()
	found, err := find(from, name)
	m := found.Manifest
	switch {
	case err != nil:
		return checkpoint.Recovery{}, err
	case m == nil:
		return checkpoint.Recovery{}, fmt.Errorf("there is no checkpoint in %s", path)
	case m.Job != k.plan.Name:
		return checkpoint.Recovery{}, fmt.Errorf("the checkpoint in %s is one of job %s, and this is job %s", path, m.Job, k.plan.Name)
	}
	if err := k.canGoOn(m); err != nil {
		return checkpoint.Recovery{}, err
	}
	if found.Newer != "" {
		e.Log.Warn("the checkpoint is not the newest: "+k.comesAgain(), "checkpoint", checkpoint.ManifestName(m.History, m.Epoch), "newest", found.Newer)
	}
	if err := checkpoint.Import(k.store, from, m, found.Committed); err != nil {
		return checkpoint.Recovery{}, err
	}
	return checkpoint.Recover(k.store)
}

// find is the checkpoint of a manifest's name, and without one the newest.
func find(from checkpoint.Store, name string) (checkpoint.Named, error) {
	if name != "" {
		return checkpoint.Find(from, name)
	}
	r, err := checkpoint.Recover(from)
	return checkpoint.Named{Manifest: r.Manifest, Committed: r.Committed}, err
}

// source opens the store that a path leads to; name is the manifest's, if the path is
// one.
func (k *keeping) source(path string) (s checkpoint.Store, closeIt func() error, name string, err error) {
	dir := path
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, "", &fileError{path, errors.Unwrap(err)}
	}
	if !info.IsDir() {
		dir, name = filepath.Split(path)
		dir = filepath.Clean(dir)
	}
	if own, err := os.Stat(k.dir); err == nil {
		if that, err := os.Stat(dir); err == nil && os.SameFile(own, that) {
			return k.store, func() error { return nil }, name, nil
		}
	}
	s, err = folder.OpenReadOnly(folder.OS{}, dir)
	if err != nil {
		return nil, nil, "", err
	}
	return s, s.Close, name, nil
}

// close gives the folder up for others.
func (k *keeping) close() error {
	if k == nil {
		return nil
	}
	return k.store.Close()
}

// finished tells whether there is nothing left to do.
func (k *keeping) finished() bool {
	if k == nil {
		return false
	}
	m := k.recovery.Manifest
	return m != nil && m.Final && k.recovery.Committed
}

// config is the runtime's view of it.
func (k *keeping) config(e *Env) *runtime.Checkpoints {
	if k == nil {
		return nil
	}
	c := k.plan.Checkpoint
	return &runtime.Checkpoints{
		Store: k.store, Recovery: k.recovery, Retained: c.Retained, Modules: k.modules, AtLeastOnce: c.Mode == job.AtLeastOnce,
		Schedule: checkpoint.ScheduleOptions{
			Interval: c.Interval, MinPause: c.MinPause, Timeout: c.Timeout, TolerableFailures: c.TolerableFailures,
		},
		Reached: killAt(e),
	}
}

// killAt is for tests of what a crash leaves behind: with manifest-after:3 in this
// variable the process kills itself when it reaches that point for the third time.
func killAt(e *Env) func(runtime.Point) {
	text, _ := e.Getenv("WASMSTREAM_KILL_AT")
	point, count, ok := strings.Cut(text, ":")
	n, err := strconv.Atoi(count)
	if !ok || err != nil {
		return nil
	}
	left := int64(n)
	return func(p runtime.Point) {
		if string(p) == point && atomic.AddInt64(&left, -1) == 0 {
			killSelf()
		}
	}
}

// killSelf ends the process as kill -9 does.
func killSelf() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // until it has come
}
