package state_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/wasmstream/wasmstream/host/state"
)

// TestPartsAreWrittenOneByOne: of many parts a snapshot has those that changed.
func TestPartsAreWrittenOneByOne(t *testing.T) {
	b := state.NewMemory(128, 8, state.Variable)
	k := key("a")
	whole := b.Entry(k.Hash(), k, state.Namespace{})
	const n = 10_000
	name := func(i int) []byte { return []byte(fmt.Sprintf("%06d", i*7919%n)) }
	for i := range n {
		b.Put(b.Part(whole, name(i)), 1, []byte("x"))
	}
	kept := everything(b)
	b.Put(b.Part(whole, name(17)), 1, []byte("y"))
	b.Clear(b.Part(whole, name(4711)), 1)
	b.Release()
	b.Flip()
	all := counted{}
	b.Slice(math.MaxInt, &all)
	if want := (counted{adds: 1, deletes: 1}); all != want || len(kept) != n {
		t.Errorf("%+v after a base of %d, want %+v", all, len(kept), want)
	}
	i, found := 0, make([]string, 0, n)
	for p, ok := b.NextPart(whole, nil); ok; p, ok = b.NextPart(whole, b.Name(p)) {
		found = append(found, string(b.Name(p)))
		i++
	}
	if i != n-1 || !slices.IsSorted(found) {
		t.Errorf("%d parts, in order: %v", i, slices.IsSorted(found))
	}
	for p, ok := b.NextPart(whole, nil); ok; p, ok = b.NextPart(whole, nil) {
		b.Clear(p, 1)
	}
	b.Release()
	if s := b.Stats(); s.Entries != 0 || s.Bytes != 0 {
		t.Errorf("%+v without parts", s)
	}
}

// TestEmptiedPartsAreInNoWay: parts that hold nothing, whether they were emptied or never filled, are not met by a search
// for others, long before they are freed; filled again they are there again.
func TestEmptiedPartsAreInNoWay(t *testing.T) {
	b := state.NewMemory(128, 8, state.Variable)
	k := key("a")
	whole := b.Entry(k.Hash(), k, state.Namespace{})
	name := func(i int) []byte { return []byte(fmt.Sprintf("%04d", i)) }
	for i := range 1000 {
		b.Hold(b.Part(whole, name(i)), 0)
		b.Put(b.Part(whole, name(i)), 1, []byte("x"))
		b.Part(whole, append(name(i), "never filled"...))
	}
	for i := 1; i < 999; i++ {
		b.Clear(b.Part(whole, name(i)), 0)
		if n := b.TreeLen(whole); n != 1000-(i-1) {
			t.Fatalf("%d parts with half of part %d", n, i)
		}
		b.Clear(b.Part(whole, name(i)), 1)
	}
	p, ok := b.NextPart(whole, name(0))
	if n := b.TreeLen(whole); n != 2 || !ok || string(b.Name(p)) != "0999" {
		t.Errorf("%d parts; behind the first comes %t", n, ok)
	}
	b.Hold(b.Part(whole, name(500)), 0)
	if p, ok := b.LastPart(whole, name(999)); !ok || string(b.Name(p)) != "0500" || b.TreeLen(whole) != 3 {
		t.Errorf("filled again it is not there: %t", ok)
	}
	b.Release()
	if s := b.Stats(); s.Entries != 4 || b.TreeLen(whole) != 3 {
		t.Errorf("%+v", s)
	}
	for _, i := range []int{0, 500, 999} {
		b.Clear(b.Part(whole, name(i)), 0)
		b.Clear(b.Part(whole, name(i)), 1)
	}
	if !b.IsEmpty(whole) {
		t.Error("there are parts without anything in them")
	}
	b.Release()
	if s := b.Stats(); s.Entries != 0 || s.Bytes != 0 {
		t.Errorf("%+v without parts", s)
	}
}

// TestSharedEntry: a task goes on from its own copy; where there are more or fewer
// tasks now, from another's, and its snapshots have none of the old ones.
func TestSharedEntry(t *testing.T) {
	const groups = 8
	fill := func(c state.Copy, text string) records {
		b := state.NewMemory(groups, state.Variable)
		b.SetCopy(c)
		for _, n := range []string{"a", "b"} {
			b.Put(b.Part(b.Shared(), []byte(n)), 0, []byte(text))
		}
		return everything(b)
	}
	old := [2]records{fill(state.Copy{Home: 0, Tasks: 2}, "zero"), fill(state.Copy{Home: 4, Tasks: 2}, "one")}
	all := maps.Clone(old[0])
	maps.Copy(all, old[1])
	if len(all) != 4 {
		t.Fatalf("%d records of two copies: they are told apart", len(all))
	}
	restore := func(c state.Copy, own, of records) (*state.Memory, records) {
		b := state.NewMemory(groups, state.Variable)
		b.SetCopy(c)
		for k, v := range own {
			if err := b.Restore([]byte(k), []byte(v)); err != nil {
				t.Fatal(err)
			}
		}
		for k, v := range of {
			if err := b.RestoreCopy([]byte(k), []byte(v)); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Restored(); err != nil {
			t.Fatal(err)
		}
		b.Flip()
		next := records{}
		maps.Copy(next, own)
		b.Slice(math.MaxInt, next)
		return b, next
	}
	text := func(b *state.Memory) string {
		p, ok := b.FindPart(b.Shared(), []byte("a"))
		if !ok {
			return ""
		}
		return string(b.Value(p, 0))
	}
	if b, next := restore(state.Copy{Home: 4, Tasks: 2}, old[1], nil); text(b) != "one" || !maps.Equal(next, old[1]) {
		t.Errorf("the same tasks: %q with %d records", text(b), len(next))
	}
	// Of one task that owns all groups, and of the third of three.
	if b, next := restore(state.Copy{Home: 0, Tasks: 1}, all, old[0]); text(b) != "zero" || !maps.Equal(next, fill(state.Copy{Home: 0, Tasks: 1}, "zero")) {
		t.Errorf("one task: %q with %d records", text(b), len(next))
	}
	if b, next := restore(state.Copy{Home: 6, Tasks: 3}, nil, old[0]); text(b) != "zero" || !maps.Equal(next, fill(state.Copy{Home: 6, Tasks: 3}, "zero")) {
		t.Errorf("the third of three tasks: %q with %d records", text(b), len(next))
	}
	for k := range old[1] {
		if c, ok := state.CopyOf([]byte(k)); !ok || c != (state.Copy{Home: 4, Tasks: 2}) {
			t.Errorf("a record of the second copy says %+v", c)
		}
	}
}

// BenchmarkParts puts and gets parts of one key.
func BenchmarkParts(b *testing.B) {
	for _, n := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m := state.NewMemory(128, state.Variable)
			k := key("a")
			names := make([][]byte, n)
			for i := range names {
				names[i] = []byte(fmt.Sprintf("%07d", i*7919%n))
			}
			i := 0
			for b.Loop() {
				whole := m.Entry(k.Hash(), k, state.Namespace{})
				name := names[i%n]
				if p, ok := m.FindPart(whole, name); ok {
					m.Clear(p, 0)
					m.Release()
				} else {
					m.Put(m.Part(whole, name), 0, name)
				}
				i++
			}
		})
	}
}
