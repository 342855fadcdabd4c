package guest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
	"github.com/wasmstream/wasmstream/host/stream"
)

// sums is an aggregate, of BIGINT or of their digits; it fails at the number 13.
func sums(accumulator *stream.Schema) guesttest.Function {
	in, number, text := schema("BIGINT"), accumulator.Column(0), accumulator.Column(0)
	value := in.Column(0)
	isText := !accumulator.IsFixedWidth()
	read := func(s stream.Row) int64 {
		if !isText {
			return number.Int64(s)
		}
		v, err := strconv.ParseInt(string(text.Bytes(s)), 10, 64)
		if err != nil {
			panic(err)
		}
		return v
	}
	write := func(o *guesttest.Op, v int64) {
		if isText {
			o.SetState(0, row(accumulator, fmt.Sprint(v)))
		} else {
			o.SetState(0, row(accumulator, v))
		}
	}
	return func(o *guesttest.Op) {
		switch o.Kind {
		case abi.OpCreate:
			if s := o.State(0); isText && s != nil || !isText && number.Int64(s) != 0 {
				panic("a new slot is not zero")
			}
			write(o, 0)
		case abi.OpAdd:
			v := value.Int64(o.Row)
			write(o, read(o.State(0))+v)
			if v == 13 {
				o.Fail("thirteen")
			}
		case abi.OpMerge:
			write(o, read(o.State(0))+read(o.StateAt(o.Arg)))
			// The second is the guest's to use up.
			first := o.Slot
			o.Slot = o.Arg
			write(o, -1<<40)
			o.Slot = first
		case abi.OpResult:
			o.Emit(0, row(in, read(o.State(0))))
		}
	}
}

// TestAggregateHistories: as TestHistories, with slots that are created anew in one
// frame, merged, and merged as copies.
func TestAggregateHistories(t *testing.T) {
	for seed := range uint64(1500) {
		random := rand.New(rand.NewPCG(seed, 2))
		accumulator := schema("BIGINT")
		if seed%2 == 1 {
			accumulator = schema("STRING")
		}
		in := schema("BIGINT")
		g := &guesttest.Instance{Functions: []guesttest.Function{sums(accumulator)}}
		if random.IntN(2) == 0 {
			g.FrameMax = 200 + random.IntN(1000)
		}
		b := newBook(6, 1)
		column := in.Column(0)
		b.show = func(e abi.Effect) string { return fmt.Sprint(column.Int64(e.Payload)) }
		c := guest.NewCaller(g, guest.Options{Role: abi.RoleAggregate, Outputs: []*stream.Schema{in}, Slots: []*stream.Schema{accumulator}}, b)
		if _, err := c.Open(nil, nil); err != nil {
			t.Fatal(err)
		}
		var want, got []string
		perform := func() {
			b.lines, b.done = map[int][]string{}, nil
			n := c.Len()
			if err := c.Perform(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for i := range n {
				got = append(got, b.lines[i]...)
			}
		}
		held := map[uint32]int64{}
		for range random.IntN(80) {
			r, s := uint32(random.IntN(6)), uint32(random.IntN(6))
			_, isHeld := held[r]
			_, both := held[s]
			switch what := random.IntN(10); {
			case !isHeld || what == 0:
				c.Add(abi.OpCreate, r, guest.NoRow(), nil)
				held[r] = 0
			case what < 6:
				v := random.Int64N(20)
				c.Add(abi.OpAdd, r, c.WholeRow(row(in, v)), nil)
				if v != 13 {
					held[r] += v
				}
			case what < 7 && both && r != s:
				c.AddMerge(r, s, false)
				held[r] += held[s]
				delete(held, s)
			case what < 8 && both && r != s:
				perform()
				c.Add(abi.OpCreate, r, guest.NoRow(), nil)
				c.AddMerge(r, s, true)
				c.AddMerge(r, s, true)
				held[r] = 2 * held[s]
			default:
				c.Add(abi.OpResult, r, guest.NoRow(), nil)
				want = append(want, fmt.Sprint(held[r]))
			}
		}
		perform()
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: results %v, want %v", seed, got, want)
		}
	}
}
