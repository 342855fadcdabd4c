package sandbox

import "github.com/wasmstream/wasmstream/host/sandbox/opcode"

// What a module costs to compile, in units of which the engine's compiler does at least
// four in a microsecond and for each of which it takes some hundred bytes until a function is
// done: measured, with meters, on the instructions that take it longest. The second worst of
// what people write are Go's functions, of which a megabyte has some three million units.
//
// The compiler finds out for each place where control parts or meets from which others it
// is reached, and walks along all of them for it: so it takes as long as the square of
// their number.
const (
	workPerFunction    = 50
	workPerPart        = 32
	workPerLabel       = 4
	workPerValue       = 4  // that is handed on, see valueCounter
	partsSquarePerWork = 50 // pairs of parts
	functionsOfWork    = 40 // a function may have so much of WorkMax
)

// work is what a module costs to compile.
type work struct{ all, greatest int } // of all functions; of the greatest of them

// worked holds what a function costs against the limits.
func (s *scanner) worked(start, cost int) {
	s.work.all += workPerFunction + cost
	s.work.greatest = max(s.work.greatest, cost)
	switch {
	case cost > s.options.WorkMax/functionsOfWork:
		s.refuse(RefusedLimit, start, "a function takes an estimated %d units of work to compile; the limit is %d: split it", cost, s.options.WorkMax/functionsOfWork)
	case s.work.all > s.options.WorkMax:
		s.refuse(RefusedLimit, start, "its functions take more than an estimated %d units of work to compile", s.options.WorkMax)
	}
}

// workCounter estimates what one function costs.
type workCounter struct {
	units int // beside what parts cost
	parts int // places where control parts or meets, meters counted
}

func (w *workCounter) step(i *opcode.Instruction) {
	w.units += int(workOf[i.Op])
	w.parts += int(partsOf[i.Op])
	switch i.Op {
	case opcode.BrTable:
		w.units += workPerLabel * int(i.Targets)
	case opcode.Misc:
		switch {
		case i.Sub < opcode.MemoryInit: // conversions of floats
			w.units += 40
		case i.Sub == opcode.MemoryFill:
			w.parts += 7
		default:
			w.parts += 3
		}
	}
}

// sum is the cost of the function.
func (w *workCounter) sum() int {
	return w.units + workPerPart*w.parts + w.parts*w.parts/partsSquarePerWork
}

// workOf and partsOf are what instructions add.
var workOf, partsOf = func() (units, parts [256]uint8) {
	for op := range units {
		switch {
		case op >= 0x28 && op <= 0x3e: // loads and stores: each may be out of bounds
			units[op] = 20
		case op >= 0x6d && op <= 0x70, op >= 0x7f && op <= 0x82: // division
			units[op] = 24
		case op >= 0xa8 && op <= 0xab, op >= 0xae && op <= 0xb1: // conversions of floats that may fail
			units[op] = 60
		default:
			units[op] = 1
		}
	}
	units[opcode.Call], units[opcode.CallIndirect], units[opcode.MemoryGrow] = 12, 80, 60
	units[0x3f] = 20 // memory.size
	for op, n := range map[byte]uint8{
		opcode.Block: 1, opcode.Loop: 4, opcode.If: 2, opcode.Else: 2, opcode.Br: 3, opcode.BrIf: 3, opcode.BrTable: 3,
		opcode.Return: 3, opcode.Unreachable: 3, opcode.MemoryGrow: 2,
	} {
		parts[op] = n
	}
	return units, parts
}()
