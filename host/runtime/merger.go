package runtime

import (
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"

	"github.com/wasmstream/wasmstream/host/checkpoint"
)

// merger is the I/O task that makes one file of several, while checkpoints go on.
// What it makes takes their place in the next checkpoint; until that is durable the
// old ones stay.
type merger struct {
	config *Checkpoints
	log    *slog.Logger
	node   *node

	mu   sync.Mutex
	todo []merging // at most one of each task
	done []merging // that no checkpoint has taken up yet
}

// merging is files of a task that become one.
type merging struct {
	checkpoint.MergePlan
	owner  owner
	groups checkpoint.Groups
	merged checkpoint.FileRef // in their place
}

// owner is a task of a step.
type owner struct {
	step string
	task int
}

// consider has files of a task merged if they have become too many, unless the
// merger is still at work on former ones. The result is named by an epoch that is no
// checkpoint's.
func (m *merger) consider(of owner, groups checkpoint.Groups, files []checkpoint.FileRef, epoch int64) (taken bool) {
	plan, ok := checkpoint.PlanMerge(files, m.config.Merge)
	if !ok {
		return false
	}
	name := checkpoint.FileName(m.config.Recovery.History, epoch, of.step, of.task, plan.Kind())
	m.mu.Lock()
	is := func(d merging) bool { return d.owner == of }
	busy := slices.ContainsFunc(m.todo, is) || slices.ContainsFunc(m.done, is)
	if !busy {
		m.todo = append(m.todo, merging{MergePlan: plan, owner: of, groups: groups, merged: checkpoint.FileRef{
			Name: name, Base: plan.Base, Epoch: plan.Epoch(), Groups: groups,
		}})
	}
	m.mu.Unlock()
	if !busy {
		m.node.wake()
	}
	return !busy
}

// pinned are the files that are no part of a checkpoint yet, but will be.
func (m *merger) pinned() (names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range slices.Concat(m.todo, m.done) {
		names = append(names, d.merged.Name)
	}
	return names
}

func (m *merger) step() (outcome, error) {
	m.mu.Lock()
	if len(m.todo) == 0 {
		m.mu.Unlock()
		return outcome{}, nil
	}
	next := m.todo[0]
	m.mu.Unlock()
	err := m.merge(&next)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.todo = m.todo[1:]
	if err != nil {
		m.log.Warn("state files could not be merged; they stay as they are", "step", next.owner.step, "error", err)
	} else {
		m.done = append(m.done, next)
	}
	return outcome{more: len(m.todo) > 0}, nil
}

func (m *merger) merge(next *merging) error {
	files, err := checkpoint.OpenRefs(m.config.Store, next.Files)
	if err != nil {
		return err
	}
	err = m.node.compute(func(giveWay func()) error {
		o := checkpoint.MergeOptions{Groups: next.groups, Delta: !next.Base, Yield: giveWay}
		return putFile(m.config.Store, &next.merged, func(w io.Writer) (checkpoint.FileSummary, error) {
			return checkpoint.Merge(w, files, o)
		})
	})
	return errors.Join(err, checkpoint.CloseAll(files))
}

// apply puts what was merged of a task's files in their place, if they all still
// count.
func (m *merger) apply(of owner, files []checkpoint.FileRef) []checkpoint.FileRef {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done = slices.DeleteFunc(m.done, func(d merging) bool {
		if d.owner != of {
			return false
		}
		if fewer, ok := d.Apply(files, d.merged); ok {
			files = fewer
		}
		return true
	})
	return files
}
