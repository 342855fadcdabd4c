package recording_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/recording"
	"github.com/wasmstream/wasmstream/host/sandbox"
)

// idle is a guest that does nothing with a frame that stays where it is.
type idle struct{ frame []byte }

func (i *idle) Open(uint32, []byte) ([]byte, error)      { return nil, nil }
func (i *idle) In(int) ([]byte, uint32, error)           { return i.frame, 8, nil }
func (i *idle) Call(uint32, uint32, int) ([]byte, error) { return nil, nil }
func (i *idle) Frame() []byte                            { return i.frame }
func (i *idle) Rebuild() error                           { return nil }
func (i *idle) Close() error                             { return nil }
func (i *idle) CallStates(sandbox.StateCalls)            {}

// BenchmarkCall is what recording costs a call with a frame of 256 ops.
func BenchmarkCall(b *testing.B) {
	h := abi.Layout(256, 0, 0, 256*40, 256*abi.ContextKeyedBytes)
	frame := make([]byte, h.Total)
	abi.PutHeader(frame, h)
	for i := range 256 {
		abi.PutOp(frame, int(h.OpsOffset)+i*abi.OpBytes, abi.Op{Kind: abi.OpOnRecord, Slot: abi.NoSlot, Row: h.RowsOffset, Arg: h.ContextsOffset})
	}
	key := make([]byte, 16)
	for _, c := range []struct {
		name string
		o    recording.Options
		key  []byte
	}{
		{"all", recording.Options{BytesMax: 1 << 40}, nil},
		{"sample 1-1000", recording.Options{BytesMax: 1 << 40, Sample: 1000}, nil},
		{"another key", recording.Options{BytesMax: 1 << 40}, append(key, 1)},
	} {
		b.Run(c.name, func(b *testing.B) {
			f, err := os.Create(filepath.Join(b.TempDir(), "calls.rec"))
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			w, err := recording.NewWriter(f, c.o, recording.Header{})
			if err != nil {
				b.Fatal(err)
			}
			i := w.Wrap(&idle{frame}, functionOf(counting), c.key)
			if _, err := i.Open(0, frameOf(abi.OpOpen)); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := i.Call(0, 8, len(frame)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
