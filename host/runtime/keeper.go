package runtime

import (
	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// keeper is what operators with keyed state have alike: the marks behind
// everything that they put out, and the snapshots of their state.
//
// At a barrier the backend is flipped. What the snapshot has is then written in
// slices, between batches, and handed over when the last is done: records are
// handled meanwhile.
type keeper struct {
	backend state.Backend
	limit   *stateLimit
	outs    outputs
	check   *checkpoints
	step    string
	task    int
	groups  checkpoint.Groups // that the task owns
	records int               // of a slice
	last    int64             // the epoch of the last snapshot; 0: none was taken yet
	current part              // under way; without a delta: none
}

func (k *keeper) status(kind stream.MarkKind) { k.outs.mark(kind, 0) }

// barrier begins a snapshot. The one before is finished at once if it must: a
// backend takes one at a time. If it was for a checkpoint that came to nothing, what
// it had is taken again, with all else. The checkpoint's being given up tells less:
// a task that had no room for the barrier may take its snapshot after that.
func (k *keeper) barrier(epoch int64) error {
	k.finish()
	if k.last != 0 && k.last != k.check.durable.Load() {
		k.backend.Everything()
	}
	k.last = epoch
	k.current = part{epoch: epoch, step: k.step, task: k.task, groups: k.groups, base: k.backend.Flip(), delta: k.check.delta()}
	k.outs.seal(epoch)
	return nil
}

// end hands a snapshot over before it puts the mark out: behind that the job may
// be over.
func (k *keeper) end() error {
	k.finish()
	k.status(stream.MarkEnd)
	return nil
}

func (k *keeper) drain(all bool) bool { return k.outs.drain(all) }

// isSlicing says that a snapshot is under way. A task without keyed state has no
// keeper.
func (k *keeper) isSlicing() bool { return k != nil && k.current.delta != nil }

// slice goes on with the snapshot under way; more says that it is not done yet.
func (k *keeper) slice() (more bool) {
	if !k.isSlicing() {
		return false
	}
	if !k.backend.Slice(k.records, k.current.delta) {
		return true
	}
	done := k.current
	k.current = part{}
	k.check.hand(done)
	return false
}

func (k *keeper) finish() {
	for k.slice() {
	}
}
