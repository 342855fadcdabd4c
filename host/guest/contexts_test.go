package guest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
	"github.com/wasmstream/wasmstream/host/sandbox"
	"github.com/wasmstream/wasmstream/host/stream"
)

// TestContexts: ops of one frame see their own context, list, key and second row, in
// whatever frames they are.
func TestContexts(t *testing.T) {
	number := oneNumber.Column(0)
	show := func(r stream.Row) string {
		if r == nil {
			return "-"
		}
		return fmt.Sprint(number.Int64(r))
	}
	var got []string
	look := func(o *guesttest.Op) {
		start, end := o.Window()
		line := fmt.Sprintf("%s %s: %d %d %d key %s detail %d [%d,%d)", o.Kind, show(o.Row), o.Time(), o.Watermark(), o.Clock(), show(o.Key()), o.Detail(), start, end)
		for i := range o.Len() {
			time, r, input := o.Element(i)
			line += fmt.Sprintf(" %d/%s/%d", time, show(r), input)
		}
		got = append(got, line)
	}
	for opsMax := 1; opsMax <= 4; opsMax++ {
		got = nil
		g := &guesttest.Instance{Functions: []guesttest.Function{look}}
		c := guest.NewCaller(g, guest.Options{Role: abi.RoleApply, OpsMax: opsMax}, newBook(0, 0))
		for i := range 4 {
			key := c.WholeRow(row(oneNumber, 100+i))
			r := guest.NoRow()
			if i == 2 {
				r = c.WholeRow(row(oneNumber, 7))
			}
			for n := range i {
				c.Element(guest.Element{Time: int64(10*i + n), Row: c.WholeRow(row(oneNumber, 10*i+n)), Input: uint32(n % 2)})
			}
			c.Add(abi.OpOnWindow, guest.NoGroup, r, &guest.Context{Time: int64(i), Watermark: -5, Clock: 6, Key: key, Detail: uint32(i), Start: int64(-i), End: 1000, Second: guest.NoRow()})
			if c.Due() {
				if err := c.Perform(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := c.Perform(); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"on-window -: 0 -5 6 key 100 detail 0 [0,1000)",
			"on-window -: 1 -5 6 key 101 detail 1 [-1,1000) 10/10/0",
			"on-window 7: 2 -5 6 key 102 detail 2 [-2,1000) 20/20/0 21/21/1",
			"on-window -: 3 -5 6 key 103 detail 3 [-3,1000) 30/30/0 31/31/1 32/32/0",
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d ops a frame: got %q", opsMax, got)
		}
		if g.Calls != (4+opsMax-1)/opsMax {
			t.Errorf("%d ops a frame: %d calls", opsMax, g.Calls)
		}
	}
}

// TestMergedSlots: on-merge finds the states of the windows that were merged, before
// and after them, also where frames are halved.
func TestMergedSlots(t *testing.T) {
	number := oneNumber.Column(0)
	for _, slots := range [][]*stream.Schema{{oneNumber}, {schema("BIGINT,STRING")}, {oneNumber, schema("STRING")}} {
		for _, fails := range []bool{false, true} {
			take := func(o *guesttest.Op) {
				sum := int64(0)
				for i := range o.Len() {
					if s := o.StateAt(o.Merged(i)); s != nil {
						sum += number.Int64(s)
					}
				}
				o.SetState(0, row(slots[0], sum, nil)[:])
				if fails && o.Time() == 2 {
					o.Fail("not now")
				}
			}
			b := newBook(8, len(slots))
			for g := range 4 {
				b.slots[g*len(slots)] = row(slots[0], 1<<g, nil)
			}
			c := guest.NewCaller(&guesttest.Instance{Functions: []guesttest.Function{take}}, guest.Options{Role: abi.RoleTrigger, Slots: slots}, b)
			merge := func(time int64, into uint32, from ...uint32) {
				for _, g := range from {
					c.Merged(g)
				}
				c.Add(abi.OpOnMerge, into, guest.NoRow(), &guest.Context{Time: time, Key: guest.NoRow(), Second: guest.NoRow()})
			}
			merge(1, 4, 0, 1)
			merge(2, 7, 0, 1, 2, 3)
			merge(3, 5, 2, 4, 6) // 6 holds nothing
			if err := c.Perform(); err != nil {
				t.Fatal(err)
			}
			for g, want := range map[int]int64{4: 3, 5: 4 + 3} {
				if got := number.Int64(b.slots[g*len(slots)]); got != want {
					t.Errorf("%d slots, fails %t: %d holds %d, want %d", len(slots), fails, g, got, want)
				}
			}
			if isSet := len(b.slots[7*len(slots)]) > 0; isSet == fails {
				t.Errorf("%d slots: the op fails: %t, and its slot is set: %t", len(slots), fails, isSet)
			}
		}
	}
}

// TestOpen: parameters and schemas arrive; answers are read, or refused.
func TestOpen(t *testing.T) {
	number := oneNumber.Column(0)
	for name, c := range map[string]struct {
		schemas string
		f       guesttest.Function
		want    map[uint32]string
		fault   string
	}{
		"nothing": {"", func(o *guesttest.Op) {
			if o.Kind != abi.OpOpen || o.Slot != abi.NoSlot || o.Arg != 0 || number.Int64(o.Row) != 42 {
				panic("not the opening")
			}
		}, map[uint32]string{}, ""},
		"schemas": {"12345678", func(o *guesttest.Op) {
			o.Effect(abi.EffectSchema, 0, o.Frame().Bytes[o.Arg:][:8])
			o.Effect(abi.EffectSchema, 2, []byte("x"))
		}, map[uint32]string{0: "12345678", 2: "x"}, ""},
		"not asked":    {"", func(o *guesttest.Op) { o.Effect(abi.EffectSchema, 0, nil) }, nil, "schema"},
		"twice":        {"12345678", func(o *guesttest.Op) { o.Effect(abi.EffectSchema, 0, nil); o.Effect(abi.EffectSchema, 0, nil) }, nil, "two schemas"},
		"another kind": {"12345678", func(o *guesttest.Op) { o.Effect(abi.EffectKeep, 0, nil) }, nil, "keep"},
		"malformed":    {"", func(o *guesttest.Op) { o.Effect(999, 0, nil) }, nil, "999"},
		"failed":       {"", func(o *guesttest.Op) { o.Fail("no such parameter") }, nil, "no such parameter"},
	} {
		caller := guest.NewCaller(&guesttest.Instance{Functions: []guesttest.Function{c.f}}, guest.Options{Role: abi.RoleMap}, newBook(0, 0))
		got, err := caller.Open(row(oneNumber, 42), []byte(c.schemas))
		switch {
		case c.fault == "" && (err != nil || fmt.Sprint(got) != fmt.Sprint(c.want)):
			t.Errorf("%s: %v, %v", name, got, err)
		case c.fault != "" && (guest.KindOf(err) == 0 || !strings.Contains(err.Error(), c.fault)):
			t.Errorf("%s: %v, want a fault with %q", name, err, c.fault)
		}
	}
}

// TestErrorsOfOurs: what the role answers ends it, and is no fault of the guest.
func TestErrorsOfOurs(t *testing.T) {
	g := &guesttest.Instance{Functions: []guesttest.Function{func(o *guesttest.Op) {
		if o.Kind == abi.OpOnRecord {
			o.Fail("no")
		}
	}}}
	b := newBook(0, 0)
	b.failAt = errors.New("the policy is to fail")
	c := guest.NewCaller(g, guest.Options{Role: abi.RoleFilter}, b)
	if _, err := c.Open(nil, nil); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		c.Add(abi.OpOnRecord, guest.NoGroup, guest.NoRow(), &guest.Context{})
	}
	if err := c.Perform(); !errors.Is(err, b.failAt) || len(b.faults) != 1 || b.faults[0] != abi.FaultFailed {
		t.Errorf("%v, faults %v", err, b.faults)
	}
	if c.Len() != 0 || g.Opens != 1+g.Rebuilds {
		t.Errorf("%d ops are left; opened %d times with %d rebuilds", c.Len(), g.Opens, g.Rebuilds)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	c.Add(abi.OpOnRecord, guest.NoGroup, guest.NoRow(), &guest.Context{})
	var dead *sandbox.DeadError
	if err := c.Perform(); !errors.As(err, &dead) || len(b.faults) != 1 {
		t.Errorf("a guest that is gone: %v, faults %v", err, b.faults)
	}
}

// TestNaNsAreOne: of rows and slots, whatever bits the guest gave them.
func TestNaNsAreOne(t *testing.T) {
	double := schema("DOUBLE,FLOAT")
	for _, slots := range [][]*stream.Schema{{double}, {schema("DOUBLE,FLOAT,STRING")}} {
		nan := row(slots[0], nil, nil, nil)
		for i := 8; i < 20; i++ {
			nan[i] = 0xff
		}
		nan[1] = 0
		if slots[0].Len() == 3 {
			nan[1] = 4
		}
		g := &guesttest.Instance{Functions: []guesttest.Function{func(o *guesttest.Op) {
			o.SetState(0, nan)
			o.Emit(0, nan)
		}}}
		b := newBook(1, 1)
		c := guest.NewCaller(g, guest.Options{Role: abi.RoleProcess, Outputs: slots, Slots: slots}, b)
		c.Add(abi.OpOnRecord, 0, guest.NoRow(), &guest.Context{Key: guest.NoRow(), Second: guest.NoRow()})
		if err := c.Perform(); err != nil {
			t.Fatal(err)
		}
		const want = "000000000000f87f0000c07f00000000"
		if got := fmt.Sprintf("%x", b.slots[0][8:24]); got != want || len(b.lines[0]) != 1 || !strings.Contains(b.lines[0][0], want) {
			t.Errorf("the slot has %s, put out is %q", got, b.lines[0])
		}
	}
}

// costly is an instance whose ops cost fuel.
type costly struct {
	guesttest.Instance
	perOp  int64
	ops    int
	frames []int
}

func (c *costly) Ops(n int)   { c.ops = n; c.frames = append(c.frames, n) }
func (c *costly) Fuel() int64 { return c.perOp * int64(c.ops) }

// TestFramesByFuel: ops that cost more are fewer in a frame, so that it takes about a
// millisecond, however slots are answered.
func TestFramesByFuel(t *testing.T) {
	for _, written := range []bool{false, true} {
		t.Run(fmt.Sprintf("written=%t", written), func(t *testing.T) { framesByFuel(t, written) })
	}
}

func framesByFuel(t *testing.T, written bool) {
	for perOp, want := range map[int64]int{0: 1000, 1: 1000, 1999: 1000, 20_000: 100, 400_000: 5, 50_000_000: 1} {
		g := &costly{perOp: perOp}
		g.Functions = []guesttest.Function{func(*guesttest.Op) {}}
		c := guest.NewCaller(g, guest.Options{Role: abi.RoleFilter, OpsMax: 1000, Written: written}, newBook(0, 0))
		for range 4000 {
			c.Add(abi.OpOnRecord, guest.NoGroup, guest.NoRow(), &guest.Context{})
			if c.Due() {
				if err := c.Perform(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := g.frames[len(g.frames)-1]; g.frames[0] != 1000 || got != want {
			t.Errorf("ops of %d: frames of %d, the first of %d; want %d", perOp, got, g.frames[0], want)
		}
	}
}

// brittle is an instance that cannot be made again.
type brittle struct{ *guesttest.Instance }

func (brittle) Rebuild() error { return errors.New("no memory") }

// TestOpenAgain: a function that cannot be opened after a fault ends the asking, and that
// is what is told.
func TestOpenAgain(t *testing.T) {
	g := brittle{&guesttest.Instance{Functions: []guesttest.Function{func(o *guesttest.Op) { o.Fail("once") }}}}
	c := guest.NewCaller(g, guest.Options{Role: abi.RoleFilter}, newBook(0, 0))
	c.Add(abi.OpOnRecord, guest.NoGroup, c.WholeRow(row(oneNumber, 1)), &guest.Context{Key: guest.NoRow(), Second: guest.NoRow()})
	err := c.Perform()
	var opening *guest.OpenError
	if !errors.As(err, &opening) || !opening.Again || err.Error() != "opening it again after a fault: no memory" {
		t.Errorf("got %v", err)
	}
}
