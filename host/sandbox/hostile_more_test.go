package sandbox

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
)

// Instructions on memory and tables whose length is an operand.
func memoryInit(at, length int32) []byte {
	return code(i32(at), i32(0), i32(length), 0xfc, 8, 0, 0)
}
func tableCopy(n int32) []byte { return code(i32(0), i32(0), i32(n), 0xfc, 14, 0, 0) }

// passive gives a module data that it takes itself.
func passive(b *builder, size int) {
	b.extra = map[byte][]byte{sectionDataCount: {1}, sectionData: code(1, 1, uleb(uint64(size)), make([]byte, size))}
}

// names is a name section that calls functions so.
func names(of map[uint32]string) customContent {
	content := uleb(uint64(len(of)))
	for n := range uint32(len(of)) {
		content = append(append(content, uleb(uint64(n))...), text(of[n])...)
	}
	return customContent{"name", string(code(1, uleb(uint64(len(content))), content))}
}

// furtherBehaviours were thought of after the engine and the scanner were known: each goes for one thing that
// the host does for a guest.
func furtherBehaviours() (all []behaviour) {
	add := func(name string, fault abi.FaultKind, in, call []byte, imports ...string) *builder {
		all = append(all, behaviour{name, guestThat(in, call, imports...), fault})
		return &all[len(all)-1].builder
	}
	forever := func(parts ...any) []byte { return code(opLoop, void, code(parts...), opBr, 0, opEnd, opUnreachable) }
	done := effectsAt(0, 0)
	all = append(all, slowInstructions()...)
	all = append(all, heavyCode()...)
	// Control.
	add("br_table in a loop", abi.FaultOutOfFuel, nil, code(opLoop, void, i32(999), 0x0e, uleb(1000), make([]byte, 1001), opEnd, opUnreachable))
	add("deep blocks", 0, nil, code(repeated(1000, opBlock, void), repeated(1000, opEnd), done))
	b := add("call of itself by the table", abi.FaultTooDeep, nil, code(i32(0), i32(0), i32(0), i32(0), opCallIndirect, 2, 0))
	b.table, b.elements = []uint32{1, 1}, []uint32{2}
	b = add("call of an empty entry", abi.FaultTrap, nil, code(i32(1), opCallIndirect, 0, 0, done))
	b.table = []uint32{2, 2}
	b = add("call past the table", abi.FaultTrap, nil, code(i32(-1), opCallIndirect, 0, 0, done))
	b.table = []uint32{2, 2}
	// Memory and tables.
	b = add("memory.init for ever", abi.FaultOutOfFuel, nil, forever(memoryInit(0, 1<<20)))
	b.pages = []uint32{100, 100}
	passive(b, 1<<20)
	b = add("memory.init past the end", abi.FaultTrap, nil, code(memoryInit(pageBytes-1, 2), done))
	passive(b, 2)
	b = add("table.copy for ever", abi.FaultOutOfFuel, nil, forever(tableCopy(16_384)))
	b.table = []uint32{16_384, 16_384}
	b = add("table without a maximum", 0, nil, done)
	b.table = []uint32{16_384}
	b = add("table up to 2^32-1", 0, nil, done)
	b.table = []uint32{1, maxU32}
	b = add("data over data", 0, nil, done)
	b.extra = map[byte][]byte{sectionData: append(uleb(10_000), repeated(10_000, 0, i32(0), opEnd, text(strings.Repeat("x", 1000)))...)}
	b = add("data without bytes", 0, nil, done)
	b.extra = map[byte][]byte{sectionData: append(uleb(100_000), repeated(100_000, 0, i32(0), opEnd, 0)...)}
	add("grow by nothing", abi.FaultOutOfFuel, nil, forever(i32(0), opMemoryGrow, 0, opDrop))
	b = add("grow in in", 0, code(i32(1), opMemoryGrow, 0, opDrop, i32(framePointer)), code(i32(1), opMemoryGrow, 0, opDrop, done))
	b.pages = []uint32{1, 3}
	add("in at the last place", 0, i32(pageBytes-64), effectsAt(0, 0))
	add("effects at the very end", 0, nil, effectsAt(pageBytes, 0))
	add("copies of a byte", abi.FaultOutOfFuel, nil, forever(i32(0), i32(1), i32(1), 0xfc, 10, 0, 0))
	add("fills of nothing", abi.FaultOutOfFuel, nil, forever(i32(0), i32(1), i32(0), 0xfc, 11, 0))
	all = append(all, hostCalls()...)
	all = append(all, shownNames()...)
	return all
}

// heavyCode is near what the scanner lets through of what the compiler takes long for.
func heavyCode() (all []behaviour) {
	add := func(name string, fault abi.FaultKind, locals int, call []byte) *builder {
		all = append(all, behaviour{name, guestThat(nil, call), fault})
		b := &all[len(all)-1].builder
		b.funcs[2].locals = locals
		return b
	}
	done, load := effectsAt(0, 0), code(i32(0), 0x28, 2, 0)
	add("branches to one label, as many as may be", 0, 0, code(opBlock, void, branchesOut(1600), opEnd, done))
	add("branches to one label over locals", 0, 46, code(opBlock, void, branchesOut(1000), opEnd, reads(46), done))
	add("branches back to one loop", 0, 46, code(opLoop, void, branchesOut(1000), opEnd, reads(46), done))
	add("operands over blocks", 0, 0, code(repeated(5000, load), repeated(800, i32(0), opIf, void, opEnd), repeated(5000, opDrop), done))
	add("many operands", 0, 0, code(repeated(8500, load), repeated(8500, opDrop), done))
	add("many stores", 0, 0, code(repeated(8500, i32(0), i32(1), opI32Store, 2, 0), done))
	add("many calls", 0, 0, code(repeated(20_000, opCall, 0), done))
	add("many calls by the table", abi.FaultTrap, 0, code(repeated(2500, i32(0), opCallIndirect, 0, 0), done)).table = []uint32{1, 1}
	add("recursion with operands", abi.FaultTooDeep, 0, code(repeated(2000, load), i32(0), i32(0), i32(0), opCall, 2, opDrop, repeated(2000, opDrop), done))
	add("a tree of calls", abi.FaultOutOfFuel, 0, code(opCall, 3, done)).funcs = treeOfCalls(done)
	add("drops of data", abi.FaultOutOfFuel, 0, code(opLoop, void, 0xfc, 9, 0, opBr, 0, opEnd, opUnreachable)).extra = map[byte][]byte{
		sectionDataCount: {1}, sectionData: code(1, 1, 1, 0)}
	add("ten thousand globals", 0, 0, code(repeated(10_000, opGlobalGet, 0, opGlobalSet, uleb(9999)), done)).globals = 10_000
	return all
}

// branchesOut are branches out of the block at hand, none of them taken.
func branchesOut(n int) []byte { return repeated(n, i32(0), 0x0d, 0) }

// reads reads locals behind the three parameters.
func reads(n int) (b []byte) {
	for i := range n {
		b = append(b, code(opLocalGet, uleb(uint64(3+i)), opDrop)...)
	}
	return b
}

// treeOfCalls is a guest whose functions call the next one twice each.
func treeOfCalls(done []byte) []buildFunc {
	funcs := append([]buildFunc(nil), goodModule().funcs...)
	funcs[2].body = code(opCall, 3, done)
	for n := range 50 {
		funcs = append(funcs, buildFunc{body: repeated(2, opCall, uleb(uint64(4+n)))})
	}
	return append(funcs, buildFunc{})
}

// slowInstructions take the processor much longer than others.
func slowInstructions() (all []behaviour) {
	add := func(name string, parts ...any) {
		all = append(all, behaviour{name, guestThat(nil, code(opLoop, void, code(parts...), opBr, 0, opEnd, opUnreachable)), abi.FaultOutOfFuel})
	}
	tiny := code(0x44, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	half := code(0x44, []byte{0, 0, 0, 0, 0, 0, 0xe8, 0x3f})
	add("products of denormals", tiny, half, 0xa2, opDrop)
	add("quotients of denormals", repeated(8, tiny, half, 0xa3, opDrop))
	add("sums of denormals", repeated(8, tiny, tiny, 0xa0, opDrop))
	add("remainders", repeated(8, i64(-1), i64(3), 0x82, opDrop))
	add("saturating conversions", repeated(8, tiny, 0xfc, 7, opDrop))
	add("counts of bits", repeated(8, i64(-1), 0x7b, opDrop))
	add("unaligned stores", repeated(8, i32(4093), i64(-1), 0x37, 0, 0))
	return all
}

// hostCalls go for the host's functions.
func hostCalls() (all []behaviour) {
	add := func(name string, fault abi.FaultKind, call []byte, imports ...string) *builder {
		all = append(all, behaviour{name, guestThat(nil, call, imports...), fault})
		all[len(all)-1].builder.pages = []uint32{1000, 1000}
		return &all[len(all)-1].builder
	}
	forever := func(parts ...any) []byte { return code(opLoop, void, code(parts...), opBr, 0, opEnd, opUnreachable) }
	const most = 1000 * pageBytes
	add("logs of all memory", abi.FaultOutOfFuel, forever(i32(1), i32(0), i32(most), opCall, 0), abi.ImportLog)
	add("logs of nothing", abi.FaultOutOfFuel, forever(i32(1), i32(0), i32(0), opCall, 0), abi.ImportLog)
	add("fails with all memory", abi.FaultFailed, code(i32(0), i32(most), opCall, 0, opUnreachable), abi.ImportFail)
	b := add("writes of all memory a thousand times", abi.FaultOutOfFuel,
		code(i32(0), i32('\n'), i32(most), 0xfc, 11, 0,
			// Each of 1,024 vectors at 64 is all of memory.
			opLoop, void, opLocalGet, 0, i32(0), opI32Store, 2, 64, opLocalGet, 0, i32(most), opI32Store, 2, 68,
			opLocalGet, 0, i32(8), opI32Add, opLocalTee, 0, i32(8192), 0x49, 0x0d, 0, opEnd,
			forever(i32(1), i32(64), i32(1024), i32(0), opCall, 0, opDrop)), "fd_write")
	b.pages = []uint32{1000, 1000}
	add("writes of nothing", abi.FaultOutOfFuel, forever(i32(1), i32(64), i32(1024), i32(0), opCall, 0, opDrop), "fd_write")
	add("random bytes for all memory", abi.FaultOutOfFuel, forever(i32(0), i32(most), opCall, 0, opDrop), "random_get")
	add("looks at the clock", abi.FaultOutOfFuel, forever(i32(0), i64(1), i32(8), opCall, 0, opDrop), "clock_time_get")
	add("sched_yield for ever", abi.FaultOutOfFuel, forever(opCall, 0, opDrop), "sched_yield")
	add("polls of files", abi.FaultOverLimit, code(i32(8), i32(1), i32(48*64), 0xfc, 11, 0, forever(i32(8), i32(8192), i32(64), i32(16384), opCall, 0, opDrop)), "poll_oneoff")
	start := add("start that takes all memory", abi.FaultTrap, code(opUnreachable))
	start.pages = []uint32{1, 1000}
	start.funcs = append(start.funcs, buildFunc{export: abi.ExportInitialize, body: code(i32(999), opMemoryGrow, 0, opDrop, i32(0), i32(7), i32(most), 0xfc, 11, 0)})
	return all
}

// shownNames goes for what the host shows: names, exports, the manifest.
func shownNames() (all []behaviour) {
	add := func(name string, fault abi.FaultKind, call []byte) *builder {
		all = append(all, behaviour{name, guestThat(nil, call), fault})
		return &all[len(all)-1].builder
	}
	b := add("ten thousand exports of a function", 0, effectsAt(0, 0))
	for n := range 9000 {
		b.exports = append(b.exports, buildExport{fmt.Sprint("f", n), 0, 0})
	}
	deep := add("long names in a backtrace", abi.FaultTrap, code(opCall, 3, effectsAt(0, 0)))
	of := map[uint32]string{0: "a", 1: "b", 2: "c"}
	for n := range uint32(30) {
		deep.funcs = append(deep.funcs, buildFunc{body: code(opCall, uleb(uint64(n+4)))})
		of[n+3] = strings.Repeat("x", 65_000)
	}
	deep.funcs = append(deep.funcs, buildFunc{body: code(opUnreachable)})
	of[33] = "end"
	deep.custom = append(deep.custom, names(of))
	escape := add("names that are escape sequences", abi.FaultTrap, code(opUnreachable))
	escape.custom = append(escape.custom, names(map[uint32]string{0: "a", 1: "b", 2: "\x1b[2J\n\t\u202e"}))
	b = add("an export of a megabyte", 0, effectsAt(0, 0))
	b.exports = append(b.exports, buildExport{strings.Repeat("x", 1<<20), 0, 0})
	b = add("many custom sections", 0, effectsAt(0, 0))
	for range 100_000 {
		b.custom = append(b.custom, customContent{"x", ""})
	}
	return all
}

// manyValues are functions that hand on thousands of values by each instruction, n times, in so many functions of a module:
// valid, and within what each other limit allows.
func manyValues(n, functions int) map[string]builder {
	many := strings.Repeat("i", 1000)
	bombs := map[string]builder{}
	add := func(name string, parameters, results string, body []byte) {
		b := goodModule()
		b.funcs = append(b.funcs, buildFunc{signature: signature{parameters, results}, body: repeated(len(results), i32(0))})
		for range functions {
			b.funcs = append(b.funcs, buildFunc{body: body})
		}
		bombs[name] = b
	}
	drops := bytes.Repeat([]byte{opDrop}, 1000)
	full := repeated(1000, i32(0))
	add("nested blocks with results", many, many, code(full, repeated(n, opBlock, sleb(3)), repeated(n, opEnd), drops))
	add("nested loops with parameters", many, many, code(full, repeated(n, opLoop, sleb(3)), repeated(n, opEnd), drops))
	add("ifs with results", many, many, code(full, repeated(n, i32(0), opIf, sleb(3), opEnd), drops))
	add("calls with a thousand results", many, many, code(full, repeated(n, opCall, 3), drops))
	add("branches with a thousand values", many, many, code(full, opLoop, sleb(3), repeated(n, i32(0), 0x0d, 0), opEnd, drops))
	add("br_tables with a thousand values", "", many, code(opBlock, sleb(3), full, i32(0), 0x0e, uleb(uint64(n)), make([]byte, n+1), opEnd, drops))
	add("br_tables with sixteen values", "", many[:16], code(opBlock, sleb(3), repeated(16, i32(0)), i32(0), 0x0e, uleb(uint64(66*n)), make([]byte, 66*n+1), opEnd, drops[:16]))
	return bombs
}
