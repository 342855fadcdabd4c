package sandbox

import (
	"fmt"

	"github.com/wasmstream/wasmstream/host/sandbox/opcode"
)

// What a module costs to compile, in units of about a tenth of a microsecond of one
// processor: so measured, with meters, on what C, Rust and Go make, and on functions that
// consist of one instruction and what it needs, of which none took more than a tenth over
// its estimate, and most less. For each unit the compiler takes up to 300 bytes until the
// function is done.
//
// A function that is larger than the processor's caches takes longer than its parts. And
// the compiler finds out for each place where control parts or meets from which others it
// is reached, and walks along all of them for it: so it takes as long as the square of
// their number.
const (
	workPerFunction    = 50
	workPerPart        = 12
	workPerLabel       = 12
	workPerValue       = 3         // that is handed on, see valueCounter
	labelsPerPart      = 2         // of br_tables
	unitPairsPerWork   = 300_000   // pairs of units of one function
	labelPairsPerWork  = 200       // pairs of labels of br_tables
	accessPairsPerWork = 400       // pairs of loads and stores
	partsSquarePerWork = 50        // pairs of parts
	loopLocalsPerWork  = 100       // pairs of loops, by locals
	localsInRegisters  = 64        // with more, each read and write counts twice
	workStep           = 1_000_000 // in which a limit is proposed
	functionsOfWork    = 14        // a function may have so much of WorkMax
)

// work is what a module costs to compile.
type work struct {
	all, greatest int // of all functions; of the greatest of them
	at            int // where that is
}

// worked adds what a function costs.
func (s *scanner) worked(start, cost int) {
	s.work.all += workPerFunction + cost
	if cost > s.work.greatest {
		s.work.greatest, s.work.at = cost, start
	}
}

// workLimit holds what all functions cost against the limit. It is looked at behind the last
// one, so that a refusal can tell what limit would do.
func (s *scanner) workLimit() {
	most := s.options.WorkMax
	needs := max(s.work.all, functionsOfWork*s.work.greatest)
	if s.err != nil || needs <= most {
		return
	}
	raise := "no limit allows that: split it"
	if enough := (needs/workStep + 1) * workStep; enough <= WorkCeiling {
		raise = fmt.Sprintf("for a module that you trust, limits: {compile: %d} at the top of the job file raises it, or --compile=%d where there is no job", enough, enough)
	}
	if s.work.greatest > most/functionsOfWork {
		s.refuse(RefusedLimit, s.work.at, "compiling a function takes an estimated %d units of work; the limit is %d, a %dth of the %d of a module: %s",
			s.work.greatest, most/functionsOfWork, functionsOfWork, most, raise)
		return
	}
	s.refuse(RefusedLimit, s.work.at, "compiling it takes an estimated %d units of work; the limit is %d: %s", s.work.all, most, raise)
}

// workCounter estimates what one function costs.
type workCounter struct {
	units  int // beside what parts cost
	parts  int // places where control parts or meets, meters counted
	labels int // of br_tables
	loops  int
	access int // loads and stores: each leaves if it is out of bounds
	locals int // reads and writes of locals
}

func (w *workCounter) step(i *opcode.Instruction) {
	w.units += int(workOf[i.Op])
	w.parts += int(partsOf[i.Op])
	switch op := i.Op; op {
	case opcode.Loop:
		w.loops++
	case opcode.LocalGet, opcode.LocalSet, opcode.LocalTee:
		w.locals++
	case opcode.BrTable:
		w.labels += int(i.Targets)
	case opcode.Misc:
		switch {
		case i.Sub < opcode.MemoryInit: // conversions of floats
			w.units += 30
		case i.Sub == opcode.MemoryFill:
			w.units += 140
			w.parts += 10
		default:
			w.units += 90
			w.parts += 5
		}
	default:
		if op >= firstAccess && op <= lastAccess {
			w.access++
		}
	}
}

// sum is the cost of the function, with what is counted elsewhere.
func (w *workCounter) sum(locals, more int) int {
	units := w.units + workPerPart*w.parts + workPerLabel*w.labels + more
	if locals > localsInRegisters {
		units += w.locals
	}
	parts := w.parts + w.labels/labelsPerPart
	return units + units*units/unitPairsPerWork + parts*parts/partsSquarePerWork +
		w.labels*w.labels/labelPairsPerWork + w.access*w.access/accessPairsPerWork + w.loops*w.loops*locals/loopLocalsPerWork
}

// workOf and partsOf are what instructions add.
var workOf, partsOf = func() (units, parts [256]uint8) {
	for _, r := range workRanges {
		for op := int(r.first); op <= int(r.last); op++ {
			units[op] = r.units
		}
	}
	for op, n := range map[byte]uint8{
		opcode.Block: 1, opcode.Loop: 4, opcode.If: 4, opcode.Br: 3, opcode.BrIf: 3, opcode.BrTable: 3,
		opcode.Return: 2, opcode.Unreachable: 2, opcode.MemoryGrow: 3, opcode.CallIndirect: 1,
	} {
		parts[op] = n
	}
	return units, parts
}()

// Loads and stores are the opcodes between these.
const firstAccess, lastAccess = 0x28, 0x3e

// workRanges are what instructions cost, from the first to the last opcode; later ones count.
var workRanges = []struct{ first, last, units byte }{
	{0x00, 0xff, 1},
	{opcode.Call, opcode.Call, 12}, {opcode.CallIndirect, opcode.CallIndirect, 76},
	{0x1b, 0x1b, 5},                       // select
	{opcode.LocalSet, opcode.LocalTee, 7}, // where control meets, one of two
	{0x23, 0x24, 4},                       // globals
	{firstAccess, lastAccess, 24},         // loads and stores: each may be out of bounds
	{0x3f, 0x3f, 20},                      // memory.size
	{0x40, 0x40, 40},                      // memory.grow
	{0x43, 0x44, 2},                       // constants of floats
	{0x45, 0x5a, 5},                       // comparisons
	{0x5b, 0x66, 6},                       // of floats
	{0x67, 0x69, 3},                       // counts of bits
	{0x6a, 0x6c, 4},                       // sums and products
	{0x6d, 0x70, 28},                      // divisions
	{0x71, 0x78, 5},                       // bits and shifts
	{0x79, 0x7b, 3},                       // the same of 64 bits
	{0x7c, 0x7e, 4},                       //
	{0x7f, 0x82, 32},                      //
	{0x83, 0x8a, 5},                       //
	{0x8b, 0x8c, 6},                       // signs of floats
	{0x8d, 0x91, 3},                       // roundings and roots
	{0x92, 0x95, 4},                       // sums, products and quotients
	{0x96, 0x97, 14},                      // the lesser and the greater
	{0x98, 0x98, 11},                      // copies of signs
	{0x99, 0x9a, 6},                       // the same of 64 bits
	{0x9b, 0x9f, 3},                       //
	{0xa0, 0xa3, 4},                       //
	{0xa4, 0xa5, 14},                      //
	{0xa6, 0xa6, 11},                      //
	{0xa8, 0xab, 46},                      // conversions of floats that may fail
	{0xac, 0xad, 3},                       // extensions
	{0xae, 0xb1, 46},                      // conversions of floats that may fail
	{0xb2, 0xbf, 3},                       // others, and casts
	{0xb5, 0xb5, 18},                      // from 64 bits without a sign
	{0xba, 0xba, 18},                      //
	{0xc0, 0xc4, 3},                       // extensions
}
