package sandbox

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
)

// callTree adds functions that call the next one twice, and returns the first's index.
func callTree(b *builder, depth int) uint64 {
	first := len(b.imports) + len(b.funcs)
	for n := range depth {
		body := []byte{}
		if n < depth-1 {
			next := uleb(uint64(first + n + 1))
			body = code(opCall, next, opCall, next)
		}
		b.funcs = append(b.funcs, buildFunc{body: body})
	}
	return uint64(first)
}

// endless are bodies that do not end by themselves, or not soon.
func endless() map[string]builder {
	loop := guestThat(nil, code(opLoop, void, opBr, 0, opEnd, opUnreachable))
	outer := guestThat(nil, code(opBlock, void, opLoop, void, opBlock, void, opBr, 1, opEnd, opEnd, opEnd, effectsAt(0, 0)))
	tree := guestThat(nil, nil)
	tree.funcs[2].body = code(opCall, uleb(callTree(&tree, 40)), effectsAt(0, 0))
	fills := guestThat(nil, []byte{})
	fills.pages = []uint32{1000, 1000}
	fill := code(i32(0), i32(7), i32(1000*pageBytes), 0xfc, 11, 0)
	for range 200 {
		fills.funcs[2].body = append(fills.funcs[2].body, fill...)
	}
	fills.funcs[2].body = append(fills.funcs[2].body, effectsAt(0, 0)...)
	copies := guestThat(nil, code(opLoop, void, i32(0), i32(0), i32(1000*pageBytes), 0xfc, 10, 0, 0, opBr, 0, opEnd, opUnreachable))
	copies.pages = []uint32{1000, 1000}
	grows := guestThat(nil, code(opLoop, void, i32(1), opMemoryGrow, 0, opDrop, opBr, 0, opEnd, opUnreachable))
	indirect := guestThat(nil, code(opLoop, void, i32(0), opCallIndirect, 0, 0, opBr, 0, opEnd, opUnreachable))
	indirect.table, indirect.elements = []uint32{1, 1}, []uint32{0}
	random := guestThat(nil, code(opLoop, void, i32(0), i32(pageBytes), opCall, 0, opDrop, opBr, 0, opEnd, opUnreachable), "random_get")
	writes := guestThat(nil, code(opLoop, void, i32(1), i32(0), i32(100), i32(1024), opCall, 0, opDrop, opBr, 0, opEnd, opUnreachable), "fd_write")
	logs := guestThat(nil, code(opLoop, void, i32(1), i32(0), i32(4000), opCall, 0, opBr, 0, opEnd, opUnreachable), abi.ImportLog)
	return map[string]builder{"loop": loop, "outer label": outer, "call tree": tree, "fills": fills, "copies": copies, "grows": grows,
		"indirect": indirect, "random": random, "writes": writes, "logs": logs}
}

func TestEndlessCodeRunsOutOfFuel(t *testing.T) {
	for name, b := range endless() {
		t.Run(name, func(t *testing.T) {
			const fuel = 10_000_000
			g := instantiate(t, load(t, Options{FuelPerCall: fuel}, b.bytes()))
			_, err := g.run(64)
			f := asFault(t, err)
			if f.Kind != abi.FaultOutOfFuel || f.Fuel < fuel {
				t.Errorf("got %+v", f)
			}
			checkDead(t, g, f)
			_, again := g.run(64)
			if err := g.Rebuild(); err != nil {
				t.Fatal(err, again)
			}
			_, err = g.run(64)
			if again := asFault(t, err); again.Fuel != f.Fuel {
				t.Errorf("it spent %d, then %d", f.Fuel, again.Fuel)
			}
		})
	}
}

func TestInAndStartRunOutOfFuelToo(t *testing.T) {
	forever := code(opLoop, void, opBr, 0, opEnd, opUnreachable)
	g := instantiate(t, load(t, Options{}, guestThat(forever, nil).bytes()))
	if _, _, err := g.In(8); asFault(t, err).Kind != abi.FaultOutOfFuel {
		t.Errorf("In: %v", err)
	}
	b := goodModule()
	b.funcs = append(b.funcs, buildFunc{export: abi.ExportInitialize, body: forever})
	_, err := load(t, Options{}, b.bytes()).Instantiate(t.Context(), InstanceOptions{})
	if f := asFault(t, err); f.Kind != abi.FaultOutOfFuel || f.Entry != abi.ExportInitialize || !strings.Contains(f.Message, "FuelPerStart") || strings.Contains(f.Message, "FuelPerOp") {
		t.Errorf("start: %v", err)
	}
}

// What a rebuild costs is what its start and its openings do.
func TestRebuildFuel(t *testing.T) {
	b := guestThat(nil, code(i32(100), 0x21, 1, opLoop, void, opLocalGet, 1, i32(1), 0x6b, opLocalTee, 1, 0x0d, 0, opEnd, effectsAt(effectsPointer, 0)))
	b.funcs = append(b.funcs, buildFunc{locals: 1, export: abi.ExportInitialize, body: code(i32(100_000), 0x21, 0, opLoop, void, opLocalGet, 0, i32(1), 0x6b, opLocalTee, 0, 0x0d, 0, opEnd)})
	g := instantiate(t, load(t, Options{}, b.bytes()))
	if err := g.Rebuild(); err != nil || g.RebuildFuel() < 400_000 || g.RebuildFuel() > 800_000 {
		t.Errorf("%v, %d", err, g.RebuildFuel())
	}
	start := g.RebuildFuel()
	if _, err := g.Open(0, make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	if err := g.Rebuild(); err != nil || g.RebuildFuel() <= start || g.RebuildFuel() > start+1000 {
		t.Errorf("%v, %d after %d", err, g.RebuildFuel(), start)
	}
	g = instantiate(t, load(t, Options{}, guestThat(nil, effectsAt(effectsPointer, 0)).bytes()))
	if _, err := g.Open(0, make([]byte, 64)); err != nil { // it has spent something, and has no start
		t.Fatal(err)
	}
	if err := g.Rebuild(); err != nil || g.RebuildFuel() > 1000 {
		t.Errorf("%v, %d without a start", err, g.RebuildFuel())
	}
}

// A trap is told with what was spent, wherever it is, and the same each time.
func TestFuelOfATrap(t *testing.T) {
	loop := code(i32(100), 0x21, 1, opLoop, void, opLocalGet, 1, i32(1), 0x6b, opLocalTee, 1, 0x0d, 0, opEnd) // 400 and more
	traps := map[string][]byte{
		"unreachable": code(opUnreachable), "divide": code(i32(1), i32(0), 0x6e, opDrop), "out of bounds": code(i32(-1), 0x28, 2, 0, opDrop),
	}
	for name, trap := range traps {
		for where, c := range map[string]struct{ call, called []byte }{
			"behind a loop":              {code(loop, trap), nil},
			"in a loop":                  {code(loop, opLoop, void, trap, opEnd), nil},
			"in one that is called":      {code(loop, opCall, 3), code(loop, trap)},
			"behind one that was called": {code(opCall, 3, trap), loop},
			"where there is no loop":     {code(repeated(250, i32(1), opDrop), trap), nil},
		} {
			b := guestThat(nil, code(c.call, effectsAt(effectsPointer, 0)))
			b.funcs = append(b.funcs, buildFunc{locals: 2, body: c.called})
			g := instantiate(t, load(t, Options{}, b.bytes()))
			_, err := g.run(64)
			f := asFault(t, err)
			if f.Kind != abi.FaultTrap || !strings.Contains(f.Message, name) || f.Fuel < 400 || f.Fuel > 1100 {
				t.Errorf("%s, %s: %v, fuel %d", name, where, f, f.Fuel)
			}
			if err := g.Rebuild(); err != nil {
				t.Fatal(err)
			}
			if _, err = g.run(64); asFault(t, err).Fuel != f.Fuel {
				t.Errorf("%s, %s: it spent %d, then %d", name, where, f.Fuel, asFault(t, err).Fuel)
			}
		}
	}
}

// What comes behind a loop is charged for once, whichever way the loop is left.
func TestWhatIsBehindALoopIsCharged(t *testing.T) {
	const rounds, costs = 100, 1000
	behind := repeated(costs/2, i32(1), opDrop)
	count := code(opLocalGet, 3, i32(1), 0x6b, opLocalTee, 3)
	for name, body := range map[string][]byte{
		"at its end":              code(opLoop, void, count, 0x0d, 0, opEnd, behind),
		"by a branch":             code(opBlock, void, opLoop, void, count, 0x45, 0x0d, 1, opBr, 0, opEnd, opUnreachable, opEnd, behind),
		"by one out of two loops": code(opBlock, void, opLoop, void, opLoop, void, count, 0x45, 0x0d, 2, opBr, 0, opEnd, opUnreachable, opEnd, opUnreachable, opEnd, behind),
		"by a table":              code(opBlock, void, opLoop, void, count, 0x45, 0x0e, 1, 0, 1, opUnreachable, opEnd, opUnreachable, opEnd, behind),
	} {
		b := guestThat(nil, code(i32(rounds), opLocalSet, 3, body, effectsAt(effectsPointer, 0)))
		b.funcs[2].locals = 1
		g := instantiate(t, load(t, Options{}, b.bytes()))
		if _, err := g.run(64); err != nil {
			t.Fatal(name, err)
		}
		if f := g.Fuel(); f < costs+5*rounds || f > costs+15*rounds {
			t.Errorf("%s: %d", name, f)
		}
	}
}

// A function that calls no other is charged for by those that call it; whoever calls it, it is charged once.
func TestWhoPaysForALeaf(t *testing.T) {
	const calls, costs = 100, 150
	work := repeated(costs/2, i32(1), opDrop)
	rounds := func(call []byte) []byte {
		return code(i32(calls), opLocalSet, 3, opLoop, void, call, opLocalGet, 3, i32(1), 0x6b, opLocalTee, 3, 0x0d, 0, opEnd, effectsAt(effectsPointer, 0))
	}
	spent := func(name string, in, call []byte, elements []byte, leaf []byte) {
		b := guestThat(in, call)
		b.funcs[2].locals = 1
		b.funcs = append(b.funcs, buildFunc{body: leaf})
		if elements != nil {
			b.table, b.extra = []uint32{2, 2}, map[byte][]byte{sectionElement: elements}
		}
		g := instantiate(t, load(t, Options{}, b.bytes()))
		if _, err := g.run(64); err != nil {
			t.Fatal(name, err)
		}
		if f := g.Fuel(); f < calls*costs || f > calls*(costs+60) {
			t.Errorf("%s: %d", name, f)
		}
	}
	direct, indirect := rounds(code(opCall, 3)), rounds(code(i32(1), opCallIndirect, 3, 0))
	spent("direct", nil, direct, nil, work)
	spent("in the table as well", nil, direct, code(1, 0, i32(1), opEnd, 1, 3), work)
	spent("by the table", nil, indirect, code(1, 0, i32(1), opEnd, 1, 3), work)
	spent("by the table, which is named", nil, indirect, code(1, 2, 0, i32(1), opEnd, 0, 1, 3), work)
	spent("by the host", code(repeated(calls, work), i32(framePointer)), nil, nil, nil)
}

// A pair of In and Call spends what its ops allow.
func TestFuelFollowsOps(t *testing.T) {
	forever := guestThat(nil, code(opLoop, void, opBr, 0, opEnd, opUnreachable))
	m := load(t, Options{FuelPerCall: 5000, FuelPerOp: 1000}, forever.bytes())
	for ops, want := range map[int]int64{0: 5000, 1: 1000, 3: 3000, 5: 5000, 1 << 40: 5000} {
		g := instantiate(t, m)
		g.Ops(ops)
		_, err := g.run(64)
		if f := asFault(t, err); f.Kind != abi.FaultOutOfFuel || f.Fuel < want || f.Fuel > want+10 || !strings.Contains(f.Message, fmt.Sprint(want)) {
			t.Errorf("%d ops: %+v", ops, f)
		}
	}
}

func TestFuelIsRepeated(t *testing.T) {
	for _, name := range delaysGuests {
		var spent []int64
		for range 2 {
			g, d := openDelays(t, name, Options{}), delaysFrame{slots: 4, adds: 64, create: true, results: true}
			for range 3 {
				if _, err := g.callDelays(d, d.layout()); err != nil {
					t.Fatal(err)
				}
				spent = append(spent, g.Fuel())
			}
		}
		if spent[0] != spent[3] || spent[1] != spent[4] || spent[2] != spent[5] || spent[0] < 64 {
			t.Errorf("%s spent %v", name, spent)
		}
		t.Logf("%s spends %v", name, spent[:3])
	}
}

func TestDeepCallsFault(t *testing.T) {
	wide := guestThat(nil, recursion(2))
	wide.funcs[2].locals = 40_000
	// Many values live at once in each frame, which locals do not show.
	heavy := guestThat(nil, []byte{})
	for range 5000 {
		heavy.funcs[2].body = append(heavy.funcs[2].body, code(opLocalGet, 1, opI32Load8, 0, 0)...)
	}
	heavy.funcs[2].body = append(heavy.funcs[2].body, code(recursion(2), opDrop)...)
	for range 4999 {
		heavy.funcs[2].body = append(heavy.funcs[2].body, opI32Add)
	}
	heavy.funcs[2].body = append(heavy.funcs[2].body, code(opDrop, effectsAt(0, 0))...)
	mutual := guestThat(nil, code(opCall, 3, effectsAt(0, 0)))
	mutual.funcs = append(mutual.funcs, buildFunc{body: code(opCall, 4)}, buildFunc{body: code(opCall, 3)})
	for name, b := range map[string]builder{"wide": wide, "heavy": heavy, "mutual": mutual} {
		t.Run(name, func(t *testing.T) {
			g := instantiate(t, load(t, Options{}, b.bytes()))
			_, err := g.run(64)
			f := asFault(t, err)
			if f.Kind != abi.FaultTooDeep {
				t.Errorf("got %v", f)
			}
			checkDead(t, g, f)
		})
	}
}

// What calls take of the depth they give back, however they end.
func TestDepthIsGivenBack(t *testing.T) {
	b := guestThat(nil, nil)
	leaf := func(body []byte) uint64 {
		b.funcs = append(b.funcs, buildFunc{signature: signature{"i", "i"}, body: body})
		return uint64(len(b.funcs) - 1)
	}
	b.funcs = append(b.funcs, buildFunc{body: code(opCall, 4)}, buildFunc{}) // 3 is no leaf, so those that call it take depth
	var calls []byte
	for _, body := range [][]byte{
		code(opCall, 3, i32(1)),
		code(opCall, 3, i32(1), opReturn),
		code(opCall, 3, i32(1), opBr, 0),
		code(opCall, 3, i32(1), opLocalGet, 0, 0x0d, 0),
		code(opCall, 3, opBlock, void, i32(1), i32(0), 0x0e, 1, 1, 0, opEnd, i32(2)),
		code(opCall, 3, opLoop, void, opBlock, void, i32(1), opReturn, opEnd, opEnd, opUnreachable),
		code(opCall, 3, opLocalGet, 0, opIf, 0x7f, i32(1), opReturn, opElse, i32(2), opEnd),
	} {
		calls = append(calls, code(i32(1), opCall, uleb(leaf(body)), opDrop)...)
	}
	// br_table with a value cannot leave by a void label: its block has one.
	b.funcs[9].body = code(opCall, 3, opBlock, 0x7f, i32(1), i32(0), 0x0e, 1, 1, 0, opEnd)
	b.funcs[2].body = code(calls, effectsAt(0, 0))
	g := instantiate(t, load(t, Options{}, b.bytes()))
	before := g.meters.depth.Get()
	for range 3 {
		if _, err := g.run(64); err != nil {
			t.Fatal(err)
		}
	}
	if after := g.meters.depth.Get(); after != before {
		t.Errorf("depth was %d and is %d", before, after)
	}
}
