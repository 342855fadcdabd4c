package runtime

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// sessionKeeper is a merging set on a backend beside a plain list that is to be equal.
type sessionKeeper struct {
	t     *testing.T
	s     sessions
	key   stream.Row
	model []window.InSet
}

func newSessionBackend() *state.Memory {
	return state.NewMemory(128, state.Variable, stateBytes, state.Variable)
}

func newSessionKeeper(t *testing.T) *sessionKeeper {
	schema, err := stream.NewSchema(stream.Field{Name: "k", Type: stream.Type{Kind: stream.BigInt}})
	if err != nil {
		t.Fatal(err)
	}
	w := stream.NewRowWriter(schema)
	w.BeginIn(nil, stream.Insert)
	w.SetInt64(0, 7)
	return &sessionKeeper{t: t, key: w.Row(), s: sessions{backend: newSessionBackend()}}
}

func (k *sessionKeeper) ref() state.Ref {
	return k.s.backend.Entry(k.key.Hash(), k.key, setNamespace)
}

// change loads what a window may meet, has it become one session with that, or, without
// it, has them go, and keeps what has become of them.
func (k *sessionKeeper) change(w window.Window, stays bool) {
	k.t.Helper()
	set := k.s.load(nil, k.ref(), w)
	meets := func(in window.InSet) bool { return in.Window.Start <= w.End && in.Window.End >= w.Start }
	met := filter(k.model, meets)
	if got := filter(set, meets); !slices.Equal(got, met) {
		k.t.Fatalf("of %d sessions those that meet %v are loaded as %v, want %v", len(k.model), w, got, met)
	}
	if len(set) > max(sessionsInCell, len(met)+2) {
		k.t.Fatalf("%d sessions are loaded where %d meet %v", len(set), len(met), w)
	}
	become := func(set []window.InSet) []window.InSet {
		set = filter(set, func(in window.InSet) bool { return !meets(in) })
		if !stays {
			return set
		}
		in := window.InSet{Window: w, Contents: w, Trigger: window.State{Set: 1, Cells: [2]int64{int64(len(met)), 0}}}
		for _, m := range met {
			in.Contents = m.Contents
			in.Window.Start, in.Window.End = min(in.Window.Start, m.Window.Start), max(in.Window.End, m.Window.End)
		}
		at, _ := slices.BinarySearchFunc(set, in, func(a, b window.InSet) int { return int(a.Window.Start - b.Window.Start) })
		return slices.Insert(set, at, in)
	}
	k.model = become(k.model)
	k.s.keep(k.ref(), become(set))
}

func filter(set []window.InSet, f func(window.InSet) bool) (some []window.InSet) {
	for _, in := range set {
		if f(in) {
			some = append(some, in)
		}
	}
	return some
}

// restore has a new backend go on with the records of a snapshot.
func (k *sessionKeeper) restore() {
	k.t.Helper()
	k.s.backend.Release()
	k.s.backend.Everything()
	k.s.backend.Flip()
	to := restorer{k.t, newSessionBackend()}
	for !k.s.backend.Slice(1000, to) {
	}
	if err := to.Restored(); err != nil {
		k.t.Fatal(err)
	}
	k.s = sessions{backend: to.Memory}
}

type restorer struct {
	t *testing.T
	*state.Memory
}

func (r restorer) Add(_ stream.KeyGroup, key, value []byte) {
	if err := r.Restore(key, value); err != nil {
		r.t.Fatal(err)
	}
}

func (r restorer) Delete(stream.KeyGroup, []byte) { r.t.Error("a base deletes an entry") }

// all are the sessions that are kept.
func (k *sessionKeeper) all() []window.InSet {
	return k.s.load(nil, k.ref(), window.Window{Start: -1 << 62, End: 1 << 62})
}

// TestSessionsAreKept adds, merges and removes sessions of a key at random, from a few to
// thousands and back, with restores on the way.
func TestSessionsAreKept(t *testing.T) {
	k, r := newSessionKeeper(t), rand.New(rand.NewPCG(1, 2))
	most := 0
	for _, phase := range []struct{ changes, goes, span int }{{4_000, 1, 10}, {60, 2, 60_000}, {600, 1, 10}, {600, 8, 3_000}} {
		for i := range phase.changes {
			start := r.Int64N(1_000_000) - 500_000
			k.change(window.Window{Start: start, End: start + 1 + r.Int64N(int64(phase.span))}, r.IntN(10) >= phase.goes)
			if most = max(most, len(k.model)); i%64 == 0 {
				k.s.backend.Release()
			}
		}
		if k.restore(); !cmp.Equal(k.all(), k.model) {
			t.Fatalf("after a restore (-want +got):\n%.2000s", cmp.Diff(k.model, k.all()))
		}
	}
	if most < 3_000 {
		t.Errorf("there were %d sessions at most, too few to show anything", most)
	}
	k.change(window.Window{Start: -1 << 62, End: 1 << 62}, false)
	k.s.backend.Release()
	if s := k.s.backend.Stats(); s.Entries != 0 || s.Bytes != 0 {
		t.Errorf("when all sessions are over, %+v is left", s)
	}
	k.change(window.Window{Start: 1, End: 2}, true)
	if k.s.spread {
		t.Error("a key whose many sessions are over does not have a cell again")
	}
}

// TestSessionsOfOlderCheckpoints: those have all sessions of a key in one cell, in the
// layout that stands here once more.
func TestSessionsOfOlderCheckpoints(t *testing.T) {
	k := newSessionKeeper(t)
	var old []byte
	for i := range int64(1000) {
		in := window.InSet{
			Window: window.Window{Start: 100 * i, End: 100*i + 50}, Contents: window.Window{Start: 100*i + 1, End: 100*i + 9},
			Trigger: window.State{Set: 3, Cells: [2]int64{i, -i}},
		}
		k.model = append(k.model, in)
		for _, v := range [...]int64{in.Window.Start, in.Window.End, in.Contents.Start, in.Contents.End, i, -i, 3} {
			old = binary.LittleEndian.AppendUint64(old, uint64(v))
		}
	}
	k.s.backend.Put(k.ref(), setCell, old)
	k.restore()
	if got := k.all(); !slices.Equal(got, k.model) {
		t.Fatalf("of an older checkpoint (-want +got):\n%.2000s", cmp.Diff(k.model, got))
	}
	k.s.keep(k.ref(), k.model)
	k.change(window.Window{Start: 100, End: 300}, true)
	k.restore()
	if got := k.all(); !slices.Equal(got, k.model) || len(got) != 998 {
		t.Fatalf("after a change (-want +got):\n%.2000s", cmp.Diff(k.model, got))
	}
}
