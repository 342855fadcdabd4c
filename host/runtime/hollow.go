package runtime

import (
	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/state"
)

// hollow is what an aggregate knows of accumulators that no record has come to, since the
// function has failed on all that were to be added. To all others they are not there:
// nothing is put out of one, it is not merged, and its entry does not hold it when the
// frame is done. What happened before the aggregate was asked stays: the window's timers,
// how far a session reaches, what a trigger has counted. That is so in Flink, too, if a
// function swallows what it fails on. rewinds cannot take it back: it works because nothing
// that was decided has been carried out by then. Here it has, for all keys of the frame and
// across the marks among its records: values, parts, timers, late output. Each of them would
// have to be noted before it changes, for faults that do not come.
//
// It costs nothing until something fails: the ops before are gone over then.
type hollow struct {
	watches bool // ops of the present frame failed, or its first accumulator is left
	// left is scratch that had no record when the frame before was done; valid if isLeft.
	// Only the accumulator that was used last goes on in another frame.
	left   state.Ref
	isLeft bool
}

// takesUp tells of an accumulator that a frame begins with whether no record has come to
// it; its ops are watched then.
func (h *hollow) takesUp(r state.Ref) bool {
	if !h.isLeft || h.left != r {
		return false
	}
	h.watches = true
	return true
}

// watch begins with the first op that failed; all before it came out well.
func (g *guest) watch(op int) {
	if g.watches {
		return
	}
	g.watches = true
	for i := range op {
		g.came(i)
	}
}

// came notes an op that came out well.
func (g *guest) came(i int) {
	if kind, group := g.caller.Op(i); kind == abi.OpAdd || kind == abi.OpMerge {
		g.groups[group].filled = true
	}
}

// settleHollow makes the backend agree, when a frame is done.
func (g *guest) settleHollow() {
	if len(g.groups) > 0 {
		last := &g.groups[len(g.groups)-1]
		g.left, g.isLeft = last.ref, g.watches && !last.filled && g.cell == accumulatorCell
	}
	if !g.watches {
		return
	}
	g.watches = false
	if g.cell == accumulatorCell {
		return // scratch: it is not held
	}
	for i := range g.groups {
		// One that was made again since then is another.
		if x := &g.groups[i]; !x.filled && x.gone == 0 && g.groupOf[x.ref].slot == uint32(i) {
			g.backend.Clear(x.ref, g.cell)
		}
	}
}
