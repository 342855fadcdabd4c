package sandbox

import "github.com/wasmstream/wasmstream/host/sandbox/opcode"

// Limits on values that instructions hand on together. With functions and blocks of a
// thousand results, each instruction of two bytes moves a thousand values, and a module
// of kilobytes takes the engine's compiler minutes and gigabytes. Compilers make hardly
// any instruction that moves more than valuesFree.
const (
	valuesFree          = 16
	valuesOfFunctionMax = 100_000 // beyond valuesFree of each instruction
	valuesOfModuleMax   = 400_000
)

// valueCounter counts what the instructions of a function move at once.
type valueCounter struct {
	s      *scanner
	labels [nestingMax + 1]uint16 // values that a branch to an open block takes along
	open   int
	all    int
	sum    int // beyond valuesFree of each
}

func (v *valueCounter) begin(results uint16) { v.labels[0], v.open, v.all, v.sum = results, 1, 0, 0 }

// step counts an instruction; what is not valid is for the engine to refuse.
func (v *valueCounter) step(i *opcode.Instruction) {
	switch i.Op {
	case opcode.Block, opcode.Loop, opcode.If:
		t := v.s.blockType(i.Block)
		v.move(int(t.params) + int(t.results))
		v.labels[v.open] = t.results
		if i.Op == opcode.Loop {
			v.labels[v.open] = t.params
		}
		v.open++
	case opcode.End:
		v.open--
	case opcode.Br, opcode.BrIf:
		v.move(v.label(i.Index))
	case opcode.BrTable:
		// All labels take as many. One value is what many compilers pass.
		n := int(i.Targets) * max(v.label(i.Index)-1, 0)
		v.all, v.sum = v.all+n, v.sum+n
	case opcode.Return:
		v.move(int(v.labels[0]))
	case opcode.Call:
		if t := v.s.calleeType(i.Index); t != nil {
			v.move(int(t.params) + int(t.results))
		}
	case opcode.CallIndirect:
		if int64(i.Index) < int64(len(v.s.types)) {
			t := &v.s.types[i.Index]
			v.move(int(t.params) + int(t.results))
		}
	}
}

func (v *valueCounter) move(n int) {
	v.all += n
	v.sum += max(n-valuesFree, 0)
}

func (v *valueCounter) label(depth uint32) int {
	if int64(depth) >= int64(v.open) {
		return 0
	}
	return int(v.labels[v.open-1-int(depth)])
}

// blockType is what a block takes and leaves.
func (s *scanner) blockType(b opcode.BlockType) functionType {
	switch {
	case b >= 0 && int64(b) < int64(len(s.types)):
		return s.types[b]
	case b < 0 && b != opcode.BlockVoid:
		return functionType{results: 1}
	}
	return functionType{}
}

// calleeType is the type of a function, nil if there is none.
func (s *scanner) calleeType(index uint32) *functionType {
	switch n := int64(index) - int64(len(s.imports)); {
	case n < 0:
		return &s.types[s.imports[index].typeIndex]
	case n < int64(len(s.functions)):
		return &s.types[s.functions[n]]
	}
	return nil
}

// moved holds what a function's instructions move at once against the limits.
func (s *scanner) moved(start, sum int) {
	switch s.values += sum; {
	case sum > valuesOfFunctionMax:
		s.refuse(RefusedLimit, start, "the instructions of a function hand on %d values beyond %d each; the limit is %d", sum, valuesFree, valuesOfFunctionMax)
	case s.values > valuesOfModuleMax:
		s.refuse(RefusedLimit, start, "the instructions of its functions hand on more than %d values beyond %d each", valuesOfModuleMax, valuesFree)
	}
}
