package meter

import (
	"math"

	"github.com/wasmstream/wasmstream/host/sandbox/opcode"
)

// Where to charge what.
//
// A node that is kept is charged for the dearest way from it to where control is charged
// again or leaves the function: so whichever way it takes is paid for, and the nodes on it
// that are not kept cost nothing at run time. What is behind a loop is charged for with
// what is before the loop, once and not for each round. The entry and the heads of loops
// are kept, and as few others as it takes for a charge to be not much more than what is
// then executed (invariant B).

// vainMax is what a charge may be more than the cheapest way, unless that costs as much
// itself. Tuned by measurement (BenchmarkRoles).
const vainMax = 512

// roundsMax is how often it is decided anew what is kept, with more each time. Two or three
// times are enough, but for functions that are made to need more: of those all is kept.
const roundsMax = 16

// never is what a way costs at least that ends in a trap: nothing was charged in vain.
const never = math.MaxUint32

// A way is what control does from a place until it is charged again or the function ends:
// what that costs at most and at least, and the node it comes by first.
type way struct {
	most, least uint32
	first       int
}

// A block is one that is open, seen from its end.
type block struct {
	behind way  // where branches to it go
	other  way  // of an if, what its else does; of a loop, what is behind it
	forks  bool // whether there is an else
	inside int  // how many loops it lies in, itself too
}

// ways is what is known on the walk from the last node to the first.
type ways struct {
	in     []byte // the module
	nodes  []node
	blocks []block
	loops  []int // those of the blocks that are loops
	more   bool  // whether a node was kept that had not been before
}

// settle decides which nodes are kept, and what is charged there.
func (f *function) settle() {
	w := &f.ways
	w.nodes = f.nodes
	w.nodes[0].kept = true
	for n := 1; w.round(); n++ {
		if n == roundsMax {
			for at := range w.nodes {
				w.nodes[at].kept = true
			}
		}
	}
}

// round finds the way that begins at each node, from the last to the first, and sets the
// charges of those that are kept. It tells whether it had to keep more.
func (w *ways) round() (more bool) {
	w.blocks, w.loops, w.more = w.blocks[:0], w.loops[:0], false
	var here way
	for at := len(w.nodes) - 1; at >= 0; at-- {
		n := &w.nodes[at]
		here.most, here.first = here.most+n.cost, at
		if here.least != never {
			here.least += n.cost
		}
		if n.kept {
			n.charge, here.most, here.least = here.most, 0, 0
		}
		here = w.before(n, here)
	}
	return w.more
}

// before returns the way that begins before a node's instruction, of the one behind it.
func (w *ways) before(n *node, here way) way {
	top := len(w.blocks) - 1
	switch n.op {
	case opcode.End:
		if n.ends == opcode.Loop {
			w.loops = append(w.loops, top+1)
			w.blocks = append(w.blocks, block{other: here, inside: len(w.loops)})
			return way{}
		}
		w.blocks = append(w.blocks, block{behind: here, inside: len(w.loops)})
	case opcode.Else:
		w.blocks[top].other, w.blocks[top].forks = here, true
		return w.now(w.blocks[top].behind)
	case opcode.Block, opcode.Loop, opcode.If:
		b := w.blocks[top]
		w.blocks = w.blocks[:top]
		switch {
		case n.op == opcode.Loop:
			n.charge = max(n.charge, 1)
			w.loops = w.loops[:len(w.loops)-1]
			return w.now(b.other)
		case n.op == opcode.If && b.forks:
			return w.either(here, w.now(b.other))
		case n.op == opcode.If:
			return w.either(here, w.now(b.behind))
		}
	case opcode.BrIf:
		return w.either(here, w.target(n.label))
	case opcode.Br:
		return w.target(n.label)
	case opcode.BrTable:
		return w.table(n)
	case opcode.Return:
		return w.target(uint32(top))
	case opcode.Unreachable:
		return way{least: never}
	}
	return here
}

// table is one way of as many as a br_table has.
func (w *ways) table(n *node) way {
	c := opcode.NewCursor(w.in, int(n.label), int(n.at))
	more := c.U32()
	here := w.target(c.U32())
	for range more {
		here = w.either(here, w.target(c.U32()))
	}
	return here
}

// target returns the way behind a branch. What is behind a loop that is left is charged
// for with what is before it.
func (w *ways) target(label uint32) way {
	to := len(w.blocks) - 1 - int(label)
	if inside := w.blocks[to].inside; inside < len(w.loops) {
		left := &w.blocks[w.loops[inside]]
		left.other = w.either(w.now(left.other), w.now(w.blocks[to].behind))
		return way{}
	}
	return w.now(w.blocks[to].behind)
}

// now is a way that was found before, with what was decided since.
func (w *ways) now(found way) way {
	if w.nodes[found.first].kept {
		found.most, found.least = 0, 0
	}
	return found
}

// either is where control goes one way or the other. A way that is much dearer than the
// other is charged for apart.
func (w *ways) either(a, b way) way {
	for range 2 {
		if a.most < b.most {
			a, b = b, a
		}
		if b.least != never && a.most > b.least+max(b.least, vainMax) {
			w.nodes[a.first].kept, w.more = true, true
			a.most, a.least = 0, 0
		}
	}
	if a.most < b.most {
		a, b = b, a
	}
	a.least = min(a.least, b.least)
	return a
}
