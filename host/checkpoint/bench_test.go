package checkpoint_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/checkpoint/folder"
	"github.com/wasmstream/wasmstream/host/stream"
)

// row is a key as rows are: 8 bytes of header, 8 of a number.
func row(n uint64) []byte { return binary.LittleEndian.AppendUint64(make([]byte, 8), n) }

func million(d *checkpoint.Delta, n int, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	value := make([]byte, 24)
	for range n {
		k := r.Uint64N(1_000_000)
		d.Add(stream.KeyGroup(k*7919%128), row(k), value)
	}
}

func BenchmarkDeltaAdd(b *testing.B) {
	var d checkpoint.Delta
	key, value := row(1), make([]byte, 24)
	for i := range b.N {
		if i%1_000_000 == 0 {
			d.Reset()
		}
		binary.LittleEndian.PutUint64(key[8:], uint64(i))
		d.Add(stream.KeyGroup(i&127), key, value)
	}
}

// BenchmarkDeltaWrite writes a million records in random order, and tells the longest time between two calls of yield.
func BenchmarkDeltaWrite(b *testing.B) {
	var d checkpoint.Delta
	million(&d, 1_000_000, 1)
	b.ReportAllocs()
	var pieces []time.Duration
	for b.Loop() {
		last := time.Now()
		summary, err := d.Write(io.Discard, func() {
			now := time.Now()
			pieces = append(pieces, now.Sub(last))
			last = now
		})
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(summary.Bytes)
	}
	slices.Sort(pieces)
	b.ReportMetric(float64(pieces[len(pieces)*99/100].Microseconds()), "p99-µs/piece")
	b.ReportMetric(float64(pieces[len(pieces)-1].Microseconds()), "max-µs/piece")
}

// base and deltas as a job with a million keys has them: 1 % changes between two checkpoints.
func baseAndDeltas(b *testing.B, deltas int) []*checkpoint.File {
	var files []*checkpoint.File
	for i := range 1 + deltas {
		var d checkpoint.Delta
		if i == 0 {
			for k := range uint64(1_000_000) {
				d.Add(stream.KeyGroup(k*7919%128), row(k), make([]byte, 24))
			}
		} else {
			million(&d, 10_000, uint64(i))
		}
		bytes, _ := write(b, &d)
		files = append(files, openBytes(b, bytes))
	}
	return files
}

func BenchmarkLoad(b *testing.B) {
	for _, deltas := range []int{0, 8} {
		files := baseAndDeltas(b, deltas)
		b.Run([]string{"base", "base+8deltas"}[deltas/8], func(b *testing.B) {
			n := 0
			for b.Loop() {
				for g := range stream.KeyGroup(128) {
					if err := checkpoint.Load(files, checkpoint.Groups{From: g, To: g + 1}, func(key, value []byte) error { n++; return nil }); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mentries/s")
		})
	}
}

func BenchmarkMerge(b *testing.B) {
	files := baseAndDeltas(b, 8)
	for b.Loop() {
		summary, err := checkpoint.Merge(io.Discard, files, checkpoint.MergeOptions{Groups: checkpoint.AllGroups})
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(summary.Bytes)
	}
}

func BenchmarkVerify(b *testing.B) {
	var d checkpoint.Delta
	for i := range uint64(60) {
		d.Add(stream.KeyGroup(i), row(i), bytes.Repeat([]byte{1}, 1_000_000))
	}
	raw, _ := write(b, &d)
	f := openBytes(b, raw)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if err := f.Verify(nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRecover finds a checkpoint of a million keys and reads it, from files that the system has in memory: first all
// is verified, then all is loaded, which checks again. It also tells how long it took to write and sync.
func BenchmarkRecover(b *testing.B) {
	store, err := folder.Open(folder.OS{}, b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	m := &checkpoint.Manifest{History: 1, Epoch: 9, MaxParallelism: 128, Steps: []checkpoint.Step{{Name: "s"}}}
	var bytes int64
	began := time.Now()
	for i := range int64(9) {
		var d checkpoint.Delta
		kind := checkpoint.KindDelta
		if i == 0 {
			kind = checkpoint.KindBase
			for k := range uint64(1_000_000) {
				d.Add(stream.KeyGroup(k*7919%128), row(k), make([]byte, 40))
			}
		} else {
			million(&d, 10_000, uint64(i))
		}
		name := checkpoint.FileName(1, i+1, "s", 0, kind)
		var summary checkpoint.FileSummary
		err := store.Put(name, func(w io.Writer) (err error) {
			summary, err = d.Write(w, nil)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
		bytes += summary.Bytes
		m.Steps[0].Files = append(m.Steps[0].Files, checkpoint.Ref(name, summary, i+1, checkpoint.Groups{To: 128}))
	}
	if err := checkpoint.PutManifest(store, m); err != nil {
		b.Fatal(err)
	}
	b.Logf("%d MB written in %s", bytes/1e6, time.Since(began))
	b.SetBytes(bytes)
	var verify time.Duration
	for b.Loop() {
		began := time.Now()
		r, err := checkpoint.Recover(store)
		if err != nil {
			b.Fatal(err)
		}
		verify += time.Since(began)
		files, err := checkpoint.OpenRefs(store, r.Manifest.Steps[0].Files)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for g := range stream.KeyGroup(128) {
			if err := checkpoint.Load(files, checkpoint.Groups{From: g, To: g + 1}, func(key, value []byte) error { n++; return nil }); err != nil {
				b.Fatal(err)
			}
		}
		if n != 1_000_000 {
			b.Fatalf("%d keys", n)
		}
		if err := checkpoint.CloseAll(files); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(verify.Milliseconds())/float64(b.N), "verify-ms")
}
