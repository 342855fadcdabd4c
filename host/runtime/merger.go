package runtime

import (
	"errors"
	"io"
	"log/slog"
	goruntime "runtime"
	"slices"
	"sync"

	"github.com/wasmstream/wasmstream/host/checkpoint"
)

// merger is the I/O task that makes one file of several, while checkpoints go on.
// What it makes takes their place in the next checkpoint; until that is durable the
// old ones stay.
type merger struct {
	store checkpoint.Store
	log   *slog.Logger
	node  *node

	mu   sync.Mutex
	todo []merging // in the order of their steps
	done []merging // that no checkpoint has taken up yet
	busy string    // the object that is being written
}

// merging is files of a step that become one.
type merging struct {
	step  string
	files []checkpoint.FileRef
	base  checkpoint.FileRef // in their place
}

// plan says what is to be merged of the newest checkpoint, unless the merger is still
// at work on an older one.
func (m *merger) plan(last *checkpoint.Manifest) {
	m.mu.Lock()
	if len(m.todo) == 0 && len(m.done) == 0 {
		m.todo = mergings(last)
	}
	idle := len(m.todo) == 0
	m.mu.Unlock()
	if !idle {
		m.node.wake()
	}
}

// pending are the objects that are no part of a checkpoint yet, but will be.
func (m *merger) pending() (names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range append(slices.Clip(m.todo), m.done...) {
		names = append(names, d.base.Name)
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
		m.log.Warn("state files could not be merged; they stay as they are", "step", next.step, "error", err)
	} else {
		m.done = append(m.done, next)
	}
	return outcome{more: len(m.todo) > 0}, nil
}

func (m *merger) merge(next *merging) error {
	files, err := checkpoint.OpenRefs(m.store, next.files)
	if err != nil {
		return err
	}
	err = putFile(m.store, &next.base, func(w io.Writer) (checkpoint.FileSummary, error) {
		return checkpoint.Merge(w, files, checkpoint.MergeOptions{Groups: next.base.Groups, Yield: goruntime.Gosched})
	})
	return errors.Join(err, checkpoint.CloseAll(files))
}

// replace puts what was merged of a step's files in their place, if they all still
// count.
func (m *merger) replace(step string, refs []checkpoint.FileRef) []checkpoint.FileRef {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done = slices.DeleteFunc(m.done, func(d merging) bool {
		if d.step != step {
			return false
		}
		if at := slices.Index(refs, d.files[0]); at >= 0 && containsAll(refs, d.files) {
			refs = slices.Replace(slices.Clone(refs), at, at+1, d.base)
			refs = slices.DeleteFunc(refs, func(r checkpoint.FileRef) bool { return slices.Contains(d.files, r) })
		}
		return true
	})
	return refs
}

func containsAll(refs, wanted []checkpoint.FileRef) bool {
	for _, w := range wanted {
		if !slices.Contains(refs, w) {
			return false
		}
	}
	return true
}
