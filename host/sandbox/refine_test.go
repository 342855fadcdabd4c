package sandbox

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/wasmstream/wasmstream/host/sandbox/meter"
	"github.com/wasmstream/wasmstream/host/sandbox/refine"
)

// rewritten is a module as it is run.
func rewritten(wasm []byte) ([]byte, error) {
	refined, err := refine.Rewrite(wasm)
	if err != nil {
		return nil, err
	}
	return meter.Rewrite(refined)
}

// TestRefiningChangesNothing: a generated module of what package refine looks for does the same refined, with and without
// meters, on the compiler and on the interpreter.
func TestRefiningChangesNothing(t *testing.T) {
	ctx := context.Background()
	compiler := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(features))
	interpreter := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features))
	defer compiler.Close(ctx)
	defer interpreter.Close(ctx)
	var other, ended, trapped int
	for seed := range uint64(2 * *generated) {
		plain := shapedModule(rand.New(rand.NewPCG(seed, 7)))
		refined, err := refine.Rewrite(plain)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		metered, err := meter.Rewrite(refined)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !bytes.Equal(plain, refined) {
			other++
		}
		want := playModule(t, interpreter, plain)
		for name, got := range map[string][]played{
			"refined, compiled": playModule(t, compiler, refined), "refined, interpreted": playModule(t, interpreter, refined),
			"with meters": playModule(t, compiler, metered),
		} {
			for i, w := range want {
				if got[i].result != w.result || got[i].failure != w.failure || got[i].memory != w.memory {
					t.Fatalf("seed %d, call %d, %s: %+v, want %+v", seed, i, name, got[i], w)
				}
			}
		}
		for _, w := range want {
			ended += min(1, max(0, 1-len(w.failure)))
			trapped += min(1, len(w.failure))
		}
	}
	t.Logf("%d of %d modules are others; %d calls ended, %d trapped", other, 2**generated, ended, trapped)
	if other < *generated || ended < 2**generated || trapped < *generated/4 {
		t.Error("that is not what was meant")
	}
}

// TestRefiningKeepsItsLocal: a module cannot reach the local that is added, even where nobody has validated it; and what is
// cut off is an error.
func TestRefiningKeepsItsLocal(t *testing.T) {
	b := goodModule()
	b.funcs[2].body = code(opLocalGet, 3, opDrop, i32(8), 0x28, 2, 0, opDrop, effectsAt(0, 0))
	if _, err := refine.Rewrite(b.bytes()); err == nil {
		t.Error("the local that is zero can be reached")
	}
	whole, sound := guestBytes(t, "count-c.wasm"), 0
	for n := range len(whole) {
		if _, err := refine.Rewrite(whole[:n]); err == nil {
			sound++
		}
	}
	if sections := 14; sound > sections {
		t.Errorf("%d of %d beginnings of a module were taken", sound, len(whole))
	}
}

// shapedModule makes a module whose function f goes on by a table, as those of Go do, and is full of addresses that are
// constants or sums, some of which wrap, and of comparisons that are negated.
func shapedModule(random *rand.Rand) []byte {
	g := &shaped{generator: generator{Rand: random, functions: 1}}
	g.dispatch()
	g.value(3)
	b := builder{pages: []uint32{1, 3}, globals: 1, exports: []buildExport{{"memory", 2, 0}, {"count", 3, 0}}}
	b.funcs = []buildFunc{{export: "f", signature: signature{"ii", "i"}, locals: genLocals - 2 + genCounters + 65, body: bytes.Join(g.code, nil)}}
	return b.bytes()
}

type shaped struct{ generator }

// Locals of shaped functions: where to go on, and how often still.
const (
	shapedWhere = genLocals
	shapedLeft  = genLocals + 1
)

// dispatch makes a loop that begins with a table of the blocks in it. Behind the end of each there may be branches to the
// loop's head that say where to go on: at blocks that are open still, and at others.
func (g *shaped) dispatch() {
	blocks := 1 + g.IntN(6)
	g.emit(i32(int32(1 + g.IntN(30))))
	g.emit(opLocalSet, shapedLeft)
	g.value(0)
	g.emit(opLocalSet, shapedWhere)
	g.emit(opBlock, void)
	g.emit(opLoop, void)
	for range blocks {
		g.emit(opBlock, void)
	}
	g.emit(opLocalGet, shapedWhere)
	entries := g.IntN(10)
	targets := uleb(uint64(entries))
	for range entries + 1 {
		to := g.IntN(blocks + 1)
		if to == blocks { // out; the head itself would be endless
			to++
		}
		targets = append(targets, byte(to))
	}
	g.emit(0x0e, targets)
	for open := blocks - 1; open >= 0; open-- {
		g.emit(opEnd)
		for range g.IntN(4) {
			g.part(open)
		}
	}
	g.emit(opEnd)
	g.emit(opEnd)
}

// part makes a part of a section inside so many blocks.
func (g *shaped) part(open int) {
	switch g.IntN(5) {
	case 0:
		g.goOn(open)
	case 1:
		g.negation()
		g.emit(opIf, void)
		g.goOn(open + 1)
		g.emit(opEnd)
	case 2:
		g.negation()
		g.emit(opLocalSet, g.IntN(genLocals))
	default:
		g.accesses()
	}
}

func (g *shaped) goOn(open int) {
	g.emit(opLocalGet, shapedLeft)
	g.emit(i32(1))
	g.emit(0x6b)
	g.emit(opLocalTee, shapedLeft)
	g.emit(0x45)
	g.emit(0x0d, open+1)
	g.emit(i32(int32(g.IntN(14) - 2)))
	if g.IntN(8) == 0 {
		g.emit(0x01) // a nop: not what is looked for
	}
	where := shapedWhere
	if g.IntN(8) == 0 {
		where = g.IntN(genLocals) // not the local that the table goes by
	}
	g.emit(opLocalSet, where)
	g.emit(opBr, open)
}

// apart leaves a comparison of zero with what and gave, or the other way round, which the engine compiles wrong if nobody keeps
// them apart, by one of the ways from the one to the other, and perhaps negated.
func (g *shaped) apart() {
	wide, local := g.IntN(2), 2+g.IntN(genLocals-2)
	if g.IntN(2) == 0 {
		local = genLocals + genCounters + 64 // of which nothing is known
	}
	zero := [2][]byte{i32(0), i64(0)}[wide]
	isFirst := g.IntN(2) == 0
	if isFirst {
		g.emit(zero)
	}
	for range 2 {
		g.value(1)
		if wide == 1 {
			g.emit(opI64ExtendU - g.IntN(2))
		}
	}
	g.emit([2]int{0x71, 0x83}[wide])
	if wide == 0 {
		switch g.IntN(4) {
		case 0:
			g.emit(opLocalTee, uleb(uint64(local)))
		case 1:
			g.emit(opLocalSet, uleb(uint64(local)))
			g.emit(i32(1))
			g.emit(opDrop)
			g.emit(opLocalGet, uleb(uint64(local)))
		case 2: // below more than is looked at
			g.emit(bytes.Repeat(i32(1), 65), bytes.Repeat([]byte{opDrop}, 65))
		}
	}
	if !isFirst {
		g.emit(zero)
	}
	g.emit([2]int{0x48, 0x53}[wide] + g.IntN(8))
	for range g.IntN(2) {
		g.emit(0x45)
	}
}

// negation leaves a comparison, negated once, twice or not at all.
func (g *shaped) negation() {
	if g.IntN(4) == 0 {
		g.apart()
		return
	}
	g.value(1)
	compare := g.IntN(11)
	wide := g.IntN(2) == 0
	if wide {
		g.emit(opI64ExtendU - g.IntN(2))
	}
	if compare > 0 {
		g.value(1)
		if wide {
			g.emit(opI64ExtendU - g.IntN(2))
		}
	}
	if wide {
		compare += 0x50
	} else {
		compare += 0x45
	}
	g.emit(compare)
	for range g.IntN(3) {
		g.emit(0x45)
	}
}

// accesses makes loads and stores by a local, by sums of it, and by constants.
func (g *shaped) accesses() {
	y := 2 + g.IntN(genLocals-2)
	switch g.IntN(4) {
	case 0:
		g.last(y)
	case 1, 2:
		g.value(1)
		g.emit(i32(0x7fff))
		g.emit(0x71)
		g.emit(opLocalSet, y)
	}
	for range 1 + g.IntN(5) {
		switch g.IntN(8) {
		case 0:
			g.last(y)
			g.negation()
			g.emit(opIf, void)
			g.emit(i32(int32(g.IntN(1000))))
			g.emit(opLocalSet, y)
			g.emit(opLocalGet, y)
			g.emit(0x28, 2, 0)
			g.emit(opLocalSet, g.IntN(genLocals))
			g.emit(opEnd)
		case 1, 2, 3:
			g.where(y)
			g.emit([]int{0x28, 0x2c, 0x2f}[g.IntN(3)], 0, uleb(uint64(g.IntN(40))))
			g.emit(opLocalSet, g.IntN(genLocals))
		default:
			g.where(y)
			if g.IntN(3) == 0 {
				g.last(y)
			}
			g.value(g.IntN(3))
			g.emit([]int{opI32Store, 0x3a, 0x3b}[g.IntN(3)], 0, uleb(uint64(g.IntN(40))))
		}
	}
}

// last sets a local to one of the last addresses there could be: a sum with it wraps, and it is no address.
func (g *shaped) last(y int) {
	g.emit(i32(int32(-1 - g.IntN(20))))
	g.emit(opLocalSet, y)
}

// where leaves an address.
func (g *shaped) where(y int) {
	constant := int64(g.IntN(65_536 + 20))
	switch g.IntN(6) {
	case 0:
		if g.IntN(16) == 0 {
			constant = int64(-1 - g.IntN(50)) // an offset from it is beyond 4 GiB
		}
		g.emit(i32(int32(constant)))
	case 1:
		if g.IntN(4) == 0 {
			constant += int64(g.Uint32()) << 32
		}
		g.emit(i64(constant))
		g.emit(0xa7)
	case 2, 3:
		g.emit(opLocalGet, y)
	default:
		sums := []int64{0, 4, 8, 16, 24, 300, constant, 65_535, 65_536, -8, 1 << 32}
		g.emit(opLocalGet, y)
		g.emit(opI64ExtendU)
		g.emit(i64(sums[g.IntN(len(sums))]))
		g.emit(0x7c)
		g.emit(0xa7)
	}
}
