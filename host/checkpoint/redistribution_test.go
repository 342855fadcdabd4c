package checkpoint_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Case C51 of Flink is about operators that keep a list: after a change of
// parallelism its elements go round to other subtasks. There is no such state here.
// What Flink keeps in lists, or broadcasts, is elsewhere: the positions of a source
// belong to its splits, which a source has as a whole, however many tasks there are;
// the hand-overs of a sink to the sink; and the state of a step is keyed, all of it.
// So what is left of the case is that keyed state goes to the task that owns the
// key's group now, each entry to one task, and once.

const redistributedGroups = 128

// flinkRanges are the last key groups of each subtask, of 128: of three as case C43
// has them from Flink, of two and four halves and quarters.
var flinkRanges = map[int][]stream.KeyGroup{2: {63, 127}, 3: {42, 85, 127}, 4: {31, 63, 95, 127}}

// groupOfKey spreads keys over all groups, and not in their order.
func groupOfKey(k uint64) stream.KeyGroup { return stream.KeyGroup(k * 37 % redistributedGroups) }

// restoredBy are the keys that a task gets of files.
func restoredBy(t *testing.T, store checkpoint.Store, refs []checkpoint.FileRef, own checkpoint.Groups) (keys []uint64) {
	t.Helper()
	files, err := checkpoint.OpenRefs(store, checkpoint.RefsFor(refs, own))
	if err != nil {
		t.Fatal(err)
	}
	err = checkpoint.Load(files, own, func(key, value []byte) error {
		k := binary.LittleEndian.Uint64(key[8:])
		if want := fmt.Sprint(k); string(value) != want {
			t.Errorf("key %d has the value %s", k, value)
		}
		keys = append(keys, k)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.CloseAll(files); err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	return keys
}

// TestRedistribution is case C51: with 2, then 3, then 4, then 2 tasks each gets
// exactly the entries of its groups, those from before and those that were added or
// deleted since.
func TestRedistribution(t *testing.T) {
	store := checkpoint.NewMemory()
	var refs []checkpoint.FileRef
	alive := map[uint64]bool{}
	for round, parallelism := range []int{2, 3, 4, 2} {
		var next []checkpoint.FileRef
		first := stream.KeyGroup(0)
		deltas := make([]checkpoint.Delta, parallelism)
		for task, last := range flinkRanges[parallelism] {
			own := checkpoint.GroupsOf(task, redistributedGroups, parallelism)
			if own != (checkpoint.Groups{From: first, To: last + 1}) {
				t.Errorf("task %d of %d owns the groups %s, and Flink's has %d to %d", task, parallelism, own, first, last)
			}
			var want []uint64
			for k := range alive {
				if g := groupOfKey(k); first <= g && g <= last {
					want = append(want, k)
				}
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, restoredBy(t, store, refs, own)); diff != "" {
				t.Errorf("round %d, task %d of %d (-want +got):\n%s", round, task, parallelism, diff)
			}
			next = append(next, checkpoint.RefsFor(refs, own)...)
			first = last + 1
		}
		for k := uint64(round) * 250; k < uint64(round)*250+500; k++ { // half of them are there already
			g := groupOfKey(k)
			task := slices.IndexFunc(flinkRanges[parallelism], func(last stream.KeyGroup) bool { return g <= last })
			if alive[k] = k%5 > 0; alive[k] {
				deltas[task].Add(g, row(k), fmt.Append(nil, k))
			} else {
				delete(alive, k)
				deltas[task].Delete(g, row(k))
			}
		}
		for task := range deltas {
			name := checkpoint.FileName(1, int64(round)+1, "step", task, checkpoint.KindDelta)
			var s checkpoint.FileSummary
			err := store.Put(name, func(w io.Writer) (err error) {
				s, err = deltas[task].Write(w, nil)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			next = append(next, checkpoint.Ref(name, s, int64(round)+1, checkpoint.GroupsOf(task, redistributedGroups, parallelism)))
		}
		refs = next
	}
	if len(alive) < 900 {
		t.Errorf("only %d entries were redistributed", len(alive))
	}
}
