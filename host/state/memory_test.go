package state_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

const valueBytes = 24

var keySchema = stream.MustSchema(stream.Field{Name: "k", Type: stream.Type{Kind: stream.String}})

func key(k string) stream.Row {
	w := stream.NewRowWriter(keySchema)
	w.BeginIn(nil, stream.Insert)
	w.SetBytes(0, []byte(k))
	return w.Buffer()
}

// model is the contract as plain maps.
type model struct {
	values map[string]byte
	texts  map[string]string
	timers map[string]bool
}

func cell(k string, ns state.Namespace) string { return fmt.Sprintf("%s/%d/%d", k, ns.Start, ns.End) }

func timerName(d state.Domain, at int64, c string) string { return fmt.Sprintf("%d/%d/%s", d, at, c) }

// TestMemoryAgainstModel plays random histories on the backend and on plain
// maps; snapshots are restored on the way.
func TestMemoryAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := state.NewMemory(128, valueBytes, state.Variable)
		m := model{map[string]byte{}, map[string]string{}, map[string]bool{}}
		keys := rapid.SampledFrom([]string{"", "a", "b", "a key that does not fit into its slot", "ü"})
		spaces := rapid.SampledFrom([]state.Namespace{{}, {Start: 0, End: 10}, {Start: 10, End: 20}, {Start: math.MinInt64, End: -1}})
		times := rapid.SampledFrom([]int64{math.MinInt64, -5, 0, 1, 2, 3, 4, 5, 6, math.MaxInt64})
		domains := rapid.SampledFrom([]state.Domain{state.EventTimer, state.ProcTimer})
		entry := func(k string, ns state.Namespace) state.Ref {
			row := key(k)
			return b.Entry(row.Hash(), row, ns)
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				k, ns, v := keys.Draw(t, "key"), spaces.Draw(t, "ns"), rapid.Byte().Draw(t, "value")
				r := entry(k, ns)
				b.Hold(r, 0)
				b.Value(r, 0)[7] = v
				m.values[cell(k, ns)] = v
			},
			"clear": func(t *rapid.T) {
				k, ns := keys.Draw(t, "key"), spaces.Draw(t, "ns")
				b.Clear(entry(k, ns), 0)
				delete(m.values, cell(k, ns))
			},
			"put text": func(t *rapid.T) {
				k, ns, v := keys.Draw(t, "key"), spaces.Draw(t, "ns"), rapid.StringN(0, 400, 1000).Draw(t, "text")
				b.Put(entry(k, ns), 1, []byte(v))
				m.texts[cell(k, ns)] = v
			},
			"append text": func(t *rapid.T) {
				k, ns, v := keys.Draw(t, "key"), spaces.Draw(t, "ns"), rapid.StringN(0, 100, 300).Draw(t, "text")
				b.Append(entry(k, ns), 1, []byte(v))
				m.texts[cell(k, ns)] += v
			},
			"clear text": func(t *rapid.T) {
				k, ns := keys.Draw(t, "key"), spaces.Draw(t, "ns")
				b.Clear(entry(k, ns), 1)
				delete(m.texts, cell(k, ns))
			},
			"set timer": func(t *rapid.T) {
				k, ns, d, at := keys.Draw(t, "key"), spaces.Draw(t, "ns"), domains.Draw(t, "domain"), times.Draw(t, "at")
				b.SetTimer(d, at, entry(k, ns))
				m.timers[timerName(d, at, cell(k, ns))] = true
			},
			"set many timers": func(t *rapid.T) {
				k, ns, d, at := keys.Draw(t, "key"), spaces.Draw(t, "ns"), domains.Draw(t, "domain"), rapid.Int64Range(0, 3).Draw(t, "at")
				for i := range int64(4) {
					b.SetTimer(d, at+i, entry(k, ns))
					m.timers[timerName(d, at+i, cell(k, ns))] = true
				}
			},
			"delete timer": func(t *rapid.T) {
				k, ns, d, at := keys.Draw(t, "key"), spaces.Draw(t, "ns"), domains.Draw(t, "domain"), times.Draw(t, "at")
				b.DeleteTimer(d, at, entry(k, ns))
				delete(m.timers, timerName(d, at, cell(k, ns)))
			},
			"pop":     func(t *rapid.T) { pop(t, b, &m, domains.Draw(t, "domain"), times.Draw(t, "up to")) },
			"release": func(*rapid.T) { b.Release() },
			"restore": func(t *rapid.T) {
				b.Release()
				next := state.NewMemory(128, valueBytes, state.Variable)
				before := snapshot(b)
				for _, group := range before {
					if err := next.Restore(group); err != nil {
						t.Fatal(err)
					}
				}
				if !slices.EqualFunc(before, snapshot(next), bytes.Equal) {
					t.Fatal("a restored backend has another snapshot")
				}
				b = next
			},
			"": func(t *rapid.T) { compare(t, b, &m, entry) },
		})
	})
}

// pop takes all due timers; they must be the model's, in order of time.
func pop(t *rapid.T, b state.Backend, m *model, d state.Domain, upTo int64) {
	last := int64(math.MinInt64)
	for {
		if next := b.NextTimer(d); next < last {
			t.Fatalf("NextTimer is %d after %d", next, last)
		}
		at, r, ok := b.PopTimer(d, upTo)
		if !ok {
			break
		}
		k := keySchema.Column(0)
		name := timerName(d, at, cell(string(k.Bytes(b.Key(r))), b.Namespace(r)))
		if at < last || at > upTo || !m.timers[name] {
			t.Fatalf("popped %s after %d, up to %d", name, last, upTo)
		}
		last = at
		delete(m.timers, name)
	}
	for name := range m.timers {
		var at int64
		var domain state.Domain
		if _, err := fmt.Sscanf(name, "%d/%d/", &domain, &at); err != nil {
			t.Fatal(err)
		}
		if domain == d && at <= upTo {
			t.Fatalf("%s was not popped up to %d", name, upTo)
		}
	}
}

func compare(t *rapid.T, b state.Backend, m *model, entry func(string, state.Namespace) state.Ref) {
	if n := b.Stats().Timers; n != len(m.timers) {
		t.Fatalf("%d timers instead of %d", n, len(m.timers))
	}
	b.Release()
	cells := map[string]bool{}
	for c := range m.values {
		cells[c] = true
	}
	for c := range m.texts {
		cells[c] = true
	}
	for name := range m.timers {
		var at int64
		var domain state.Domain
		var rest string
		_, _ = fmt.Sscanf(name, "%d/%d/", &domain, &at)
		rest = name[len(fmt.Sprintf("%d/%d/", domain, at)):]
		cells[rest] = true
	}
	if n := b.Stats().Entries; n != len(cells) {
		t.Fatalf("%d entries instead of %d: an entry lives while it holds something", n, len(cells))
	}
	for _, k := range []string{"", "a", "b", "a key that does not fit into its slot", "ü"} {
		for _, ns := range []state.Namespace{{}, {Start: 0, End: 10}} {
			r := entry(k, ns)
			want, ok := m.values[cell(k, ns)]
			if b.Has(r, 0) != ok || ok && b.Value(r, 0)[7] != want {
				t.Fatalf("%s: has %v, want %v %d", cell(k, ns), b.Has(r, 0), ok, want)
			}
			text, ok := m.texts[cell(k, ns)]
			if b.Has(r, 1) != ok || string(b.Value(r, 1)) != text {
				t.Fatalf("%s: has %v %q, want %v %q", cell(k, ns), b.Has(r, 1), b.Value(r, 1), ok, text)
			}
		}
	}
}

func snapshot(b state.Backend) [][]byte {
	var groups [][]byte
	b.Snapshot(func(_ stream.KeyGroup, entries []byte) { groups = append(groups, bytes.Clone(entries)) })
	return groups
}

// TestSnapshotIsCanonical fills two backends with the same in another order.
func TestSnapshotIsCanonical(t *testing.T) {
	fill := func(order []int) [][]byte {
		b := state.NewMemory(128, valueBytes, state.Variable)
		for _, i := range order {
			k := key(fmt.Sprint("key ", i%37))
			r := b.Entry(k.Hash(), k, state.Namespace{Start: int64(i), End: int64(i + 10)})
			b.Hold(r, 0)
			clear(b.Value(r, 0))
			b.Value(r, 0)[0] = byte(i)
			b.SetTimer(state.EventTimer, int64(i%5), r)
			b.SetTimer(state.EventTimer, int64(i%7), r)
			b.SetTimer(state.ProcTimer, int64(i%3), r)
			b.SetTimer(state.ProcTimer, int64(i%11), r)
		}
		return snapshot(b)
	}
	var up []int
	for i := range 5000 {
		up = append(up, i)
	}
	down := slices.Clone(up)
	slices.SortFunc(down, func(a, b int) int { return cmp.Compare(b*7919%5000, a*7919%5000) })
	if !slices.EqualFunc(fill(up), fill(down), bytes.Equal) {
		t.Fatal("the order of insertion shows in the snapshot")
	}
}

// TestDeletedTimersDoNotPileUp moves one timer forward for ever, as a session
// does.
func TestDeletedTimersDoNotPileUp(t *testing.T) {
	b := state.NewMemory(128, valueBytes, state.Variable)
	k := key("a")
	r := b.Entry(k.Hash(), k, state.Namespace{})
	for at := range int64(1_000_000) {
		b.SetTimer(state.EventTimer, at, r)
		b.DeleteTimer(state.EventTimer, at-1, r)
	}
	if n := b.QueueLen(state.EventTimer); n > 5000 {
		t.Fatalf("the heap of one timer has %d entries", n)
	}
	if at, _, ok := b.PopTimer(state.EventTimer, math.MaxInt64); !ok || at != 999_999 {
		t.Fatalf("popped %d, %v", at, ok)
	}
}

// TestSteadyStateAllocatesNothing creates, fires and cleans windows.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	b := state.NewMemory(128, valueBytes, state.Variable)
	keys := make([]stream.Row, 100)
	for i := range keys {
		keys[i] = key(fmt.Sprint("airport ", i))
	}
	at := int64(0)
	round := func() {
		for _, k := range keys {
			r := b.Entry(k.Hash(), k, state.Namespace{Start: at, End: at + 10})
			b.Hold(r, 0)
			b.SetTimer(state.EventTimer, at+9, r)
			b.SetTimer(state.EventTimer, at+29, r)
		}
		at += 10
		for {
			due, r, ok := b.PopTimer(state.EventTimer, at)
			if !ok {
				break
			}
			if due == b.Namespace(r).End+19 {
				b.Clear(r, 0)
			}
		}
		b.Release()
	}
	for range 100 {
		round()
	}
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Fatalf("%v allocations a round", n)
	}
}

func FuzzRestore(f *testing.F) {
	b := state.NewMemory(128, valueBytes, state.Variable)
	k := key("a key that does not fit into its slot")
	r := b.Entry(k.Hash(), k, state.Namespace{Start: 1, End: 2})
	b.Hold(r, 0)
	b.SetTimer(state.EventTimer, 7, r)
	for _, group := range snapshot(b) {
		f.Add(group)
	}
	f.Fuzz(func(t *testing.T, entries []byte) {
		b := state.NewMemory(128, valueBytes, state.Variable)
		if b.Restore(entries) != nil {
			return
		}
		again := state.NewMemory(128, valueBytes, state.Variable)
		for _, group := range snapshot(b) {
			if err := again.Restore(group); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// BenchmarkSetTimerAgain sets timers that are set already, as every record of a
// window does: the two that a window has, and four, of which two are kept beside
// the entry.
func BenchmarkSetTimerAgain(b *testing.B) {
	for _, timers := range []int64{2, 4} {
		b.Run(fmt.Sprint(timers), func(b *testing.B) {
			m := state.NewMemory(128, valueBytes, state.Variable)
			k := key("a")
			r := m.Entry(k.Hash(), k, state.Namespace{})
			for at := range timers {
				m.SetTimer(state.EventTimer, at, r)
			}
			at := int64(0)
			for b.Loop() {
				if at++; at >= timers {
					at = timers - 2
				}
				m.SetTimer(state.EventTimer, at, r)
			}
		})
	}
}
