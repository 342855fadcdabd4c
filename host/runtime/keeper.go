package runtime

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

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
	outs    []*output // all of the operator's
	shot    func(*stateShot)
	current *stateShot // under way; nil: none
}

// sliceRecords is how many records of a snapshot are written at once, between two
// batches: 50 to 200 ns each, as the cache has it.
const sliceRecords = 4096

func (k *keeper) status(kind stream.MarkKind) {
	for _, out := range k.outs {
		out.batch.Mark(kind, 0)
	}
}

// barrier begins a snapshot. The one before is finished at once if it must: a
// backend takes one at a time.
func (k *keeper) barrier(epoch int64) error {
	k.finish()
	k.backend.Everything()
	k.current = &stateShot{epoch: epoch, isBase: k.backend.Flip()}
	for _, out := range k.outs {
		out.seal(epoch)
	}
	return nil
}

// end hands a snapshot over before it puts the mark out: behind that the job may
// be over.
func (k *keeper) end() error {
	k.finish()
	k.status(stream.MarkEnd)
	return nil
}

func (k *keeper) drain(all bool) bool {
	ok := true
	for _, out := range k.outs {
		ok = out.drain(all) && ok
	}
	return ok
}

// slice goes on with the snapshot under way; more says that it is not done yet. A
// task without keyed state has no keeper.
func (k *keeper) slice() (more bool) {
	if k == nil || k.current == nil {
		return false
	}
	if !k.backend.Slice(sliceRecords, k.current) {
		return true
	}
	shot := k.current
	k.current = nil
	k.shot(shot)
	return false
}

func (k *keeper) finish() {
	for k.slice() {
	}
}

// stateShot is the state of one task in a snapshot: by key group its records, each
// with uvarint lengths before the key and the value. A deletion has no value.
type stateShot struct {
	epoch  int64
	isBase bool
	groups [][]byte
}

// Add implements state.Putter.
func (s *stateShot) Add(group stream.KeyGroup, key, value []byte) {
	for int(group) >= len(s.groups) {
		s.groups = append(s.groups, nil)
	}
	b := binary.AppendUvarint(s.groups[group], uint64(len(key)))
	b = binary.AppendUvarint(append(b, key...), uint64(len(value)))
	s.groups[group] = append(b, value...)
}

// Delete implements state.Putter.
func (s *stateShot) Delete(group stream.KeyGroup, key []byte) { s.Add(group, key, nil) }

// sortedRecords brings the records of a key group in the order of their keys.
func sortedRecords(records []byte) []byte {
	byKey := map[string][]byte{}
	for b := records; len(b) > 0; {
		key, _, rest, _ := nextRecord(b)
		byKey[string(key)] = b[:len(b)-len(rest)]
		b = rest
	}
	sorted := make([]byte, 0, len(records))
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		sorted = append(sorted, byKey[key]...)
	}
	return sorted
}

var errBrokenGroup = errors.New("the state of a key group is broken")

// restoreGroup gives a backend the records of a key group.
func restoreGroup(b state.Backend, records []byte) error {
	for len(records) > 0 {
		key, value, rest, ok := nextRecord(records)
		if !ok {
			return errBrokenGroup
		}
		if err := b.Restore(key, value); err != nil {
			return err
		}
		records = rest
	}
	return b.Restored()
}

// nextRecord takes a record off the front of untrusted bytes.
func nextRecord(b []byte) (key, value, rest []byte, ok bool) {
	for _, part := range []*[]byte{&key, &value} {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return nil, nil, nil, false
		}
		b = b[size:]
		*part, b = b[:n:n], b[n:]
	}
	return key, value, b, true
}
