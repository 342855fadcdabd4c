package state_test

import (
	"encoding/binary"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

const (
	benchKeys  = 1_000_000
	benchBatch = 2048 // records between two slices
	benchSlice = 4096
)

var longKey = stream.MustSchema(stream.Field{Name: "k", Type: stream.Type{Kind: stream.BigInt}})

// sums is a keyed sum of many keys.
type sums struct {
	*state.Memory
	keys []stream.Row
}

func newSums(b *testing.B) *sums {
	b.Helper()
	s := &sums{Memory: state.NewMemory(128, 16)}
	w := stream.NewRowWriter(longKey)
	for i := range benchKeys {
		w.BeginIn(nil, stream.Insert)
		w.SetInt64(0, int64(i))
		s.keys = append(s.keys, w.Buffer())
	}
	for _, k := range s.keys {
		s.Hold(s.Entry(k.Hash(), k, state.Namespace{}), 0)
	}
	s.Release()
	return s
}

func (s *sums) add(i int) {
	k := s.keys[i]
	v := s.Edit(s.Entry(k.Hash(), k, state.Namespace{}), 0)
	binary.LittleEndian.PutUint64(v, binary.LittleEndian.Uint64(v)+1)
}

// buffers takes records as a checkpoint would: by key group.
type buffers struct {
	groups  [128][]byte
	records int
	bytes   int
}

func (p *buffers) Add(group stream.KeyGroup, key, value []byte) {
	b := binary.AppendUvarint(p.groups[group], uint64(len(key)))
	b = binary.AppendUvarint(append(b, key...), uint64(len(value)))
	p.groups[group] = append(b, value...)
	p.records++
	p.bytes += len(key) + len(value)
}

func (p *buffers) Delete(group stream.KeyGroup, key []byte) { p.Add(group, key, nil) }

func (p *buffers) reset() {
	for i := range p.groups {
		p.groups[i] = p.groups[i][:0]
	}
}

// BenchmarkKeyedSum adds to sums of random keys: without snapshots, and with one
// after each 5 million records.
func BenchmarkKeyedSum(b *testing.B) {
	for name, every := range map[string]int{"plain": 0, "snapshots": 5_000_000} {
		b.Run(name, func(b *testing.B) {
			s, r := newSums(b), rand.New(rand.NewPCG(1, 2))
			out := &buffers{}
			s.Flip()
			s.Slice(benchKeys, out)
			n, longest := 0, time.Duration(0)
			b.ReportAllocs()
			b.ResetTimer()
			for ; n < b.N; n++ {
				if every > 0 && n%benchBatch == 0 {
					start := time.Now()
					if s.Slice(benchSlice, out) && n/every > (n-benchBatch)/every {
						out.reset()
						s.Flip()
					}
					longest = max(longest, time.Since(start))
				}
				s.add(r.IntN(benchKeys))
			}
			b.ReportMetric(float64(longest.Microseconds()), "longest-µs")
		})
	}
}

// BenchmarkWindows makes, fires and cleans windows of a thousand keys, each with
// ten records.
func BenchmarkWindows(b *testing.B) {
	s := newSums(b)
	at, n := int64(0), 0
	for b.Loop() {
		at += 10
		for _, k := range s.keys[:1000] {
			r := s.Entry(k.Hash(), k, state.Namespace{Start: at, End: at + 10})
			s.Hold(r, 0)
			clear(s.Edit(r, 0))
			s.SetTimer(state.EventTimer, at+9, r)
			for range 10 {
				s.SetTimer(state.EventTimer, at+9, r)
				s.Edit(r, 0)[0]++
			}
		}
		for {
			_, r, ok := s.PopTimer(state.EventTimer, at+9)
			if !ok {
				break
			}
			s.Clear(r, 0)
			n++
		}
		s.Release()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/window")
}

// BenchmarkSlice writes snapshots of all of a million entries, and of one in a
// hundred.
func BenchmarkSlice(b *testing.B) {
	for name, step := range map[string]int{"all": 1, "some": 100} {
		b.Run(name, func(b *testing.B) {
			s, out := newSums(b), &buffers{}
			s.Flip()
			s.Slice(benchKeys, out)
			longest, records := time.Duration(0), 0
			for b.Loop() {
				b.StopTimer()
				for i := 0; i < benchKeys; i += step {
					s.add(i)
				}
				out.reset()
				out.records, out.bytes = 0, 0
				b.StartTimer()
				s.Flip()
				for done := false; !done; {
					start := time.Now()
					done = s.Slice(benchSlice, out)
					longest = max(longest, time.Since(start))
				}
				records += out.records
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(records), "ns/record")
			b.ReportMetric(float64(out.bytes)/float64(out.records), "B/record")
			b.ReportMetric(float64(longest.Microseconds()), "longest-µs")
		})
	}
}

// BenchmarkEverything makes a million entries part of the next snapshot.
func BenchmarkEverything(b *testing.B) {
	s := newSums(b)
	for b.Loop() {
		s.Everything()
	}
}

// BenchmarkRestore restores a million entries, with and without a window's timer,
// from bytes in the order of key groups.
func BenchmarkRestore(b *testing.B) {
	for _, timer := range []bool{false, true} {
		b.Run(map[bool]string{false: "plain", true: "timer"}[timer], func(b *testing.B) {
			s, out := newSums(b), &buffers{}
			if timer {
				for i, k := range s.keys {
					s.SetTimer(state.EventTimer, int64(i%10), s.Entry(k.Hash(), k, state.Namespace{}))
				}
			}
			s.Flip()
			s.Slice(benchKeys, out)
			for b.Loop() {
				m := state.NewMemory(128, 16)
				m.Grow(benchKeys)
				out.each(func(key, value []byte) {
					if err := m.Restore(key, value); err != nil {
						b.Fatal(err)
					}
				})
				if err := m.Restored(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchKeys), "ns/entry")
		})
	}
}

func (p *buffers) each(f func(key, value []byte)) {
	for _, rest := range p.groups {
		for len(rest) > 0 {
			var parts [2][]byte
			for i := range parts {
				n, size := binary.Uvarint(rest)
				parts[i], rest = rest[size:size+int(n)], rest[size+int(n):]
			}
			f(parts[0], parts[1])
		}
	}
}

// BenchmarkManyTimers sets timers of 10 thousand keys that wait long, and takes those out
// that are due: some 37 of a key wait, and 92 are of one time.
func BenchmarkManyTimers(b *testing.B) {
	const keys, perTime, wait = 10_000, 92, 4000
	m, random := state.NewMemory(128, 16), rand.New(rand.NewPCG(1, 2))
	var refs [keys]state.Ref
	for i := range refs {
		w := stream.NewRowWriter(longKey)
		w.BeginIn(nil, stream.Insert)
		w.SetInt64(0, int64(i))
		k := stream.Row(w.Buffer())
		refs[i] = m.Entry(k.Hash(), k, state.Namespace{})
		m.Hold(refs[i], 0)
	}
	at := int64(0)
	step := func() {
		at++
		for range perTime {
			m.SetTimer(state.EventTimer, at+wait, refs[random.IntN(keys)])
		}
		for {
			if _, _, ok := m.PopTimer(state.EventTimer, at); !ok {
				return
			}
		}
	}
	for range 2 * wait {
		step()
	}
	before := userTime(b)
	for b.Loop() {
		step()
	}
	b.ReportMetric(float64((userTime(b)-before).Nanoseconds())/float64(b.N)/perTime, "user-ns/timer")
}

// userTime is the processor time of this process: others on the machine change it less.
func userTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano())
}
