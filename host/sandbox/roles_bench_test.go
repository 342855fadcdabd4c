package sandbox

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/wasmstream/wasmstream/abi"
)

// The frames of BenchmarkRoles: so many ops on so many slots of so many bytes.
const rolesOps, rolesSlots, rolesStride = 256, 64, 24

// BenchmarkRoles is 256 ops of a function of udfs/roles in a frame that is there already. least is the quickest call's,
// which others on the machine change little, and with/without-least what meters cost by it; with/without is the median, of calls in turn.
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
				guests := [2]*guest{openRole(b, language, f.function, Options{CacheDir: sharedCache}), openRole(b, language, f.function, Options{unmetered: true})}
				var ratios []float64
				least := [2]time.Duration{math.MaxInt64, math.MaxInt64}
				for n := 0; b.Loop(); n++ {
					var took [2]time.Duration
					for _, i := range [2]int{n % 2, 1 - n%2} {
						took[i] = callRole(b, guests[i], f.function, frame)
						least[i] = min(least[i], took[i])
					}
					ratios = append(ratios, float64(took[0])/float64(took[1]))
				}
				slices.Sort(ratios)
				b.ReportMetric(float64(least[0])/rolesOps, "least-ns/op-of-frame")
				b.ReportMetric(ratios[len(ratios)/2], "with/without")
				b.ReportMetric(float64(least[0])/float64(least[1]), "with/without-least")
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
func openRole(b *testing.B, language string, function uint32, o Options) *guest {
	g := instantiate(b, load(b, o, guestBytes(b, "roles-"+language+".wasm")))
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

// callRole has a frame performed, and says how long that took.
func callRole(b *testing.B, g *guest, function uint32, frame []byte) time.Duration {
	room, pointer, err := g.In(len(frame))
	if err != nil {
		b.Fatal(err)
	}
	copy(room, frame)
	start := time.Now()
	if _, err := g.Call(function, pointer, len(frame)); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}
