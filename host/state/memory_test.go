package state_test

import (
	"fmt"
	"maps"
	"math"
	"strings"
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

func (m model) clone() model {
	return model{maps.Clone(m.values), maps.Clone(m.texts), maps.Clone(m.timers)}
}

// forget drops all values and says whose they were.
func (m model) forget(touched map[string]bool) {
	for name := range m.values {
		touched[name] = true
	}
	for name := range m.texts {
		touched[name] = true
	}
	clear(m.values)
	clear(m.texts)
}

var (
	someKeys   = []string{"", "a", "b", "a key that does not fit into its slot", "ü"}
	someSpaces = []state.Namespace{{}, {Start: 0, End: 10}, {Start: 10, End: 20}, {Start: math.MinInt64, End: -1}}
)

var someNames = []string{"\x00", "a", "a\x00", "b", "the name of a part", "\xff\xff"}

// part is what the model calls a part of an entry.
func part(c, name string) string { return c + "|" + name }

func cell(k string, ns state.Namespace) string { return fmt.Sprintf("%s/%d/%d", k, ns.Start, ns.End) }

func timerName(d state.Domain, at int64, c string) string { return fmt.Sprintf("%d/%d/%s", d, at, c) }

// TestMemoryAgainstModel plays random histories on the backend and on plain maps.
// Snapshots are taken in slices on the way, given up, and restored.
func TestMemoryAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := state.NewMemory(128, valueBytes, state.Variable)
		m := model{map[string]byte{}, map[string]string{}, map[string]bool{}}
		c := newCheckpoints()
		keys := rapid.SampledFrom(someKeys)
		spaces := rapid.SampledFrom(someSpaces)
		times := rapid.SampledFrom([]int64{math.MinInt64, -5, 0, 1, 2, 3, 4, 5, 6, math.MaxInt64})
		domains := rapid.SampledFrom([]state.Domain{state.EventTimer, state.ProcTimer})
		entry := func(k string, ns state.Namespace) state.Ref {
			row := key(k)
			return b.Entry(row.Hash(), row, ns)
		}
		actions := map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				k, ns, v := keys.Draw(t, "key"), spaces.Draw(t, "ns"), rapid.Byte().Draw(t, "value")
				r := entry(k, ns)
				b.Edit(r, 0)[7] = v // of no account until Hold
				b.Hold(r, 0)
				m.values[cell(k, ns)] = v
				c.touched[cell(k, ns)] = true
			},
			"clear": func(t *rapid.T) {
				k, ns := keys.Draw(t, "key"), spaces.Draw(t, "ns")
				b.Clear(entry(k, ns), 0)
				delete(m.values, cell(k, ns))
				c.touched[cell(k, ns)] = true
			},
			"put text": func(t *rapid.T) {
				k, ns, v := keys.Draw(t, "key"), spaces.Draw(t, "ns"), rapid.StringN(0, 400, 1000).Draw(t, "text")
				b.Put(entry(k, ns), 1, []byte(v))
				m.texts[cell(k, ns)] = v
				c.touched[cell(k, ns)] = true
			},
			"append text": func(t *rapid.T) {
				k, ns, v := keys.Draw(t, "key"), spaces.Draw(t, "ns"), rapid.StringN(0, 100, 300).Draw(t, "text")
				b.Append(entry(k, ns), 1, []byte(v))
				m.texts[cell(k, ns)] += v
				c.touched[cell(k, ns)] = true
			},
			"clear text": func(t *rapid.T) {
				k, ns := keys.Draw(t, "key"), spaces.Draw(t, "ns")
				b.Clear(entry(k, ns), 1)
				delete(m.texts, cell(k, ns))
				c.touched[cell(k, ns)] = true
			},
			"set timer": func(t *rapid.T) {
				k, ns, d, at := keys.Draw(t, "key"), spaces.Draw(t, "ns"), domains.Draw(t, "domain"), times.Draw(t, "at")
				b.SetTimer(d, at, entry(k, ns))
				m.timers[timerName(d, at, cell(k, ns))] = true
				c.touched[cell(k, ns)] = true
			},
			"set many timers": func(t *rapid.T) {
				k, ns, d := keys.Draw(t, "key"), spaces.Draw(t, "ns"), domains.Draw(t, "domain")
				at := rapid.Int64Range(0, 3).Draw(t, "at")
				for i := range int64(4) {
					b.SetTimer(d, at+i, entry(k, ns))
					m.timers[timerName(d, at+i, cell(k, ns))] = true
					c.touched[cell(k, ns)] = true
				}
			},
			"delete timer": func(t *rapid.T) {
				k, ns, d, at := keys.Draw(t, "key"), spaces.Draw(t, "ns"), domains.Draw(t, "domain"), times.Draw(t, "at")
				b.DeleteTimer(d, at, entry(k, ns))
				delete(m.timers, timerName(d, at, cell(k, ns)))
				c.touched[cell(k, ns)] = true
			},
			"pop": func(t *rapid.T) { pop(t, b, &m, c.touched, domains.Draw(t, "domain"), times.Draw(t, "up to")) },
			"edit all": func(*rapid.T) {
				for _, k := range someKeys {
					for _, ns := range someSpaces {
						if r := entry(k, ns); b.Has(r, 0) {
							b.Edit(r, 0)[7]++
							m.values[cell(k, ns)]++
							c.touched[cell(k, ns)] = true
						}
					}
				}
			},
			"clear all": func(*rapid.T) {
				for _, k := range someKeys {
					for _, ns := range someSpaces {
						r := entry(k, ns)
						b.Clear(r, 0)
						b.Clear(r, 1)
						for p, ok := b.NextPart(r, nil); ok; p, ok = b.NextPart(r, nil) {
							b.Clear(p, 1)
						}
					}
				}
				m.forget(c.touched)
			},
			"release": func(*rapid.T) { b.Release() },
			"compare": func(t *rapid.T) { compare(t, b, &m) },
			"flip":    func(t *rapid.T) { c.flip(t, b, &m) },
			"slice": func(t *rapid.T) {
				c.slice(t, b, rapid.IntRange(1, 4).Draw(t, "records"))
			},
			"give up": func(*rapid.T) { c.giveUp(b) },
			"restart": func(t *rapid.T) {
				c.slice(t, b, math.MaxInt)
				c.flip(t, b, &m)
				c.slice(t, b, math.MaxInt)
				b = c.restore(t)
				c.isBase = len(c.kept) == 0
			},
			"": func(t *rapid.T) {
				// Not all: what is looked up is there, and would never be freed.
				compareEntry(t, b, &m, keys.Draw(t, "compared key"), spaces.Draw(t, "compared ns"))
			},
		}
		maps.Copy(actions, partActions(&b, &m, c))
		t.Repeat(actions)
	})
}

// partActions are those on parts of entries.
func partActions(b **state.Memory, m *model, c *checkpoints) map[string]func(*rapid.T) {
	draw := func(t *rapid.T) (state.Ref, []byte, string) {
		row, ns := rapid.SampledFrom(someKeys).Draw(t, "key"), rapid.SampledFrom(someSpaces).Draw(t, "ns")
		n := rapid.SampledFrom(someNames).Draw(t, "name")
		whole := (*b).Entry(key(row).Hash(), key(row), ns)
		of := part(cell(row, ns), n)
		c.touched[of] = true
		return whole, []byte(n), of
	}
	return map[string]func(*rapid.T){
		"put part": func(t *rapid.T) {
			whole, name, of := draw(t)
			m.texts[of] = rapid.StringN(0, 100, 300).Draw(t, "text")
			(*b).Put((*b).Part(whole, name), 1, []byte(m.texts[of]))
		},
		"clear part": func(t *rapid.T) {
			whole, name, of := draw(t)
			(*b).Clear((*b).Part(whole, name), 1)
			delete(m.texts, of)
		},
	}
}

// pop takes all due timers; they must be the model's, in order of time.
func pop(t *rapid.T, b state.Backend, m *model, touched map[string]bool, d state.Domain, upTo int64) {
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
		of := cell(string(k.Bytes(b.Key(r))), b.Namespace(r))
		name := timerName(d, at, of)
		touched[of] = true
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

func compare(t *rapid.T, b state.Backend, m *model) {
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
		whole, _, _ := strings.Cut(c, "|")
		cells[whole] = true
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
	if n := b.Stats().Bytes; (n > 0) != (len(cells) > 0) {
		t.Fatalf("%d bytes in %d entries", n, len(cells))
	}
	for _, k := range someKeys {
		for _, ns := range someSpaces {
			compareEntry(t, b, m, k, ns)
		}
	}
	b.Release()
}

func compareEntry(t *rapid.T, b state.Backend, m *model, k string, ns state.Namespace) {
	row, name := key(k), cell(k, ns)
	r := b.Entry(row.Hash(), row, ns)
	want, ok := m.values[name]
	if b.Has(r, 0) != ok || ok && b.Value(r, 0)[7] != want {
		t.Fatalf("%s: has %v, want %v %d", name, b.Has(r, 0), ok, want)
	}
	text, ok := m.texts[name]
	if b.Has(r, 1) != ok || string(b.Value(r, 1)) != text {
		t.Fatalf("%s: has %v %q, want %v %q", name, b.Has(r, 1), b.Value(r, 1), ok, text)
	}
	compareParts(t, b, m, r, name)
}

// compareParts goes through the parts of an entry, forwards and backwards.
func compareParts(t *rapid.T, b state.Backend, m *model, r state.Ref, name string) {
	var names []string
	for _, n := range someNames {
		text, ok := m.texts[part(name, n)]
		if ok {
			names = append(names, n)
		}
		p, found := b.FindPart(r, []byte(n))
		if has := found && b.Has(p, 1); has != ok || ok && (string(b.Value(p, 1)) != text || b.Whole(p) != r || !b.IsPart(p)) {
			t.Fatalf("%s: part %q has %v, want %v %q", name, n, has, ok, text)
		}
	}
	at := 0
	for p, ok := b.NextPart(r, nil); ok; p, ok = b.NextPart(r, b.Name(p)) {
		if at >= len(names) || string(b.Name(p)) != names[at] {
			t.Fatalf("%s: part %d is %q, of %q", name, at, b.Name(p), names)
		}
		at++
	}
	if at != len(names) {
		t.Fatalf("%s: %d parts of %q", name, at, names)
	}
	for p, ok := b.LastPart(r, []byte("\xff\xff\xff")); ok; p, ok = b.LastPart(r, b.Name(p)) {
		if at--; at < 0 || string(b.Name(p)) != names[at] {
			t.Fatalf("%s: backwards, part %d is %q, of %q", name, at, b.Name(p), names)
		}
	}
	if at != 0 {
		t.Fatalf("%s: backwards, %d parts are missing", name, at)
	}
}

// TestBytes: what is counted grows by what is put in and shrinks when that goes.
func TestBytes(t *testing.T) {
	if entry, text := state.Sizes(); entry != state.EntryBytes || text != state.TextBytes {
		t.Errorf("an entry has %d bytes and a text %d", entry, text)
	}
	b := state.NewMemory(128, valueBytes, state.Variable)
	const entries, long = 1000, 10_000
	for i := range entries {
		k := key(fmt.Sprint("airport ", i))
		b.Hold(b.Entry(k.Hash(), k, state.Namespace{}), 0)
	}
	few := b.Stats().Bytes
	if least := int64(entries * (valueBytes + len("airport 0"))); few < least || few > 8*least {
		t.Errorf("%d bytes in %d entries with keys and values of %d", few, entries, least)
	}
	k := key("airport 7")
	r := b.Entry(k.Hash(), k, state.Namespace{})
	b.Append(r, 1, make([]byte, long))
	if more := b.Stats().Bytes - few; more < long || more > 2*long {
		t.Errorf("%d bytes more with a text of %d", more, long)
	}
	b.Clear(r, 0)
	b.Clear(r, 1)
	b.Release()
	if less := few - b.Stats().Bytes; less < valueBytes || less > few/entries*2 {
		t.Errorf("%d bytes less without an entry, of %d in %d", less, few, entries)
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

// TestTimersOnceAfterManyWereDeleted: what is left when the queue was made anew is set
// already, in both domains, and what was deleted is not.
func TestTimersOnceAfterManyWereDeleted(t *testing.T) {
	const keys, times = 5, 2000
	b := state.NewMemory(128, valueBytes, state.Variable)
	of := func(k int) state.Ref {
		row := key(fmt.Sprint("airport ", k))
		return b.Entry(row.Hash(), row, state.Namespace{})
	}
	all := func(f func(state.Domain, int64, state.Ref)) {
		for at := range int64(times) {
			for k := range keys {
				f(state.EventTimer, at, of(k))
				f(state.ProcTimer, at/2, of(k))
			}
		}
	}
	all(b.SetTimer)
	all(func(d state.Domain, at int64, r state.Ref) {
		if d == state.EventTimer && at%10 != 0 {
			b.DeleteTimer(d, at, r)
		}
	})
	if n := b.QueueLen(state.EventTimer); n > keys*times/2 {
		t.Fatalf("the queue was not made anew: it has %d", n)
	}
	if n := b.Stats().Timers; n != keys*times/10+keys*times/2 {
		t.Fatalf("%d timers are left", n)
	}
	all(b.SetTimer) // most of them again
	for d, want := range map[state.Domain]int{state.EventTimer: keys * times, state.ProcTimer: keys * times / 2} {
		n := 0
		for last := int64(0); ; n++ {
			at, _, ok := b.PopTimer(d, times)
			if !ok {
				break
			}
			if at < last {
				t.Fatalf("%d after %d", at, last)
			}
			last = at
		}
		if n != want {
			t.Errorf("%d timers of domain %d, want %d", n, d, want)
		}
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

// TestTimersAreBytes: an entry has room for two timers, and more of them are counted.
func TestTimersAreBytes(t *testing.T) {
	b := state.NewMemory(128, valueBytes)
	k := key("a")
	r := b.Entry(k.Hash(), k, state.Namespace{})
	b.SetTimer(state.EventTimer, 1, r)
	b.SetTimer(state.ProcTimer, 1, r)
	few := b.Stats().Bytes
	for at := range int64(1000) {
		b.SetTimer(state.EventTimer, at+2, r)
	}
	if more := b.Stats().Bytes - few; more != 1000*state.TimerBytes {
		t.Errorf("%d bytes more with 1000 timers more", more)
	}
	for at := range int64(1000) {
		b.DeleteTimer(state.EventTimer, at+2, r)
	}
	if more := b.Stats().Bytes - few; more != 0 {
		t.Errorf("%d bytes more when they were deleted", more)
	}
}

// TestBytesFollowWhatIsHeld: what an entry takes follows from its values, and not from
// what they once were: that of a value that was long and is short, of one that is gone
// while the entry stays, and of a part that was discarded.
func TestBytesFollowWhatIsHeld(t *testing.T) {
	m := state.NewMemory(128, state.Variable, state.Variable)
	k := key("a")
	r := m.Entry(k.Hash(), k, state.Namespace{})
	long := make([]byte, 1<<20)
	m.Put(r, 0, []byte("short"))
	m.Release()
	want := m.Stats()
	check := func(what string) {
		t.Helper()
		if got := m.Stats(); got != want {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	m.Put(r, 0, long)
	m.Put(r, 0, []byte("short"))
	check("a value that was long")
	m.Put(r, 1, long)
	m.Clear(r, 1)
	m.Release()
	check("a value that is gone")
	p := m.Part(r, []byte("p"))
	m.Put(p, 0, long)
	m.Discard(p) // it holds something
	if m.Stats().Bytes < 1<<20 {
		t.Error("a part that holds something was discarded")
	}
	m.Clear(p, 0)
	m.Discard(p)
	m.Discard(p)
	check("a part that was discarded")
	m.Release()
	check("after its release")
	if string(m.Value(r, 0)) != "short" || m.IsEmpty(r) {
		t.Errorf("the value is %q", m.Value(r, 0))
	}
}

// TestDeletedTimersAreFew: those that lie in the queue are as many as there are timers, or as
// a small share of the entries; to take them out more often would look at all entries for few.
func TestDeletedTimersAreFew(t *testing.T) {
	for _, c := range []struct{ entries, least, most int }{{100, 0, 1100}, {64_000, 3500, 4100}} {
		m := state.NewMemory(1, valueBytes)
		for i := range c.entries {
			k := key(fmt.Sprint(i))
			m.Hold(m.Entry(k.Hash(), k, state.Namespace{}), 0)
		}
		k := key("0")
		r, longest := m.Entry(k.Hash(), k, state.Namespace{}), 0
		for at := range int64(20_000) {
			m.SetTimer(state.EventTimer, at, r)
			longest = max(longest, m.QueueLen(state.EventTimer))
			m.DeleteTimer(state.EventTimer, at, r)
		}
		if longest < c.least || longest > c.most {
			t.Errorf("of %d entries the queue had %d timers at most, want %d to %d", c.entries, longest, c.least, c.most)
		}
	}
}
