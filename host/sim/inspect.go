package sim

import (
	"maps"
	"slices"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/checkpoint/folder"
)

// recovered compares what a process goes on from with what is known to be durable (promise E).
func (l *life) recovered(w *world) {
	r := l.recovery
	epoch := int64(0)
	if r.Manifest != nil {
		epoch = r.Manifest.Epoch
		if w.manifests[epoch] == nil {
			w.manifestPut(r.Manifest) // its Put had an effect, though it failed or was never answered
		}
	}
	if epoch < w.newest {
		w.find("checkpoint %d is durable, and the process goes on from %s", w.newest, shownRecovery(r))
	}
	if epoch < w.committed && !w.repeats {
		w.find("something of checkpoint %d was committed, and the process goes on from %s", w.committed, shownRecovery(r))
	}
	if w.noted[epoch] && !r.Committed {
		w.find("a note says that checkpoint %d was committed, and recovery does not know it", epoch)
	}
	for _, name := range w.disk.Files(dir) {
		if n, ok := checkpoint.ParseName(name); ok && n.Epoch >= r.Next {
			w.find("the next epoch is %d, and there is %s", r.Next, name)
		}
	}
	if r.Committed {
		w.noted[epoch] = true // by a Put that was never answered
	}
	if len(r.Problems) > 0 {
		w.counts.fallbacks++
	}
}

// inspect looks at what a process left behind, with the eyes of the next.
func (r *run) inspect(l *life) {
	w := r.world
	if len(w.findings) > 0 {
		return
	}
	c := comparison{spec: r.spec, repeats: w.repeats}
	if text := c.differs(r.expected, w.output()); text != "" {
		w.find("%s", text)
	}
	store, err := folder.OpenReadOnly(w.disk, dir)
	if err != nil {
		return // it never came to making the folder
	}
	recovery, err := checkpoint.Recover(store)
	if err != nil {
		w.find("nothing can be gone on from: %v", err)
		return
	}
	(&life{world: w, recovery: recovery}).recovered(w)
	r.retained(store)
}

// retained wants as many checkpoints to be sound as are to be kept, if there were so many.
func (r *run) retained(store checkpoint.Store) {
	w := r.world
	want := 0
	for epoch := range w.manifests {
		if epoch <= w.committed {
			want++
		}
	}
	if want = min(want, r.plan.Checkpoint.Retained); want == 0 {
		return
	}
	var wrong []checkpoint.Problem
	for _, epoch := range slices.Backward(slices.Sorted(maps.Keys(w.manifests))) {
		m, err := checkpoint.LoadManifest(store, checkpoint.ManifestName(1, epoch))
		var problems []checkpoint.Problem
		if err == nil {
			problems, err = checkpoint.Verify(store, m)
		}
		if err != nil {
			problems = append(problems, checkpoint.Problem{Epoch: epoch, Err: err})
		}
		if wrong = append(wrong, problems...); len(problems) == 0 {
			want--
		}
		if want == 0 {
			return
		}
	}
	w.find("%d sound checkpoints are missing: %v", want, wrong)
}

// decay makes the newest checkpoint rot, if that is the fate of what a process left behind.
func (r *run) decay(l *life) {
	w := r.world
	newest := w.newest
	if !l.fate.rot || !l.dead || newest == 0 || w.manifests[newest].Final {
		return
	}
	older := false // one that can be gone on from
	for epoch := range w.manifests {
		older = older || epoch < newest && w.noted[epoch]
	}
	if !older {
		return
	}
	name := r.rotten(w.manifests[newest])
	path := dir + "/" + name
	data, err := w.disk.Bytes(path)
	if err != nil {
		return // it is not there: the manifest was durable, and what it names is looked at below
	}
	switch {
	case r.lives.IntN(3) == 0 && name != checkpoint.ManifestName(1, newest):
		data = nil
	case r.lives.IntN(2) == 0:
		data = data[:r.lives.IntN(len(data))]
	default:
		data[r.lives.IntN(len(data))] ^= 1 << r.lives.IntN(8)
	}
	if err := w.disk.Rot(path, data); err != nil {
		w.find("%v", err)
		return
	}
	w.repeats = w.repeats || w.committed >= newest
	w.trace.say("%s rots; results may come again: %t", name, w.repeats)
	w.forget(newest)
}

// rotten draws a part of a checkpoint that no older one has.
func (r *run) rotten(m *checkpoint.Manifest) string {
	names := []string{checkpoint.ManifestName(1, m.Epoch)}
	for _, name := range m.FileNames() {
		if n, ok := checkpoint.ParseName(name); ok && n.Epoch == m.Epoch {
			names = append(names, name)
		}
	}
	return names[r.lives.IntN(len(names))]
}

// forget takes the newest checkpoint out of what is known to be sound. Of the older ones only one need be there.
func (w *world) forget(epoch int64) {
	delete(w.manifests, epoch)
	delete(w.noted, epoch)
	w.newest = 0
	for other := range w.manifests {
		w.newest = max(w.newest, other)
	}
	maps.DeleteFunc(w.manifests, func(other int64, _ *checkpoint.Manifest) bool { return other < w.newest })
	w.committed = min(w.committed, w.newest)
}
