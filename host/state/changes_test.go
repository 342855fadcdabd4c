package state_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// records are those of snapshots brought together, by key.
type records map[string]string

// Add implements state.Putter.
func (r records) Add(_ stream.KeyGroup, key, value []byte) { r[string(key)] = string(value) }

// Delete implements state.Putter.
func (r records) Delete(_ stream.KeyGroup, key []byte) { delete(r, string(key)) }

// everything takes a base.
func everything(b state.Backend) records {
	all := records{}
	b.Everything()
	b.Flip()
	b.Slice(math.MaxInt, all)
	return all
}

// restored is a backend with those records, which come in an order of no account.
func (r records) restored() (*state.Memory, error) {
	b := state.NewMemory(128, valueBytes, state.Variable)
	b.Grow(len(r))
	for k, v := range r {
		if err := b.Restore([]byte(k), []byte(v)); err != nil {
			return nil, err
		}
	}
	return b, b.Restored()
}

// checkpoints takes the snapshots of a backend, and holds them against the model as
// it was at the flip.
type checkpoints struct {
	kept     records         // of the last snapshot that was done, and those before it
	isBase   bool            // the next one has to be a base
	touched  map[string]bool // entries, since the last flip
	underWay bool

	// Of the one under way.
	t       *rapid.T
	want    model
	next    records
	allowed map[string]bool // entries that it may have
	isFull  bool
	added   map[string]bool
}

func newCheckpoints() *checkpoints {
	return &checkpoints{kept: records{}, isBase: true, touched: map[string]bool{}}
}

// recordOf is the entry of a record.
type recordOf struct {
	name  string
	group stream.KeyGroup
}

// recordsOf has all that there can be, by record key.
var recordsOf = sync.OnceValue(func() map[string]recordOf {
	of := map[string]recordOf{}
	for _, k := range someKeys {
		for _, ns := range someSpaces {
			b := state.NewMemory(128, valueBytes)
			row := key(k)
			b.Hold(b.Entry(row.Hash(), row, ns), 0)
			for record := range everything(b) {
				of[record] = recordOf{cell(k, ns), stream.KeyGroupOf(row.Hash(), 128)}
			}
			for _, n := range someNames {
				b := state.NewMemory(128, valueBytes, state.Variable)
				b.Put(b.Part(b.Entry(row.Hash(), row, ns), []byte(n)), 1, nil)
				for record := range everything(b) {
					of[record] = recordOf{part(cell(k, ns), n), stream.KeyGroupOf(row.Hash(), 128)}
				}
			}
		}
	}
	return of
})

func (c *checkpoints) flip(t *rapid.T, b state.Backend, m *model) {
	if c.underWay {
		return
	}
	if got := b.Flip(); got != c.isBase {
		t.Fatalf("Flip says a base: %v", got)
	}
	c.underWay, c.want, c.next, c.isFull = true, m.clone(), maps.Clone(c.kept), c.isBase
	if c.isBase {
		c.next = records{}
	}
	c.allowed, c.touched, c.added, c.isBase = c.touched, map[string]bool{}, map[string]bool{}, false
}

func (c *checkpoints) slice(t *rapid.T, b state.Backend, n int) {
	c.t = t
	if done := b.Slice(n, c); !done || !c.underWay {
		if !done && !c.underWay {
			t.Fatal("a slice of no snapshot is not done")
		}
		return
	}
	c.underWay, c.kept = false, c.next
	restored := c.restore(t)
	if !maps.Equal(everything(restored), c.kept) {
		t.Fatal("a restored backend has other records")
	}
	compare(t, restored, &c.want)
	for _, d := range []state.Domain{state.EventTimer, state.ProcTimer} {
		pop(t, restored, &c.want, map[string]bool{}, d, math.MaxInt64)
	}
}

// Add implements state.Putter.
func (c *checkpoints) Add(group stream.KeyGroup, key, value []byte) {
	c.see(group, key)
	c.added[string(key)] = true
	c.next.Add(group, key, value)
}

// Delete implements state.Putter.
func (c *checkpoints) Delete(group stream.KeyGroup, key []byte) {
	c.see(group, key)
	if _, ok := c.next[string(key)]; !ok || c.added[string(key)] {
		c.t.Fatalf("%s is deleted that no snapshot had, or after it was added", recordsOf()[string(key)].name)
	}
	c.next.Delete(group, key)
}

// see makes sure that a record is that of an entry that was changed.
func (c *checkpoints) see(group stream.KeyGroup, record []byte) {
	of, ok := recordsOf()[string(record)]
	if !ok || of.group != group {
		c.t.Fatalf("record %q of group %d: there is none, or its group is %d", record, group, of.group)
	}
	if !c.allowed[of.name] && !c.isFull {
		c.t.Fatalf("%s is in a snapshot, and was not changed", of.name)
	}
}

func (c *checkpoints) giveUp(b state.Backend) {
	b.Everything()
	c.isBase, c.underWay = true, false
}

func (c *checkpoints) restore(t *rapid.T) *state.Memory {
	b, err := c.kept.restored()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRecordsAreCanonical fills two backends with the same in another order.
func TestRecordsAreCanonical(t *testing.T) {
	fill := func(order []int) records {
		b := state.NewMemory(128, valueBytes, state.Variable)
		for _, i := range order {
			k := key(fmt.Sprint("key ", i%37))
			r := b.Entry(k.Hash(), k, state.Namespace{Start: int64(i), End: int64(i + 10)})
			b.Hold(r, 0)
			clear(b.Edit(r, 0))
			b.Edit(r, 0)[0] = byte(i)
			b.SetTimer(state.EventTimer, int64(i%5), r)
			b.SetTimer(state.EventTimer, int64(i%7), r)
			b.SetTimer(state.ProcTimer, int64(i%3), r)
			b.SetTimer(state.ProcTimer, int64(i%11), r)
		}
		return everything(b)
	}
	var up []int
	for i := range 5000 {
		up = append(up, i)
	}
	down := slices.Clone(up)
	slices.SortFunc(down, func(a, b int) int { return cmp.Compare(b*7919%5000, a*7919%5000) })
	if first, second := fill(up), fill(down); len(first) != 5000 || !maps.Equal(first, second) {
		t.Fatalf("the order of insertion shows in the %d records", len(first))
	}
}

// TestRestore: many entries come back; one that comes twice, near or far, is an
// error, and so is anything that is no record.
func TestRestore(t *testing.T) {
	const n = 1000
	filled := state.NewMemory(128, valueBytes, state.Variable)
	for i := range n {
		k := key(fmt.Sprint(i))
		r := filled.Entry(k.Hash(), k, state.Namespace{Start: int64(i), End: int64(2 * i)})
		filled.Put(r, 1, []byte(fmt.Sprint("text ", i)))
		filled.SetTimer(state.EventTimer, int64(-i), r)
	}
	all := everything(filled)
	b, err := all.restored()
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		k := key(fmt.Sprint(i))
		r := b.Entry(k.Hash(), k, state.Namespace{Start: int64(i), End: int64(2 * i)})
		if got := string(b.Value(r, 1)); got != fmt.Sprint("text ", i) {
			t.Fatalf("entry %d has %q", i, got)
		}
	}
	if s := b.Stats(); s.Entries != n || s.Timers != n {
		t.Fatalf("restored are %+v", s)
	}
	if got := everything(b); !maps.Equal(got, all) {
		t.Fatalf("%d records, not the %d that were restored", len(got), len(all))
	}

	order := slices.Sorted(maps.Keys(all))
	for _, again := range []string{order[n-1], order[0]} {
		b := state.NewMemory(128, valueBytes, state.Variable)
		var err error
		for _, k := range append(order[:n:n], again) {
			err = cmp.Or(err, b.Restore([]byte(k), []byte(all[k])))
		}
		if cmp.Or(err, b.Restored()) == nil {
			t.Error("an entry was restored twice")
		}
	}
	k := []byte(order[0])
	for _, c := range []struct{ key, value string }{
		{"", "\x00"}, {"\x00", "\x00"}, {string(k[:len(k)-1]), all[order[0]]}, {string(k) + "\xff", all[order[0]]},
		{order[0], ""}, {order[0], "\x00"}, {order[0], "\x04"}, {order[0], "\x01short"},
		{order[0], "\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"}, {order[0], "\x80\xff\xff\xff\xff\x0f"}, {order[0], "\x80\x00\x00"},
		{order[0], all[order[0]] + "x"}, {order[0], all[order[0]][:len(all[order[0]])-1]},
	} {
		b := state.NewMemory(128, valueBytes, state.Variable)
		if err := b.Restore([]byte(c.key), []byte(c.value)); err == nil {
			t.Errorf("%q: %q was restored", c.key, c.value)
		}
	}
}

// TestRecordsAreSmall: what a snapshot writes is little more than what changed.
func TestRecordsAreSmall(t *testing.T) {
	b := state.NewMemory(128, 8, 8)
	k := key("user 17")
	window := state.Namespace{Start: 1_700_000_000_000, End: 1_700_000_060_000}
	total := b.Entry(k.Hash(), k, state.Namespace{})
	b.Hold(total, 0)
	all := everything(b)
	if n := size(all); n > (len(k)+8)*120/100 {
		t.Errorf("%d bytes for a key of %d bytes and a value of 8", n, len(k))
	}
	inWindow := b.Entry(k.Hash(), k, window)
	b.Hold(inWindow, 0)
	b.SetTimer(state.EventTimer, window.End-1, inWindow)
	b.Flip()
	all = records{}
	b.Slice(math.MaxInt, all)
	if n := size(all); len(all) != 1 || n > len(k)+8+15 {
		t.Errorf("%d records of %d bytes for a window's timer and value of 8 bytes with a key of %d", len(all), n, len(k))
	}
}

func size(r records) (n int) {
	for k, v := range r {
		n += len(k) + len(v)
	}
	return n
}

// counted counts records.
type counted struct{ adds, deletes int }

func (c *counted) Add(stream.KeyGroup, []byte, []byte) { c.adds++ }
func (c *counted) Delete(stream.KeyGroup, []byte)      { c.deletes++ }

// TestSlicesAreBounded: a slice writes at most what it is told, of copies and
// deletions too, and a large entry counts as several.
func TestSlicesAreBounded(t *testing.T) {
	b := state.NewMemory(128, 8, state.Variable)
	ref := func(i int) state.Ref {
		k := key(fmt.Sprint(i))
		return b.Entry(k.Hash(), k, state.Namespace{})
	}
	for i := range 1000 {
		b.Hold(ref(i), 0)
	}
	everything(b)
	for i := range 1000 {
		if i < 300 {
			b.Clear(ref(i), 0)
		} else {
			b.Edit(ref(i), 0)[0] = 1
		}
	}
	b.Release()
	b.Flip()
	for i := range 300 {
		b.Edit(ref(300+i), 0)[0] = 2
	}
	slices, all, done := 0, counted{}, false
	for ; !done; slices++ {
		before := all
		done = b.Slice(10, &all)
		if n := all.adds - before.adds + all.deletes - before.deletes; n > 10 {
			t.Fatalf("a slice of 10 has %d records", n)
		}
	}
	if want := (counted{adds: 700, deletes: 300}); all != want || slices > 101 {
		t.Errorf("%d slices with %+v, want %+v", slices, all, want)
	}
	for i := range 10 {
		b.Put(ref(i), 1, make([]byte, 100_000))
	}
	b.Flip()
	one := counted{}
	if b.Slice(10, &one); one.adds != 1 {
		t.Errorf("a slice of 10 has %d records of 100 kB", one.adds)
	}
}

func FuzzRestore(f *testing.F) {
	b := state.NewMemory(128, valueBytes, state.Variable)
	k := key("a key that does not fit into its slot")
	r := b.Entry(k.Hash(), k, state.Namespace{Start: 1, End: 2})
	b.Hold(r, 0)
	b.Put(r, 1, []byte("text"))
	for at := range int64(4) {
		b.SetTimer(state.EventTimer, at, r)
	}
	b.Put(b.Part(r, []byte("name")), 1, []byte("text"))
	b.SetCopy(state.Copy{Home: 3, Tasks: 2})
	b.Put(b.Part(b.Shared(), []byte("name")), 1, []byte("text"))
	for k, v := range everything(b) {
		f.Add([]byte(k), []byte(v))
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		if _, shared := state.CopyOf(key); shared {
			if err := state.NewMemory(128, valueBytes, state.Variable).RestoreCopy(key, value); err != nil {
				return
			}
			t.Skip("only a task's own copy comes back as it was")
		}
		b, err := records{string(key): string(value)}.restored()
		if err != nil {
			return
		}
		first := everything(b)
		again, err := first.restored()
		if err != nil {
			t.Fatal(err)
		}
		if len(first) != 1 || !maps.Equal(everything(again), first) {
			t.Fatal("what was restored is not what it writes")
		}
	})
}
