package guest

import (
	"slices"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Sifting is a Role that can do without single elements of lists. When an op fails because
// of some, it is asked about the others: Done, or Fault, is about these.
type Sifting interface {
	// Sifted says that an op is asked without element n of its list, counted as the list
	// was added, since the function fails on it alone. Calls for an op are in the order of
	// its list.
	Sifted(op, n int, err error) error
}

// siftedMax bounds how many elements of a list are found to be at fault: each is a call.
const siftedMax = 1000

// sifted is an element that a function fails on.
type sifted struct {
	n     int
	fault error
	spent int64 // see Caller.Spent
}

// blame says what is at fault when an op fails alone: elements of its list, or the op.
func (c *Caller) blame(i int, fault error) error {
	spent := c.spent
	found, err := c.sift(i, fault)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		if err := c.leaveOut(i, found); err != nil {
			return err
		}
		if list := c.listOf(i); list.from == list.to {
			return c.role.Done(i) // as if nobody had asked
		}
		err := c.call(i, i+1)
		if err == nil {
			return nil
		}
		spent = c.spent
		if fault, err = c.mend(err); err != nil {
			return err
		}
	}
	c.spent = spent
	c.tell(fault)
	return c.role.Fault(i, fault)
}

func (c *Caller) tell(fault error) {
	if w, ok := c.instance.(Watching); ok {
		w.Faulted(KindOf(fault))
	}
}

// leaveOut takes elements out of the list of an op.
func (c *Caller) leaveOut(i int, found []sifted) error {
	for _, x := range found {
		c.spent = x.spent
		c.tell(x.fault)
		if err := c.sifting.Sifted(i, x.n, x.fault); err != nil {
			return err
		}
	}
	list := &c.contexts[c.ops[i].context].list
	kept := list.from
	for j := list.from; j < list.to; j++ {
		if len(found) > 0 && list.from+found[0].n == j {
			found = found[1:]
			continue
		}
		c.elements[kept] = c.elements[j]
		kept++
	}
	list.to = kept
	return nil
}

// listOf are the elements that an op is about, in c.elements; none, if it has no list.
func (c *Caller) listOf(i int) listRange {
	o := &c.ops[i]
	if o.context == noContext || c.contexts[o.context].list.merged {
		return listRange{}
	}
	return c.contexts[o.context].list
}

// sift finds the elements of an op's list that it fails on though each is alone, among the
// halves that it fails on. It finds none where only several of them together are too much.
// An evictor that fails on no elements, too, fails on everything.
func (c *Caller) sift(i int, fault error) (found []sifted, err error) {
	list := c.listOf(i)
	n := list.to - list.from
	if c.sifting == nil || n == 0 || c.ops[i].row != noRow {
		return nil, nil
	}
	if err := c.search(i, 0, n, fault, &found); err != nil {
		return nil, err
	}
	if c.ops[i].kind == abi.OpEvict && len(found) == min(n, siftedMax) {
		if none, err := c.probe(i, 0, 0); none != nil || err != nil {
			return nil, err
		}
	}
	return found, nil
}

// search goes through elements from..to, which the op was found to fail on.
func (c *Caller) search(i, from, to int, fault error, found *[]sifted) error {
	if to-from == 1 {
		*found = append(*found, sifted{from, fault, c.spent})
		return nil
	}
	middle := from + (to-from)/2
	for _, half := range [2][2]int{{from, middle}, {middle, to}} {
		if len(*found) == siftedMax {
			return nil
		}
		fault, err := c.probe(i, half[0], half[1])
		if err == nil && fault != nil {
			err = c.search(i, half[0], half[1], fault, found)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// probe asks about an op with elements from..to of its list only, and takes nothing of the
// answer.
func (c *Caller) probe(i, from, to int) (fault, err error) {
	ops, rows, contexts, ctx, elements := len(c.ops), len(c.rows), len(c.contexts), len(c.ctx), len(c.elements)
	c.addPart(i, from, to)
	c.probing = true
	_, _, err = c.pose(ops, ops+1)
	c.probing = false
	c.ops, c.rows, c.contexts, c.ctx, c.elements = c.ops[:ops], c.rows[:rows], c.contexts[:contexts], c.ctx[:ctx], c.elements[:elements]
	if err == nil {
		return nil, nil
	}
	return c.mend(err)
}

// addPart adds an op that is another one but for its list.
func (c *Caller) addPart(i, from, to int) {
	o, end := c.ops[i], c.endOfRows(i)
	x := c.contexts[o.context]
	all := c.elements[x.list.from:x.list.to]
	o.rows, o.context = uint32(len(c.rows)), int32(len(c.contexts))
	fixed := c.ctx[x.at : x.at+uint32(x.bytes)]
	x.at, x.list = uint32(len(c.ctx)), listRange{from: len(c.elements), to: len(c.elements) + to - from}
	o.arg = x.at
	c.ctx = append(append(c.ctx, fixed...), make([]byte, x.list.bytes())...)
	if x.key != noRow {
		upTo := end
		if len(all) > 0 && all[0].Row > x.key {
			upTo = all[0].Row
		}
		key := x.key
		x.key = uint32(len(c.rows))
		c.rows = append(c.rows, c.rows[key:upTo]...)
	}
	if from < to {
		first, at := all[from].Row, uint32(len(c.rows))
		if to < len(all) {
			end = all[to].Row
		}
		c.rows = append(c.rows, c.rows[first:end]...)
		for _, e := range all[from:to] {
			e.Row += at - first
			c.elements = append(c.elements, e)
		}
	}
	c.ops, c.contexts = append(c.ops, o), append(c.contexts, x)
}

// endOfRows is where the rows of an op end.
func (c *Caller) endOfRows(i int) uint32 {
	if i+1 < len(c.ops) {
		return c.ops[i+1].rows
	}
	return uint32(len(c.rows))
}

// ElementOf is element n of the list of op i, with its row, of the schema of its input.
// It is a view.
func (c *Caller) ElementOf(i, n int, schemas ...*stream.Schema) (Element, stream.Row) {
	e := c.elements[c.listOf(i).from+n]
	row := stream.Row(c.rows[e.Row:])
	return e, slices.Clip(row[:schemas[min(int(e.Input), len(schemas)-1)].RowBytes(row)])
}
