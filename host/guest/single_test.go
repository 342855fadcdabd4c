package guest_test

import (
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
)

// TestAsManyEffectsAsOps: effects are those of the op that they name, also where there are as many of them as of ops.
func TestAsManyEffectsAsOps(t *testing.T) {
	number := oneNumber.Column(0)
	perform := func(o *guesttest.Op) {
		for i := range number.Int64(o.Row) {
			o.Assign(i, i+1)
		}
	}
	for _, counts := range [][]int{{1, 1, 1}, {2, 0, 1}, {0, 2, 1}, {0, 0, 3}, {3, 0, 0}, {0, 0, 0}, {1, 1, 2}} {
		b := newBook(0, 0)
		c := guest.NewCaller(&guesttest.Instance{Functions: []guesttest.Function{perform}}, guest.Options{Role: abi.RoleAssigner}, b)
		for _, n := range counts {
			c.Add(abi.OpAssign, guest.NoGroup, c.WholeRow(row(oneNumber, n)), &guest.Context{})
		}
		if err := c.Perform(); err != nil {
			t.Fatal(err)
		}
		for i, n := range counts {
			if got := len(b.lines[i]); got != n {
				t.Errorf("%v: op %d has %d effects", counts, i, got)
			}
		}
		if len(b.done) != len(counts) {
			t.Errorf("%v: %d ops are done", counts, len(b.done))
		}
	}
}
