package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
)

// pageLimits are the defaults in a table of SECURITY.md, by the row's first cell: all the
// numbers of its second.
func pageLimits(t *testing.T, heading string) map[string][]int {
	t.Helper()
	content, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, found := strings.Cut(string(content), "\n"+heading)
	if !found {
		t.Fatalf("the page has no part %q", heading)
	}
	_, part, _ = strings.Cut(part, "\n| ---")
	part, _, _ = strings.Cut(part, "\n\n")
	rows := map[string][]int{}
	for _, line := range strings.Split(part, "\n")[1:] {
		cells := strings.Split(line, " | ")
		rows[strings.TrimPrefix(cells[0], "| ")] = numbersOf(cells[1])
	}
	if len(rows) < 10 {
		t.Fatalf("the page has %d rows under %q", len(rows), heading)
	}
	return rows
}

var (
	number = regexp.MustCompile(`(\d[\d,]*)(?: (million|KiB|MiB|GiB))?`)
	units  = map[string]int{"": 1, "million": 1_000_000, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
)

func numbersOf(text string) (all []int) {
	for _, m := range number.FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
		if err != nil {
			panic(err)
		}
		all = append(all, n*units[m[2]])
	}
	return all
}

// heldLimit is one number of a row: what the code has, a module with just so much, which is
// taken, and what is said of one with so much and a step.
type heldLimit struct {
	row    string // how the row begins
	nth    int    // which of the row's numbers
	code   int
	module func(n int) []byte
	step   int // 0 is 1
	reason string
}

// moduleLimits are those of the scanner. A limit without a module is about a sum of estimates
// (TestLimitOfCompiling) or the same number as another.
func moduleLimits() []heldLimit {
	d, some := defaultOptions, func(edit func(b *builder, n int)) func(n int) []byte {
		return func(n int) []byte { return edited(func(b *builder) { edit(b, n) }) }
	}
	extra := func(id byte, content func(n int) []byte) func(n int) []byte {
		return some(func(b *builder, n int) { b.extra = map[byte][]byte{id: content(n)} })
	}
	return []heldLimit{
		{row: "size", code: d.ModuleBytesMax, module: padded, reason: "the limit is"},
		{row: "functions", code: d.FunctionsMax, module: func(n int) []byte { return withBodies(slices.Repeat([][]byte{{0, opEnd}}, n-3)) }, reason: "functions; the limit is"},
		{row: "memory", code: int(d.MemoryPagesMax) * pageBytes, module: some(func(b *builder, n int) { b.pages = []uint32{uint32(n / pageBytes)} }), step: pageBytes, reason: "pages of memory"},
		{row: "memory", nth: 1, code: pagesEnd * pageBytes, module: some(func(b *builder, n int) { b.pages = []uint32{1, uint32(n / pageBytes)} }), step: pageBytes, reason: "the greatest size of its memory"},
		{row: "table", code: int(d.TableElementsMax), module: some(func(b *builder, n int) { b.table = []uint32{uint32(n)} }), reason: "entries; the limit is"},
		{row: "types", code: typesMax, module: extra(sectionType, func(n int) []byte { return typesOf(n) }), reason: "types; the limit is"},
		{row: "types", nth: 1, code: valuesInTypeMax, module: extra(sectionType, func(n int) []byte { return typesOf(4, signature{strings.Repeat("i", n), ""}) }), reason: "parameters of a type; the limit is"},
		{row: "types", nth: 1, code: valuesInTypeMax, module: extra(sectionType, func(n int) []byte { return typesOf(4, signature{"", strings.Repeat("i", n)}) }), reason: "results of a type; the limit is"},
		{row: "imports", code: importsMax, module: func(n int) []byte { return guestThat(nil, nil, slices.Repeat([]string{abi.ImportLog}, n)...).bytes() }, reason: "imports; the limit is"},
		{row: "exports", code: exportsMax, module: some(func(b *builder, n int) {
			for i := range n - 4 { // it has four
				b.exports = append(b.exports, buildExport{fmt.Sprint("f", i), 0, 0})
			}
		}), reason: "exports; the limit is"},
		{row: "exports", code: globalsMax, module: some(func(b *builder, n int) { b.globals = n }), reason: "globals; the limit is"},
		{row: "exports", code: segmentsMax, module: extra(sectionElement, func(n int) []byte { return elementsOf(make([]int, n)...) }), reason: "element segments; the limit is"},
		{row: "entries of element segments", code: elementsMax, module: extra(sectionElement, func(n int) []byte { return elementsOf(n) }), reason: "entries of an element segment; the limit is"},
		{row: "entries of element segments", code: elementsMax, module: extra(sectionElement, func(n int) []byte { return elementsOf(n/2, n-n/2) }), reason: "entries in all"},
		{row: "data segments", code: dataSegmentsMax, module: extra(sectionData, func(n int) []byte { return append(uleb(uint64(n)), repeated(n, 0, i32(0), opEnd, 0)...) }), reason: "data segments; the limit is"},
		{row: "names in the name section", code: namesMax, module: some(func(b *builder, n int) { b.custom = append(b.custom, manyNames(n)) }), reason: "names; the limit is"},
		{row: "names in the name section", code: namesMax, module: some(func(b *builder, n int) { b.custom = append(b.custom, manyNames(n/2, n-n/2)) }), reason: "names of functions and locals"},
		{row: "names in the name section", nth: 1, code: nameBytesMax, module: some(func(b *builder, n int) {
			b.custom = append(b.custom, names(map[uint32]string{0: strings.Repeat("x", n)}))
		}), reason: "bytes; the limit is"},
		{row: "manifest", code: 1, module: some(func(b *builder, n int) { b.custom = slices.Repeat(b.custom, n) }), reason: "two sections"},
	}
}

// codeLimits are those of functions' code.
func codeLimits() []heldLimit {
	one := func(locals func(n int) int, body func(n int) []byte) func(n int) []byte {
		return func(n int) []byte { return withBodies([][]byte{bodyOf(locals(n), body(n))}) }
	}
	none, blocks := func(int) int { return 0 }, func(n int) []byte { return repeated(n, opBlock, void, opEnd) }
	// What is beyond a limit of one function goes to the next: so the sum of all has exactly n.
	spread := func(most int, body func(n int) []byte) func(n int) []byte {
		return func(n int) []byte {
			var bodies [][]byte
			for ; n > 0; n -= min(n, most) {
				bodies = append(bodies, body(min(n, most)))
			}
			return withBodies(bodies)
		}
	}
	labels := func(n int) []byte {
		return code(opBlock, void, i32(0), 0x0e, uleb(uint64(n)), make([]byte, n+1), opEnd)
	}
	values := fmt.Sprintf("values that instructions hand on at once, beyond %d of each", valuesFree)
	return []heldLimit{
		{row: values, code: valuesOfFunctionMax, module: one(none, handsOn), reason: "values beyond 16 each; the limit is"},
		{row: values, nth: 1, code: valuesOfModuleMax, module: spread(valuesOfFunctionMax, func(n int) []byte { return bodyOf(0, handsOn(n)) }), reason: "functions hand on more than"},
		{row: "locals of a function", code: localsMax, module: one(func(n int) int { return n }, func(int) []byte { return nil }), reason: "locals; the limit is"},
		{row: "locals of a function", nth: 1, code: localsOfModuleMax, module: spread(localsMax, func(n int) []byte { return bodyOf(n, nil) }), reason: "locals in all"},
		{row: "code of a function", code: functionCodeBytesMax, module: one(none, func(n int) []byte { return bytes.Repeat([]byte{0x01}, n-1) }), reason: "bytes of code; the limit is"},
		{row: "nesting of blocks", code: nestingMax - 1, module: one(none, func(n int) []byte { return code(repeated(n, opBlock, void), repeated(n, opEnd)) }), reason: "nests more than 1023 blocks"},
		{row: "blocks of a function", code: blocksOfFunctionMax, module: one(none, blocks), reason: "blocks; the limit is"},
		{row: "work to compile", nth: 0, code: functionsOfWork},
		{row: "work to compile", nth: 1, code: defaultOptions.WorkMax},
		{row: "locals × blocks", code: localsTimesBlocksMax, module: one(func(int) int { return 500 }, func(n int) []byte { return blocks(n / 500) }), step: 500, reason: "their product may be"},
		{row: "locals × blocks", nth: 1, code: blockLocalsModuleMax, module: spread(localsTimesBlocksMax, func(n int) []byte {
			locals := max(1, min(500, n))
			return bodyOf(locals, blocks(n/locals))
		}), reason: "products of locals and blocks"},
		{row: fmt.Sprintf("pairs of branches to one label × locals of a function, by %d;", branchPairsPerBlock), code: localsTimesBlocksMax, module: one(func(int) int { return 1000 }, func(n int) []byte {
			branches := 0
			for (branches+1)*branches/branchPairsPerBlock*1000 <= n {
				branches++
			}
			return repeated(branches, i32(0), 0x0d, 0)
		}), step: 2000, reason: "branches to one label count as more"},
		{row: "labels of a br_table", code: targetsMax, module: one(none, labels), reason: "labels; the limit is"},
		{row: "labels of a br_table", nth: 1, code: targetsOfModuleMax, module: spread(targetsMax, func(n int) []byte { return bodyOf(0, labels(n)) }), reason: "labels in all"},
	}
}

// TestLimitsOfModules: the numbers of the page are those of the code, what is at a limit is
// taken, and what is beyond it is refused for that. What compiling costs is not in the way.
func TestLimitsOfModules(t *testing.T) {
	page, held := pageLimits(t, "Of one module, by the scanner"), map[string][]bool{}
	options := Options{WorkMax: WorkCeiling}
	for _, limit := range append(moduleLimits(), codeLimits()...) {
		row, number := numberOf(t, page, limit)
		if held[row] == nil {
			held[row] = make([]bool, len(page[row]))
		}
		held[row][limit.nth] = true
		if limit.module == nil || number != limit.code {
			continue
		}
		if _, err := Inspect(limit.module(number), options); err != nil {
			t.Errorf("%s: %d is refused: %v", row, number, err)
		}
		_, err := Inspect(limit.module(number+max(limit.step, 1)), options)
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.Contains(refused.Reason, limit.reason) {
			t.Errorf("%s: beyond %d: %v; want … %s …", row, number, err, limit.reason)
		}
	}
	for row, numbers := range page {
		for nth, number := range numbers {
			if held[row] == nil || !held[row][nth] {
				t.Errorf("%s: nothing holds the %d", row, number)
			}
		}
	}
}

// numberOf is what the page says of a limit, which must be what the code has.
func numberOf(t *testing.T, page map[string][]int, limit heldLimit) (row string, number int) {
	t.Helper()
	for row = range page {
		if strings.HasPrefix(row, limit.row) && len(page[row]) > limit.nth {
			if number = page[row][limit.nth]; number != limit.code {
				t.Errorf("%s: the page says %d, the code %d", row, number, limit.code)
			}
			return row, number
		}
	}
	t.Fatalf("the page has no number %d of %q", limit.nth, limit.row)
	return "", 0
}

// TestLimitsOfCallsAreThePage holds the defaults of what runs, and what a call may do so often.
func TestLimitsOfCallsAreThePage(t *testing.T) {
	d := defaultOptions
	page := pageLimits(t, "Of what runs, in a call:")
	for _, limit := range []heldLimit{
		{row: "fuel of a pair", code: d.FuelPerCall}, {row: "fuel for each op", code: d.FuelPerOp}, {row: "fuel of a start", code: d.FuelPerStart},
		{row: "depth of calls", code: d.StackBytesMax}, {row: "memory", code: int(d.MemoryPagesMax) * pageBytes},
		{row: "bytes of a frame", code: d.FrameBytesMax}, {row: "bytes of its effects", code: d.EffectsBytesMax},
		{row: "log lines", code: d.LogLinesMax}, {row: "log lines", nth: 1, code: d.MessageBytesMax}, {row: "waits", code: d.WaitsMax},
	} {
		numberOf(t, page, limit)
	}
	// times is code that does something so often, counted in call's first parameter.
	times := func(n int, body []byte) []byte {
		return code(i32(int32(n)), opLocalSet, 0, opLoop, void, body,
			opLocalGet, 0, i32(-1), opI32Add, opLocalTee, 0, 0x0d, 0, opEnd, effectsAt(0, 0))
	}
	run := func(call []byte, imports ...string) (*guest, error) {
		g := instantiate(t, load(t, Options{}, guestThat(nil, call, imports...).bytes()))
		_, err := g.run(8)
		return g, err
	}
	lines := page["log lines of a call; bytes of one"]
	for _, beyond := range []int{0, 1} {
		if g, err := run(times(lines[0]+beyond, code(i32(1), i32(64), i32(0), opCall, 0)), abi.ImportLog); err != nil || len(g.logged) != lines[0]+beyond ||
			strings.Contains(g.logged[len(g.logged)-1], "1 more line") != (beyond == 1) {
			t.Errorf("%d lines beyond %d: %d were logged, the last: %q, %v", beyond, lines[0], len(g.logged), g.logged[len(g.logged)-1], err)
		}
		g, err := run(code(i32(1), i32(0), i32(int32(lines[1]+beyond)), opCall, 0, effectsAt(0, 0)), abi.ImportLog)
		if want := 2 + len("<00>")*lines[1]; err != nil || len(g.logged) != 1 || len(g.logged[0]) != want {
			t.Errorf("a line of %d bytes beyond %d: %d lines, want one of %d bytes as shown; %v", beyond, lines[1], len(g.logged), want, err)
		}
		_, err = run(times(page["waits for time to pass in a call"][0]+beyond, code(i32(64), i32(2048), i32(1), i32(32), opCall, 0, opDrop)), "poll_oneoff")
		var fault *Fault
		if limited := errors.As(err, &fault) && fault.Kind == abi.FaultOverLimit; limited != (beyond == 1) || !limited && err != nil {
			t.Errorf("%d waits beyond the limit: %v", beyond, err)
		}
		grow := code(i32(int32(page["memory"][0]/pageBytes-1+beyond)), opMemoryGrow, 0, i32(-1), opI32Eq, opIf, void, opUnreachable, opEnd, effectsAt(0, 0))
		if _, err := run(grow); (err != nil) != (beyond == 1) {
			t.Errorf("%d pages beyond the memory: %v", beyond, err)
		}
	}
}

// padded is a module of so many bytes.
func padded(n int) []byte {
	wasm := goodModule().bytes()
	const header = 1 + 4 // of a section so large
	rest := n - len(wasm) - header
	return append(wasm, section(sectionCustom, append(text("padding"), make([]byte, rest-len("padding")-1)...))...)
}

// typesOf are so many types: those of goodModule, some more, and the rest of nothing.
func typesOf(n int, more ...signature) []byte {
	var list []signature
	for _, f := range goodModule().funcs {
		list = append(list, f.signature)
	}
	list = append(list, more...)
	content := uleb(uint64(n))
	for _, s := range append(list, make([]signature, n-len(list))...) {
		content = append(content, 0x60)
		for _, letters := range []string{s.params, s.results} {
			content = append(append(content, uleb(uint64(len(letters)))...), valueTypes(letters)...)
		}
	}
	return content
}

// withBodies is goodModule with more functions of its marker's type, and two more types.
func withBodies(bodies [][]byte) []byte {
	return edited(func(b *builder) {
		count := uleb(uint64(3 + len(bodies)))
		functions, content := append(count, 0, 1, 2), slices.Clone(count)
		for _, f := range b.funcs {
			content = append(content, section(0, bodyOf(0, f.body))[1:]...)
		}
		for _, body := range bodies {
			functions = append(functions, 0)
			content = append(content, section(0, body)[1:]...)
		}
		b.extra = map[byte][]byte{sectionFunction: functions, sectionCode: content,
			sectionType: typesOf(5, signature{"", strings.Repeat("i", valuesInTypeMax)}, signature{"", strings.Repeat("i", valuesFree+1)})}
	})
}

// handsOn is code that hands on so many values beyond those that are free, by the types of withBodies.
func handsOn(n int) []byte {
	const many = valuesInTypeMax - valuesFree
	return code(repeated(n/many, opCallIndirect, 3, 0), repeated(n%many, opCallIndirect, 4, 0))
}

// bodyOf is a function's body with its locals and its end.
func bodyOf(locals int, body []byte) []byte {
	if locals == 0 {
		return code(0, body, opEnd)
	}
	return code(1, uleb(uint64(locals)), 0x7f, body, opEnd)
}

// elementsOf are segments of so many entries each.
func elementsOf(entries ...int) []byte {
	content := uleb(uint64(len(entries)))
	for _, n := range entries {
		content = append(content, code(0, i32(0), opEnd, uleb(uint64(n)), make([]byte, n))...)
	}
	return content
}

// manyNames is a name section with maps of so many names without a letter.
func manyNames(maps ...int) customContent {
	var content []byte
	for _, n := range maps {
		names := append(uleb(uint64(n)), make([]byte, 2*n)...)
		content = append(content, section(1, names)...)
	}
	return customContent{"name", string(content)}
}
