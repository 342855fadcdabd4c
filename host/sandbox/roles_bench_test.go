package sandbox

import (
	"testing"
	"time"

	"github.com/wasmstream/wasmstream/abi"
)

// The frames of BenchmarkRoles: so many ops on so many slots of so many bytes.
const rolesOps, rolesSlots, rolesStride = 256, 64, 24

// BenchmarkRoles is 256 ops of a function of udfs/roles in a frame that is there already.
func BenchmarkRoles(b *testing.B) {
	for _, f := range []struct {
		name     string
		function uint32
		kind     abi.OpKind
	}{
		{"map", 0, abi.OpOnRecord}, {"filter", 1, abi.OpOnRecord}, {"aggregate", 5, abi.OpAdd}, {"assigner", 9, abi.OpAssign},
		{"trigger", 11, abi.OpOnElement}, {"process", 13, abi.OpOnRecord},
	} {
		frame := rolesFrame(f.kind)
		for _, language := range []string{"c", "go", "rust"} {
			b.Run(f.name+"/"+language, func(b *testing.B) {
				open := func(wasm []byte, o Options) *guest { return openRole(b, wasm, f.function, o) }
				ns := benchmarkMeters(b, guestBytes(b, "roles-"+language+".wasm"), open, func(g *guest) time.Duration {
					return callRole(b, g, f.function, frame)
				})
				b.ReportMetric(ns/rolesRepeats/rolesOps, "least-ns/op-of-frame")
			})
		}
	}
}

// rolesFrame is a frame of ops of a kind, all about one row.
func rolesFrame(kind abi.OpKind) []byte {
	row := []byte("\x00\x00\x00\x00\x00\x00\x00\x00\x09\x00\x00\x00\x18\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00user 1234\x00\x00\x00\x00\x00\x00\x00")
	h := abi.Layout(rolesOps, rolesSlots, rolesStride, len(row), abi.ContextWindowBytes)
	frame := make([]byte, h.Total)
	abi.PutHeader(frame, h)
	copy(frame[h.RowsOffset:], row)
	for i := range rolesOps {
		abi.PutOp(frame, int(h.OpsOffset)+i*abi.OpBytes, abi.Op{Kind: kind, Slot: uint32(i % rolesSlots), Row: h.RowsOffset, Arg: h.ContextsOffset})
	}
	return frame
}

// openRole makes a guest of udfs/roles and opens a function of it.
func openRole(b *testing.B, wasm []byte, function uint32, o Options) *guest {
	g := instantiate(b, load(b, o, wasm))
	parameter := make([]byte, 16)
	parameter[8] = 100
	h := abi.Layout(1, 0, rolesStride, len(parameter), 0)
	open := make([]byte, h.Total)
	abi.PutHeader(open, h)
	abi.PutOp(open, int(h.OpsOffset), abi.Op{Kind: abi.OpOpen, Slot: abi.NoSlot, Row: h.RowsOffset})
	copy(open[h.RowsOffset:], parameter)
	if _, err := g.Open(function, open); err != nil {
		b.Fatal(err)
	}
	return g
}

// rolesRepeats is how often a frame is performed in a measured call: the clock's steps are a twentieth of some frames.
const rolesRepeats = 16

// callRole has a frame performed so often, and says how long that took.
func callRole(b *testing.B, g *guest, function uint32, frame []byte) time.Duration {
	room, pointer, err := g.In(len(frame))
	if err != nil {
		b.Fatal(err)
	}
	copy(room, frame)
	start := time.Now()
	for range rolesRepeats {
		if _, _, err = g.In(len(frame)); err == nil {
			_, err = g.Call(function, pointer, len(frame))
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}
