package sandbox

import "math/rand/v2"

// generator makes functions of random valid code: straight stretches, blocks, ifs,
// loops that end, br_tables, calls of functions that come later (so that nothing
// recurses), memory, bulk operations, divisions that may trap.
type generator struct {
	*rand.Rand
	functions int
	self      int
	code      [][]byte // instruction by instruction
	labels    []bool   // blocks that are open, and whether each is a loop
	counters  int      // locals used by loops
	loops     int      // open loops
}

// The locals of generated functions: two parameters, four to compute with, the rest
// count rounds. All are i32; functions take two and return one.
const (
	genLocals   = 6
	genCounters = 8
)

func (g *generator) emit(parts ...any) { g.code = append(g.code, code(parts...)) }

// function makes a body.
func (g *generator) function(self int) [][]byte {
	g.self, g.code, g.labels, g.counters, g.loops = self, nil, nil, 0, 0
	g.statements(3+g.IntN(6), 4)
	g.value(3)
	return g.code
}

func (g *generator) statements(n, depth int) {
	for range n {
		g.statement(depth)
	}
}

func (g *generator) statement(depth int) {
	if depth == 0 {
		g.assign()
		return
	}
	switch g.IntN(14) {
	case 0:
		g.block(depth)
	case 1:
		g.value(2)
		g.emit(opIf, void)
		g.inside(depth, false)
		if g.IntN(2) == 0 {
			g.emit(opElse)
			g.inside(depth, false)
		}
		g.emit(opEnd)
	case 2:
		g.loop(depth)
	case 3:
		if n := len(g.labels); n > 0 {
			// To a label of a block: those of loops are for the loops, which would not end.
			if label := g.IntN(n); !g.labels[n-1-label] {
				g.value(2)
				g.emit(0x0d, uleb(uint64(label)))
			}
		}
	case 4:
		g.table()
	case 5:
		g.value(1)
		g.emit(opIf, void)
		g.value(1)
		g.emit(opReturn)
		g.emit(opEnd)
	case 6:
		g.store()
	case 7:
		g.bulk()
	case 8:
		if g.IntN(8) == 0 {
			g.emit(i32(1))
			g.emit(opMemoryGrow, 0)
			g.emit(opLocalSet, 2)
		}
	case 9:
		if g.IntN(10) == 0 {
			g.value(1)
			g.emit(opIf, void)
			g.emit(opUnreachable)
			g.emit(opEnd)
		}
	case 10:
		if g.IntN(4) == 0 { // a stretch that costs more than what is charged in vain
			g.emit(repeated(100+g.IntN(300), i32(0), 0x28, 2, 0, opDrop))
		}
	default:
		g.assign()
	}
}

// inside makes what is between a block's begin and its end.
func (g *generator) inside(depth int, loop bool) {
	g.labels = append(g.labels, loop)
	g.statements(1+g.IntN(3), depth-1)
	g.labels = g.labels[:len(g.labels)-1]
}

func (g *generator) block(depth int) {
	g.emit(opBlock, void)
	g.inside(depth, false)
	if g.IntN(4) == 0 { // what is behind it is for those that branch there
		g.value(1)
		g.emit(opReturn)
	}
	g.emit(opEnd)
}

func (g *generator) loop(depth int) {
	if g.counters >= genCounters || g.loops > 1 {
		return
	}
	counter := genLocals + g.counters
	g.counters++
	g.emit(i32(int32(1 + g.IntN(6))))
	g.emit(opLocalSet, counter)
	leaves := g.IntN(2) == 0 // by a branch, or at its end
	if leaves {
		g.emit(opBlock, void)
		g.labels = append(g.labels, false)
	}
	g.emit(opLoop, void)
	g.loops++
	g.inside(depth, true)
	g.loops--
	g.emit(opLocalGet, counter)
	g.emit(i32(1))
	g.emit(0x6b)
	g.emit(opLocalTee, counter)
	if leaves {
		g.emit(0x45) // i32.eqz
		g.emit(0x0d, 1)
		g.emit(opBr, 0)
		g.emit(opEnd)
		g.emit(opEnd)
		g.labels = g.labels[:len(g.labels)-1]
		return
	}
	g.emit(0x0d, 0)
	g.emit(opEnd)
}

// table branches by a value over blocks of its own.
func (g *generator) table() {
	n := 1 + g.IntN(4)
	for range n {
		g.emit(opBlock, void)
	}
	g.value(2)
	targets := uleb(uint64(n))
	for range n + 1 {
		targets = append(targets, byte(g.IntN(n)))
	}
	g.emit(0x0e, targets)
	for range n {
		g.emit(opEnd)
		g.assign()
	}
}

func (g *generator) assign() {
	g.value(3)
	g.emit(opLocalSet, g.IntN(genLocals))
}

// address leaves an address that is nearly always good.
func (g *generator) address() {
	g.value(1)
	g.emit(i32(0x7fff))
	g.emit(0x71)
}

func (g *generator) store() {
	g.address()
	g.value(2)
	g.emit(opI32Store, 2, 8)
}

func (g *generator) bulk() {
	g.address()
	g.value(1)
	if copies := g.IntN(2) == 0; copies {
		g.emit(i32(0x7fff))
		g.emit(0x71)
		g.value(1)
		g.emit(i32(0x1fff))
		g.emit(0x71)
		g.emit(0xfc, 10, 0, 0)
		return
	}
	g.value(1)
	g.emit(i32(0x1fff))
	g.emit(0x71)
	g.emit(0xfc, 11, 0)
}

func (g *generator) value(depth int) {
	if depth == 0 {
		if g.IntN(2) == 0 {
			g.emit(i32(int32(g.Uint32()) >> g.IntN(32)))
		} else {
			g.emit(opLocalGet, g.IntN(genLocals))
		}
		return
	}
	switch g.IntN(8) {
	case 0:
		g.address()
		g.emit(0x28, 2, 0)
	case 1:
		if callee := g.self + 1 + g.IntN(4); callee < g.functions && g.loops < 2 {
			g.value(depth - 1)
			g.value(depth - 1)
			g.emit(opCall, callee)
			return
		}
		g.value(0)
	case 2:
		g.value(depth - 1)
		g.value(depth - 1)
		g.emit(i32(1))
		g.emit(0x72) // or: division by zero is rare
		g.emit(0x6d + g.IntN(4))
	case 3, 4:
		g.value(0)
	default:
		g.value(depth - 1)
		g.value(depth - 1)
		op := []int{0x6a, 0x6b, 0x6c, 0x71, 0x72, 0x73, 0x74, 0x46, 0x48, 0x4b}[g.IntN(10)]
		if g.emit(op); op == 0x71 {
			g.emit(i32(0)) // and and a comparison with zero are what the engine gets wrong, which is refine's to mend
			g.emit(0x72)
		}
	}
}

// genCost is what an instruction costs at least, by the prose of the meters: what only begins or ends a block costs nothing.
func genCost(i []byte) int32 {
	if len(i) > 500 {
		return int32(len(i)/6) * 10 // the stretch of statement
	}
	switch op := i[0]; {
	case op == opBlock || op == opLoop || op == opElse || op == opEnd:
		return 0
	case op >= 0x28 && op <= 0x35 || op >= 0x6d && op <= 0x70 || op == opMemoryGrow || op == 0xfc: // loads, divisions, growth, lengths
		return 8
	case op >= 0x36 && op <= 0x3e: // stores
		return 4
	}
	return 1
}

// genModule makes a module, and the same one counting what its instructions cost in global 0.
func genModule(random *rand.Rand) (plain, counting []byte) {
	const functions = 6
	g := &generator{Rand: random, functions: functions}
	var modules [2]builder
	for n := range functions {
		body := g.function(n)
		for counts := range modules {
			f := buildFunc{signature: signature{"ii", "i"}, locals: genLocals - 2 + genCounters}
			if n == 0 {
				f.export = "f"
			}
			for _, i := range body {
				if cost := genCost(i); counts == 1 && cost > 0 {
					f.body = append(f.body, code(opGlobalGet, 0, i32(cost), opI32Add, opGlobalSet, 0)...)
				}
				f.body = append(f.body, i...)
			}
			modules[counts].funcs = append(modules[counts].funcs, f)
		}
	}
	for n := range modules {
		modules[n].pages, modules[n].globals = []uint32{1, 3}, 1
		modules[n].exports = []buildExport{{"memory", 2, 0}, {"count", 3, 0}}
	}
	return modules[0].bytes(), modules[1].bytes()
}
