package runtime

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	guests "github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// aggregator is the function of a windowed step, on the accumulators that the
// backend keeps.
type aggregator interface {
	// create makes the entry's accumulator anew, of no records.
	create(r state.Ref) error
	add(r state.Ref, row stream.Row, t stream.EventTime) error
	// settle makes sure that the backend tells whether an accumulator has a record.
	settle(r state.Ref) error
	// merge takes the accumulator of another entry in, which is cleared then.
	merge(into, from state.Ref) error
	// result puts out the result of the accumulator, for a window.
	result(r state.Ref, w window.Window) error
	// retire says that the results of a window will not change any more.
	retire(r state.Ref, w window.Window)
	// forget says that the accumulator of an entry is about to be cleared.
	forget(r state.Ref)
	// discard forgets an accumulator that was scratch, once its result is out.
	discard(r state.Ref)
	// combine puts out the result of several accumulators together, for a window.
	// They stay as they are; the accumulator at r, which is not held, is scratch.
	combine(r state.Ref, parts []state.Ref, w window.Window) error
	watermark(t stream.EventTime)
	complete() error
}

// accumulated contents are an accumulator.
type accumulated struct {
	aggregator
	backend state.Backend
}

func (c *accumulated) add(r state.Ref, _ side, row stream.Row, t stream.EventTime) error {
	if !c.backend.Has(r, contentsCell) {
		c.backend.Hold(r, contentsCell)
		if err := c.create(r); err != nil {
			return err
		}
	}
	return c.aggregator.add(r, row, t)
}

func (c *accumulated) has(r state.Ref) bool { return c.backend.Has(r, contentsCell) }

func (c *accumulated) fire(r state.Ref, w window.Window) error { return c.result(r, w) }

func (c *accumulated) merge(into, from state.Ref) error {
	if err := c.settle(from); err != nil || !c.has(from) {
		return err
	}
	if !c.has(into) {
		c.backend.Hold(into, contentsCell)
		if err := c.create(into); err != nil {
			return err
		}
	}
	err := c.aggregator.merge(into, from)
	c.backend.Clear(from, contentsCell) // not before: one of variable width is gone then
	return err
}

func (c *accumulated) clear(r state.Ref) {
	if c.has(r) {
		c.forget(r)
	}
	c.backend.Clear(r, contentsCell)
}

func (c *accumulated) pump() bool { return true }

// listed contents are all records, in order of arrival: for an evictor, or for a
// function that wants them.
type listed struct {
	backend state.Backend
	evictor *window.Evictor // nil: none
	asked   *evictor        // of an evictor that is a function
	values  [2]*number      // what a delta evictor compares, by side
	fn      listFunction
	placed  *faults // who knows where the record at hand was read; nil: nobody wants to

	elements []listedRow
	times    []stream.EventTime
	numbers  []float64
	keep     []bool
	buf      []byte
	place    []byte
}

// placeBytesMax bounds where a record was read, which is kept with it.
const placeBytesMax = 1<<16 - 1

// listFunction is what is made of the records of a firing.
type listFunction interface {
	// ready comes before the list at r is read for a firing: records may leave it.
	ready(r state.Ref, w window.Window) error
	fire(r state.Ref, w window.Window, rows []listedRow) error
	// settleList comes before the list at r changes other than by more records, and gone
	// when it is cleared.
	settleList(r state.Ref) error
	gone(r state.Ref)
	retire(r state.Ref, w window.Window)
	pump() bool
	watermark(t stream.EventTime)
	complete() error
}

// listedRow is a record in a list, a view.
type listedRow struct {
	row   stream.Row
	time  stream.EventTime
	side  side
	place []byte // where it was read, for people; empty: it is not known
}

// listedHeaderBytes stand before each row: its time, its length, its side, and in three
// bytes the length of its place, which stands behind the row.
const listedHeaderBytes = 16

func (c *listed) add(r state.Ref, s side, row stream.Row, t stream.EventTime) error {
	e := listedRow{row: row, time: t, side: s}
	if c.placed != nil {
		c.place = c.placed.origin.AppendTo(c.place[:0])
		e.place = c.place[:min(len(c.place), placeBytesMax)]
	}
	c.buf = appendListed(c.buf[:0], e)
	c.backend.Append(r, contentsCell, c.buf)
	return nil
}

func appendListed(b []byte, e listedRow) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(e.time))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(e.row)))
	b = binary.LittleEndian.AppendUint32(b, uint32(e.side)|uint32(len(e.place))<<8)
	b = append(b, e.row...)
	if len(e.place) == 0 {
		return b
	}
	b = append(b, e.place...)
	return append(b, noColumns[:-len(e.place)&7]...)
}

func (c *listed) has(r state.Ref) bool { return c.backend.Has(r, contentsCell) }

func (c *listed) fire(r state.Ref, w window.Window) error {
	if err := c.fn.ready(r, w); err != nil {
		return err
	}
	c.read(r)
	before := len(c.elements)
	if before == 0 {
		return nil // all have left it just now
	}
	if c.evictor != nil && !c.evictor.After {
		if err := c.evict(r, w); err != nil {
			return err
		}
	}
	if len(c.elements) > 0 {
		if err := c.fn.fire(r, w, c.elements); err != nil {
			return err
		}
	}
	if c.evictsAfter() {
		if err := c.fn.settleList(r); err != nil {
			return err
		}
		if err := c.evict(r, w); err != nil {
			return err
		}
	}
	if len(c.elements) < before {
		c.writeBack(r)
	}
	return nil
}

func (c *listed) evictsAfter() bool { return c.evictor != nil && c.evictor.After }

func (c *listed) read(r state.Ref) {
	c.elements = c.elements[:0]
	for b := c.backend.Value(r, contentsCell); len(b) > 0; {
		n := listedHeaderBytes + int(binary.LittleEndian.Uint32(b[8:]))
		end := n + int(binary.LittleEndian.Uint32(b[12:])>>8)
		c.elements = append(c.elements, listedRow{
			row:   stream.Row(b[listedHeaderBytes:n:n]),
			time:  stream.EventTime(binary.LittleEndian.Uint64(b)),
			side:  side(b[12]),
			place: b[n:end:end],
		})
		b = b[n+(end-n+7)&^7:]
	}
}

// takeOut takes the records of a firing that the function failed on out of the window's,
// for good; n counts those that it was given, in order.
func (c *listed) takeOut(r state.Ref, n []int) {
	if !c.evictsAfter() {
		c.read(r) // nothing has gone since
	}
	kept := c.elements[:0]
	for i, e := range c.elements {
		if len(n) > 0 && n[0] == i {
			n = n[1:]
			continue
		}
		kept = append(kept, e)
	}
	c.elements = kept
	if !c.evictsAfter() {
		c.writeBack(r) // else fire does
	}
}

func (c *listed) evict(r state.Ref, w window.Window) (err error) {
	if c.asked != nil {
		c.keep, err = c.asked.evict(c.keep[:0], c.backend.Key(r), w, c.elements)
	} else {
		c.keep, err = c.evictBuiltIn()
	}
	if err != nil {
		return err
	}
	kept := c.elements[:0]
	for i, e := range c.elements {
		if c.keep[i] {
			kept = append(kept, e)
		}
	}
	c.elements = kept
	return nil
}

// evictBuiltIn decides which of the elements stay.
func (c *listed) evictBuiltIn() ([]bool, error) {
	c.times, c.numbers, c.keep = c.times[:0], c.numbers[:0], c.keep[:0]
	for _, e := range c.elements {
		c.times = append(c.times, e.time)
		if v := c.values[e.side]; v != nil {
			c.numbers = append(c.numbers, v.value(e.row))
		}
	}
	return c.evictor.Evict(c.keep, len(c.elements), c.times, c.numbers)
}

// writeBack makes the list what was not evicted.
func (c *listed) writeBack(r state.Ref) {
	c.buf = c.buf[:0]
	for _, e := range c.elements {
		c.buf = appendListed(c.buf, e)
	}
	if len(c.buf) == 0 {
		c.backend.Clear(r, contentsCell)
		return
	}
	c.backend.Put(r, contentsCell, c.buf)
}

func (c *listed) merge(into, from state.Ref) error {
	if err := c.fn.settleList(from); err != nil {
		return err
	}
	c.buf = append(c.buf[:0], c.backend.Value(from, contentsCell)...)
	if len(c.buf) > 0 {
		c.backend.Append(into, contentsCell, c.buf)
	}
	c.backend.Clear(from, contentsCell)
	return nil
}

func (c *listed) clear(r state.Ref) {
	c.fn.gone(r)
	c.backend.Clear(r, contentsCell)
}

func (c *listed) retire(r state.Ref, w window.Window) { c.fn.retire(r, w) }
func (c *listed) pump() bool                          { return c.fn.pump() }
func (c *listed) watermark(t stream.EventTime)        { c.fn.watermark(t) }
func (c *listed) complete() error                     { return c.fn.complete() }

// crossProduct is what a window join makes of a firing: each left row with each
// right one, and rows whose other side is empty with NULLs, where the join is
// outer.
type crossProduct struct {
	nothingLost
	out     *output
	results results
	pads    [2]stream.Row // a row of each side, all NULL; nil: fn makes the rows
	outer   [2]bool
	fn      *pairs // nil: a pair is put out as it is
	now     *window.Now

	rows   [2][]stream.Row // of the firing
	copied []byte          // their bytes: the list may change before they are all out
	window window.Window
	left   int // next pair
	right  int
}

func (f *crossProduct) fire(_ state.Ref, w window.Window, rows []listedRow) error {
	f.finish()
	size := 0
	for _, e := range rows {
		size += len(e.row)
	}
	f.copied = slices.Grow(f.copied[:0], size)
	f.rows[left], f.rows[right] = f.rows[left][:0], f.rows[right][:0]
	for _, e := range rows {
		at := len(f.copied)
		f.copied = append(f.copied, e.row...)
		f.rows[e.side] = append(f.rows[e.side], stream.Row(f.copied[at:]))
	}
	for s := range f.rows {
		if len(f.rows[s]) == 0 && f.outer[1-s] {
			f.rows[s] = append(f.rows[s], f.pads[s])
		}
	}
	f.window, f.left, f.right = w, 0, 0
	f.pump()
	return nil
}

// finish puts out the rest of the firing before, whatever the batch's limits: a
// record that fires several windows is rare.
func (f *crossProduct) finish() {
	for ; f.left < len(f.rows[left]); f.left++ {
		for ; f.right < len(f.rows[right]); f.right++ {
			f.put(f.rows[left][f.left], f.rows[right][f.right])
		}
		f.right = 0
	}
}

func (f *crossProduct) put(l, r stream.Row) {
	if f.fn == nil {
		f.results.put(f.out, l, r, f.window)
		return
	}
	f.fn.put(l, r, guests.Context{
		Time: f.window.MaxTimestamp(), Watermark: int64(f.now.Watermark), Clock: int64(f.now.Clock), Start: f.window.Start, End: f.window.End,
	})
}

func (f *crossProduct) pump() bool {
	for ; f.left < len(f.rows[left]); f.left++ {
		for ; f.right < len(f.rows[right]); f.right++ {
			if f.out.isFull() {
				return false
			}
			f.put(f.rows[left][f.left], f.rows[right][f.right])
		}
		f.right = 0
	}
	return true
}

func (f *crossProduct) watermark(t stream.EventTime) {
	if f.fn != nil {
		f.fn.watermark(t)
		return
	}
	f.results.watermark(f.out, t)
}

func (f *crossProduct) retire(state.Ref, window.Window) {}

func (f *crossProduct) complete() error {
	if f.fn != nil {
		return f.fn.complete()
	}
	return nil
}

// results lays out the rows that a windowed step puts out: the key, the
// aggregate's columns, the window's bounds.
type results struct {
	join       *stream.Join
	bounded    bool // a global window has no bounds
	start, end stream.Column
	ledger     *ledger         // nil: each firing's row stands for itself
	apply      *windowFunction // nil: the row is put out as it is
	failed     *output         // of dead letters; nil: none
}

func newResults(join *stream.Join, out *stream.Schema, bounded bool) results {
	w := results{join: join, bounded: bounded}
	if n := out.Len(); bounded {
		w.start, w.end = out.Column(n-2), out.Column(n-1)
	}
	return w
}

// put appends the result of one firing to an output; its event time is the
// window's last millisecond. The first row is the key, but for a join.
func (w *results) put(o *output, first, second stream.Row, of window.Window) {
	if w.apply != nil {
		w.apply.result(first, second, of)
		return
	}
	row := o.batch.AppendJoined(w.join, first, second, stream.Insert, stream.EventTime(of.MaxTimestamp()))
	if w.bounded {
		w.start.PutInt64(row, of.Start)
		w.end.PutInt64(row, of.End)
	}
	if w.ledger != nil {
		w.ledger.record(o, first, of)
	}
}

// keepsWindows says that it is to be told of windows that are over.
func (w *results) keepsWindows() bool {
	return w.ledger != nil || w.apply != nil && w.apply.keepsWindows()
}

func (w *results) retire(key stream.Row, of window.Window) {
	switch {
	case w.ledger != nil:
		w.ledger.retire(key, of)
	case w.keepsWindows():
		w.apply.end(key, of)
	}
}

// watermark goes behind all results so far.
func (w *results) watermark(o *output, t stream.EventTime) {
	if w.apply != nil {
		w.apply.watermark(t)
		return
	}
	o.batch.Mark(stream.MarkWatermark, int64(t))
	if w.failed != nil {
		w.failed.batch.Mark(stream.MarkWatermark, int64(t))
	}
}

// number is a column whose values are numbers: a record's own gap, or what a
// delta compares.
type number struct{ stream.Column }

// value is the number as a DOUBLE; NULL is NaN, which no distance reaches.
func (n *number) value(r stream.Row) float64 {
	switch {
	case n.IsNull(r):
		return math.NaN()
	case n.Type.Kind == stream.Int:
		return float64(n.Int32(r))
	case n.Type.Kind == stream.Float:
		return float64(n.Float32(r))
	case n.Type.Kind == stream.Double:
		return n.Float64(r)
	}
	return float64(n.Int64(r))
}

// gap is a record's own gap, in milliseconds.
func (n *number) gap(r stream.Row) (int64, error) {
	if n.IsNull(r) {
		return 0, fmt.Errorf("column %q is NULL, and it is the record's gap: it must be more than 0 ms", n.Name)
	}
	gap := n.Int64(r)
	if n.Type.Kind == stream.Int {
		gap = int64(n.Int32(r))
	}
	if gap <= 0 {
		return 0, fmt.Errorf("column %q is %d, and it is the record's gap: it must be more than 0 ms", n.Name, gap)
	}
	return gap, nil
}
