package checkpoint_test

import (
	"reflect"
	"testing"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/checkpoint/folder"
	"github.com/wasmstream/wasmstream/host/sim/disk"
)

// TestImport begins a history with an older checkpoint of the same folder, with a
// crash at every operation: the next start finds the former history, at its newest,
// or the new one, whole. start checks what the state is.
func TestImport(t *testing.T) {
	for stop := 0; ; stop++ {
		d := disk.New(uint64(stop))
		store, err := folder.Open(d, "state")
		if err != nil {
			t.Fatal(err)
		}
		older := threeCheckpoints(t, store)
		if stop > 0 {
			d.StopAt(d.Ops() + stop)
		}
		done := checkpoint.Import(store, store, older, true) == nil
		if stop%2 == 0 {
			d.Crash()
		} else {
			d.Kill()
		}
		again, err := folder.Open(d, "state")
		if err != nil {
			t.Fatal(err)
		}
		j, r, err := start(t, again, 1, 2)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case r.History == 1 && r.Manifest.Epoch > older.Epoch && !(done && stop == 0):
		case r.History == 2 && r.Manifest.Epoch == older.Epoch && reflect.DeepEqual(r.Manifest.Sources, older.Sources):
			j.work()
			if err := j.checkpoint(); err != nil {
				t.Fatal(err)
			}
			if _, _, err := start(t, again, 1, 3); err != nil {
				t.Fatal(err)
			}
		default:
			t.Fatalf("stop after %d: history %d, epoch %d", stop, r.History, r.Manifest.Epoch)
		}
		if stop > 0 && done {
			return // the stop comes behind its end
		}
	}
}

// threeCheckpoints makes three and returns the first.
func threeCheckpoints(t *testing.T, store checkpoint.Store) *checkpoint.Manifest {
	t.Helper()
	j, _, err := start(t, store, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	var first *checkpoint.Manifest
	for range 3 {
		j.work()
		if err := j.checkpoint(); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			r, err := checkpoint.Recover(store)
			if err != nil {
				t.Fatal(err)
			}
			first = r.Manifest
		}
	}
	return first
}
