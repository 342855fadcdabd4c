package guest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
	"github.com/wasmstream/wasmstream/host/stream"
)

// sieve is a role that does without elements, and writes down which.
type sieve struct {
	*book
	left map[int][]int
}

func (s *sieve) Sifted(op, n int, err error) error {
	if guest.KindOf(err) != abi.FaultFailed {
		return fmt.Errorf("element %d of op %d: %w", n, op, err)
	}
	s.left[op] = append(s.left[op], n)
	return nil
}

// added is a window function: the sum of its elements, and how often it was asked before. It
// fails on a negative number, and on a sum over 1000.
func added(t *testing.T, opKey int64) guesttest.Function {
	number := oneNumber.Column(0)
	return func(o *guesttest.Op) {
		if key := number.Int64(o.Key()); key < opKey || key > opKey+10 {
			t.Errorf("the key is %d", key)
		}
		sum, before := int64(0), int64(0)
		if s := o.State(0); s != nil {
			before = number.Int64(s)
		}
		o.SetState(0, row(oneNumber, before+1)) // undone where it fails, or is only asked for a part
		for i := range o.Len() {
			time, r, input := o.Element(i)
			n := number.Int64(r)
			if time != n+1 || input != uint32(n&1) {
				t.Errorf("element %d has the time %d and the input %d", n, time, input)
			}
			if sum += n; n < 0 {
				o.Fail("negative")
			}
		}
		if sum > 1000 {
			o.Fail("too much")
		}
		o.Emit(0, row(threeNumbers, number.Int64(o.Key()), before, sum))
	}
}

var threeNumbers = schema("BIGINT,BIGINT,BIGINT")

// TestSift: elements that a function fails on alone are left out, and what it says of the
// others is as if they had never been there, whatever else is in the frame. An op of which
// no element is to blame fails as it is.
func TestSift(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		b := &sieve{newBook(1, 1), map[int][]int{}}
		b.show = func(e abi.Effect) string {
			r := stream.Row(e.Payload)
			key, before, sum := threeNumbers.Column(0), threeNumbers.Column(1), threeNumbers.Column(2)
			return fmt.Sprint(key.Int64(r), before.Int64(r), sum.Int64(r))
		}
		g := &guesttest.Instance{Functions: []guesttest.Function{added(t, 5000)}}
		c := guest.NewCaller(g, guest.Options{
			Role: abi.RoleApply, Outputs: []*stream.Schema{threeNumbers}, Slots: []*stream.Schema{oneNumber}, OpsMax: 1 + random.IntN(8), Written: seed%2 == 0,
		}, b)
		lines, left, faults, sound := map[int][]string{}, map[int][]int{}, map[int]abi.FaultKind{}, int64(0)
		for op := range 8 {
			bad, large, sum := random.IntN(3), int64(1+random.IntN(40)), int64(0)
			rest := 0
			element := func(i int) {
				n := random.Int64N(20 * large)
				if random.IntN(4) < bad {
					n = -1 - n
				}
				if n < 0 {
					left[op] = append(left[op], i)
				} else {
					sum += n
					rest++
				}
				c.Element(guest.Element{Time: n + 1, Row: c.WholeRow(row(oneNumber, n)), Input: uint32(n & 1)})
			}
			early, key := random.IntN(2) == 0, uint32(0)
			if early {
				key = c.WholeRow(row(oneNumber, 5000+op))
			}
			elements := random.IntN(20)
			for i := range elements {
				element(i)
			}
			if !early {
				key = c.WholeRow(row(oneNumber, 5000+op))
			}
			c.Add(abi.OpOnWindow, 0, guest.NoRow(), &guest.Context{Key: key, End: 1, Second: guest.NoRow()})
			switch {
			case rest == 0 && elements > 0: // nobody has asked
			case sum > 1000:
				faults[op] = abi.FaultFailed
			default:
				lines[op] = []string{fmt.Sprint(5000+op, sound, sum)}
				sound++
			}
		}
		if err := c.Perform(); err != nil {
			t.Fatal(err)
		}
		for op := range 8 {
			if !slices.Equal(b.lines[op], lines[op]) || !slices.Equal(b.left[op], left[op]) || b.faults[op] != faults[op] {
				t.Fatalf("seed %d, op %d: answered %q, left out %v, fault %v; want %q, %v, %v", seed, op, b.lines[op], b.left[op], b.faults[op], lines[op], left[op], faults[op])
			}
		}
		if want := 8 - len(faults); len(b.done) != want || !slices.IsSorted(b.done) {
			t.Fatalf("seed %d: %v are done, want %d", seed, b.done, want)
		}
	}
}

// TestSiftedAtMost: of a list that it fails on in any case a bounded number of elements is
// asked about.
func TestSiftedAtMost(t *testing.T) {
	b := &sieve{newBook(0, 0), map[int][]int{}}
	g := &guesttest.Instance{Functions: []guesttest.Function{func(o *guesttest.Op) { o.Fail("always") }}}
	for _, kind := range []abi.OpKind{abi.OpOnWindow, abi.OpEvict} {
		role, want := abi.RoleApply, 1000
		if kind == abi.OpEvict {
			role, want = abi.RoleEvictor, 0 // it fails on no elements, too
		}
		b.left, g.Calls = map[int][]int{}, 0
		c := guest.NewCaller(g, guest.Options{Role: role}, b)
		for n := range 5000 {
			c.Element(guest.Element{Row: c.WholeRow(row(oneNumber, n))})
		}
		c.Add(kind, guest.NoGroup, guest.NoRow(), &guest.Context{Key: guest.NoRow(), End: 1, Second: guest.NoRow()})
		if err := c.Perform(); err != nil {
			t.Fatal(err)
		}
		if len(b.left[0]) != want || b.faults[0] != abi.FaultFailed || g.Calls > 2100 {
			t.Errorf("%s: %d are left out, the fault is %v, in %d calls", kind, len(b.left[0]), b.faults[0], g.Calls)
		}
	}
}
