package runtime

import (
	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Sliding windows whose aggregate merges share panes: a record is added to the
// contents of its pane alone, and a firing puts together those of the window's
// panes. A pane is kept like a window, under its own bounds. A window that shares
// panes has no contents, but the set of its panes that hold something.
//
// Invariants:
//
//	(S) A shared window has taken every record that its panes hold. So a window
//	    begins shared only if they hold nothing yet. They hold something only after
//	    a restart, which takes the watermark back: then a window that was over can
//	    come up again while later ones still need its panes. Such a window keeps
//	    contents of its own.
//	(C) A pane is cleared with the last of its windows. Windows are cleared in the
//	    order of their starts, so that is the one that begins last.

// sharedCell is held by the entry of a window that shares panes: a bit for each.
const sharedCell = triggerCell

// panesMax is how many panes a window may have.
const panesMax = 1024

// panes is what the executor needs for them.
type panes struct {
	fn       aggregator
	length   int64 // milliseconds
	slide    int64 // milliseconds
	perWin   int   // panes of a window
	restored bool  // invariant S has to be looked after
	parts    []state.Ref
	added    bool // the present record is in its pane
	all      bool // all windows of the present record are shared
}

// newPanes makes what windows need to share panes; nil if they cannot.
func newPanes(core *window.Core, o *window.Options) *panes {
	p := &panes{length: core.Pane(), slide: o.Assigner.Slide}
	if p.length == 0 || o.Assigner.Size/p.length > panesMax || o.Evictor != nil {
		return nil
	}
	p.perWin = int(o.Assigner.Size / p.length)
	return p
}

// setBytes is the width of sharedCell.
func (p *panes) setBytes() int { return (p.perWin + 63) / 64 * 8 }

// at is pane i of a window.
func (p *panes) at(w window.Window, i int) window.Window {
	start := w.Start + int64(i)*p.length
	return window.Window{Start: start, End: start + p.length}
}

// admit decides for each window that is new with the present record whether it
// shares panes.
func (o *windowOperator) admit() {
	p := o.panes
	p.added, p.all = false, true
	for _, w := range o.windows {
		if !o.core.Takes(w, o.facts.Now) {
			continue
		}
		r := o.ref(w)
		switch {
		case o.backend.Has(r, sharedCell):
		case o.contents.has(r) || o.span == window.Window{} || p.restored && o.holdsPane(w):
			p.all = false
		default:
			o.backend.Hold(r, sharedCell)
			clear(o.backend.Edit(r, sharedCell))
		}
	}
}

func (o *windowOperator) holdsPane(w window.Window) bool {
	for i := range o.panes.perWin {
		if o.contents.has(o.ref(o.panes.at(w, i))) {
			return true
		}
	}
	return false
}

// takeIn adds the present record to the contents of a window.
func (o *windowOperator) takeIn(w window.Window, s side, row stream.Row, t stream.EventTime) error {
	p := o.panes
	if p == nil || !o.backend.Has(o.ref(w), sharedCell) {
		return o.contents.add(o.ref(w), s, row, t)
	}
	if p.added {
		return nil
	}
	p.added = true
	if !o.contents.has(o.ref(o.span)) {
		o.announce()
	}
	return o.contents.add(o.ref(o.span), s, row, t)
}

// announce tells the windows of the present record that its pane holds something
// from now on.
func (o *windowOperator) announce() {
	for _, w := range o.windows {
		if r := o.ref(w); o.backend.Has(r, sharedCell) {
			i := int((o.span.Start - w.Start) / o.panes.length)
			o.backend.Edit(r, sharedCell)[i/8] |= 1 << (i % 8)
		}
	}
}

// fire puts out the result of a window whose contents are kept under another.
func (o *windowOperator) fire(w, contents window.Window) error {
	r := o.ref(contents)
	if o.panes != nil && o.backend.Has(r, sharedCell) {
		return o.firePanes(r, w)
	}
	return o.fireAt(r, w)
}

// fireAt puts out the result of a window whose contents are kept at r.
func (o *windowOperator) fireAt(r state.Ref, w window.Window) error {
	if !o.contents.has(r) {
		return nil
	}
	o.stats.Firings.Add(1)
	return o.contents.fire(r, w)
}

func (o *windowOperator) firePanes(r state.Ref, w window.Window) error {
	p := o.panes
	p.parts = p.parts[:0]
	set := o.backend.Value(r, sharedCell)
	for i := range p.perWin {
		if set[i/8]>>(i%8)&1 != 0 {
			p.parts = append(p.parts, o.ref(p.at(w, i)))
		}
	}
	if len(p.parts) == 0 {
		return nil
	}
	o.stats.Firings.Add(1)
	return p.fn.combine(r, p.parts, w)
}

// forget clears the contents of a window, and the panes that no later one has.
func (o *windowOperator) forget(w, contents window.Window) {
	r := o.ref(contents)
	o.contents.clear(r)
	if o.panes == nil {
		return
	}
	p := o.panes
	shared := o.backend.Has(r, sharedCell)
	set := o.backend.Value(r, sharedCell)
	for i := range int(p.slide / p.length) {
		if !shared || set[i/8]>>(i%8)&1 != 0 {
			o.contents.clear(o.ref(p.at(w, i)))
		}
	}
	o.backend.Clear(r, sharedCell)
}
