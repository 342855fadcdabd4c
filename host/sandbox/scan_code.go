package sandbox

import (
	"math"

	"github.com/wasmstream/wasmstream/host/sandbox/opcode"
)

// Limits on code, from what the engine's compiler takes its time for: measured, a
// function at one of them takes it a second at most. Go's compiler comes nearest:
// it nests a block for each place where a function may be resumed.
const (
	nestingMax           = 1024
	blocksOfFunctionMax  = 5_000
	targetsMax           = 10_000  // of one br_table
	targetsOfModuleMax   = 500_000 // of all
	localsTimesBlocksMax = 250_000 // of one function, parameters counted
	blockLocalsModuleMax = 4_000_000
	functionCodeBytesMax = 2 << 20
)

// instructions walks a function's code. What it takes has no instruction that the
// host does not take, and ends where the function does.
func (s *scanner) instructions(function, start, locals int) {
	if s.err != nil {
		return
	}
	if s.left() > functionCodeBytesMax {
		s.refuse(RefusedLimit, start, "a function has %d bytes of code; the limit is %d", s.left(), functionCodeBytesMax)
		return
	}
	var results uint16
	if function < len(s.functions) {
		t := &s.types[s.functions[function]]
		locals, results = locals+int(t.params), t.results
	}
	r := opcode.Reader{Data: s.data, At: s.at, End: s.end}
	open, blocks := 1, 0
	s.counter.begin(results)
	s.cost = workCounter{}
	s.crowds.begin()
	var i opcode.Instruction
	for open > 0 {
		if err := r.Next(&i); err != nil {
			s.refuseCode(start, err)
			return
		}
		switch i.Op {
		case opcode.Block, opcode.Loop, opcode.If:
			open++
			blocks++
			if open > nestingMax {
				s.refuse(RefusedLimit, i.At, "a function nests more than %d blocks", nestingMax-1)
				return
			}
		case opcode.End:
			open--
		case opcode.BrTable:
			if !s.targets(&i) {
				return
			}
		}
		s.counter.step(&i)
		s.crowds.step(&i)
		s.cost.step(&i)
	}
	if r.At != r.End {
		s.refuse(RefusedMalformed, r.At, "a function has %d bytes after its end", r.End-r.At)
	}
	s.blocks(start, blocks, locals, s.crowds.sum)
	s.moved(start, s.counter.sum)
	s.worked(start, s.cost.sum(locals, s.crowds.sum/branchPairsPerBlock+(blocks+1)*locals+workPerValue*(s.counter.all+s.crowds.further*locals)))
	s.at = s.end
}

func (s *scanner) refuseCode(start int, err *opcode.Error) {
	kind := RefusedMalformed
	switch {
	case err.Offset == s.end:
		s.refuse(RefusedMalformed, start, "a function's code does not end with the instruction end")
		return
	case err.Feature:
		kind = RefusedFeature
	case err.Truncated:
		kind = RefusedTruncated
	}
	s.refuse(kind, err.Offset, "%s", err.Reason)
}

// targets counts the labels of a br_table.
func (s *scanner) targets(i *opcode.Instruction) bool {
	if i.Targets > targetsMax {
		s.refuse(RefusedLimit, i.At, "a br_table has %d labels; the limit is %d", i.Targets, targetsMax)
	}
	if s.branchTargets += int(i.Targets); s.branchTargets > targetsOfModuleMax {
		s.refuse(RefusedLimit, i.At, "the functions' br_tables have more than %d labels in all", targetsOfModuleMax)
	}
	return s.err == nil
}

// blocks holds a function's number of blocks against the limits: the compiler keeps
// book of each local in each block, and of each pair of branches to one label.
func (s *scanner) blocks(start, blocks, locals, crowd int) {
	product := (blocks + crowd/branchPairsPerBlock) * max(locals, 1)
	switch s.blockLocals += product; {
	case blocks > blocksOfFunctionMax:
		s.refuse(RefusedLimit, start, "a function has %d blocks; the limit is %d", blocks, blocksOfFunctionMax)
	case product > localsTimesBlocksMax:
		s.refuse(RefusedLimit, start, "a function has %d locals and %d blocks, where branches to one label count as more; their product may be %d",
			locals, product/max(locals, 1), localsTimesBlocksMax)
	case s.blockLocals > blockLocalsModuleMax:
		s.refuse(RefusedLimit, start, "the products of locals and blocks of its functions add up to more than %d", blockLocalsModuleMax)
	}
}

// branchPairsPerBlock is how many pairs of branches to one label take the compiler as long
// as a block does. The worst of Go's functions has 140 branches to a label.
const branchPairsPerBlock = 400

// branchCrowds counts pairs of branches that go to one label.
type branchCrowds struct {
	labels  [nestingMax + 1]uint16 // branches to each open block, as far as they can be counted
	open    int
	sum     int
	further int // branches beyond two of a label: what locals hold is handed on with each
}

func (b *branchCrowds) begin() { b.labels[0], b.open, b.sum, b.further = 0, 1, 0, 0 }

// step counts an instruction; what is not valid is for the engine to refuse.
func (b *branchCrowds) step(i *opcode.Instruction) {
	switch i.Op {
	case opcode.Block, opcode.Loop, opcode.If:
		b.labels[b.open] = 0
		b.open++
	case opcode.End:
		b.open--
	case opcode.Br, opcode.BrIf:
		if at := b.open - 1 - int(i.Index); at >= 0 {
			b.sum += 2 * int(b.labels[at])
			if b.labels[at] >= 2 {
				b.further++
			}
			b.labels[at] += min(1, math.MaxUint16-b.labels[at])
		}
	}
}
