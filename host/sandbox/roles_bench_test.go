package sandbox

import (
	"math"
	"testing"
	"time"

	"github.com/wasmstream/wasmstream/abi"
)

// BenchmarkRoles is 256 ops of a function of udfs/roles in a frame that is there already, with 64 slots of 24 bytes. least is
// the quickest call's, which others on the machine change little.
func BenchmarkRoles(b *testing.B) {
	const ops, slots, stride = 256, 64, 24
	row := []byte("\x00\x00\x00\x00\x00\x00\x00\x00\x09\x00\x00\x00\x18\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00user 1234\x00\x00\x00\x00\x00\x00\x00")
	h := abi.Layout(ops, slots, stride, len(row), abi.ContextWindowBytes)
	for _, f := range []struct {
		name     string
		function uint32
		kind     abi.OpKind
	}{
		{"map", 0, abi.OpOnRecord}, {"filter", 1, abi.OpOnRecord}, {"aggregate", 5, abi.OpAdd}, {"assigner", 9, abi.OpAssign},
		{"trigger", 11, abi.OpOnElement}, {"process", 13, abi.OpOnRecord},
	} {
		for _, language := range []string{"c", "go", "rust"} {
			b.Run(f.name+"/"+language, func(b *testing.B) {
				g := instantiate(b, load(b, Options{CacheDir: sharedCache}, guestBytes(b, "roles-"+language+".wasm")))
				parameter := make([]byte, 16)
				parameter[8] = 100
				oh := abi.Layout(1, 0, stride, len(parameter), 0)
				open := make([]byte, oh.Total)
				abi.PutHeader(open, oh)
				abi.PutOp(open, int(oh.OpsOffset), abi.Op{Kind: abi.OpOpen, Slot: abi.NoSlot, Row: oh.RowsOffset})
				copy(open[oh.RowsOffset:], parameter)
				if _, err := g.Open(f.function, open); err != nil {
					b.Fatal(err)
				}
				frame := make([]byte, h.Total)
				abi.PutHeader(frame, h)
				copy(frame[h.RowsOffset:], row)
				for i := range ops {
					abi.PutOp(frame, int(h.OpsOffset)+i*abi.OpBytes, abi.Op{Kind: f.kind, Slot: uint32(i % slots), Row: h.RowsOffset, Arg: h.ContextsOffset})
				}
				b.ReportAllocs()
				least := time.Duration(math.MaxInt64)
				for b.Loop() {
					room, pointer, err := g.In(len(frame))
					if err == nil {
						copy(room, frame)
						start := time.Now()
						_, err = g.Call(f.function, pointer, len(frame))
						least = min(least, time.Since(start))
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(least)/ops, "least-ns/op-of-frame")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*ops), "ns/op-of-frame")
			})
		}
	}
}
