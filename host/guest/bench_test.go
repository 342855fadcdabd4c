package guest_test

import (
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
	"github.com/wasmstream/wasmstream/host/stream"
)

// idle is a role that keeps slots in place and does nothing.
type idle struct {
	slots []byte
	width int
	taken int
}

func (r *idle) Load(dst []byte, group uint32, _ int) []byte {
	return append(dst, r.slots[int(group)*r.width:][:r.width]...)
}

func (r *idle) Store(group uint32, _ int, row stream.Row) error {
	copy(r.slots[int(group)*r.width:][:r.width], row)
	return nil
}

func (r *idle) Take(int, abi.Effect) error { r.taken++; return nil }
func (r *idle) Done(int) error             { return nil }
func (r *idle) Fault(int, error) error     { return nil }

// keyedStep is a process function with one state, which emits a row for each record.
func keyedStep(tb testing.TB) func() {
	in := schema("BIGINT,STRING")
	emitted := row(oneNumber, 1)
	g := &guesttest.Instance{Functions: []guesttest.Function{func(o *guesttest.Op) {
		o.State(0)[8]++
		o.Emit(0, emitted)
	}}}
	const groups, records = 64, 256
	r := &idle{slots: make([]byte, groups*16), width: 16}
	c := guest.NewCaller(g, guest.Options{Role: abi.RoleProcess, Outputs: []*stream.Schema{oneNumber}, Slots: []*stream.Schema{oneNumber}}, r)
	p := stream.NewProjection(in, []int{0, 1})
	record, key := row(in, 1, "a longer text"), row(oneNumber, 1)
	ctx := guest.Context{Second: guest.NoRow()}
	return func() {
		for i := range records {
			at := c.Row(p, record)
			ctx.Time, ctx.Key = int64(i), c.WholeRow(key)
			c.Add(abi.OpOnRecord, uint32(i%groups), at, &ctx)
		}
		if err := c.Perform(); err != nil {
			tb.Fatal(err)
		}
	}
}

// TestCallAllocatesNothing holds invariant A.
func TestCallAllocatesNothing(t *testing.T) {
	step := keyedStep(t)
	step()
	if n := testing.AllocsPerRun(100, step); n > 0 {
		t.Errorf("%v allocations a call", n)
	}
}

// BenchmarkCall is what a record costs on its way through a frame, with a guest that
// does next to nothing.
func BenchmarkCall(b *testing.B) {
	step := keyedStep(b)
	b.ReportAllocs()
	for b.Loop() {
		step()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/record")
}
