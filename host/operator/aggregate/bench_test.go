package aggregate_test

import (
	"testing"

	"github.com/wasmstream/wasmstream/host/operator/aggregate"
	"github.com/wasmstream/wasmstream/host/stream"
)

// BenchmarkAdd is what the hourly-delays job does with each record.
func BenchmarkAdd(b *testing.B) {
	in := schemaOf(stream.Int)
	f, err := aggregate.New(in, []aggregate.Call{
		{Name: "flights", Kind: aggregate.Count}, {Name: "sum", Kind: aggregate.Sum}, {Name: "max", Kind: aggregate.Max},
	})
	if err != nil {
		b.Fatal(err)
	}
	var rows []stream.Row
	seed := uint32(1)
	for range 1024 {
		seed = seed*1664525 + 1013904223
		rows = append(rows, row(in, int(seed>>8%160)-20))
	}
	acc := newAcc(f)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if n&255 == 0 {
			f.Create(acc)
		}
		if _, err := f.Add(acc, rows[n&1023]); err != nil {
			b.Fatal(err)
		}
		n++
	}
}
