package reference

import "slices"

// result is a row that was put out for a window and may be taken back.
type result struct {
	span span
	row  row
}

// put puts a firing's row out, as the step's output mode has it. A result is known
// by its key and the start of its window, so a session that grew at its end
// replaces the row from before.
//
//	append     each firing's row as +I
//	update     the row before as -U and the new one as +U; nothing if they are equal
//	changelog  as update, and the rows of sessions that became part of this one
//	           as -D
//	complete   all rows of the key from before as -D, all that there are now as +I
func (w *windowStep) put(id paneID, r row) {
	if w.mode == "append" {
		w.send(id.span, "", r)
		return
	}
	before := w.results[id.key]
	now := slices.DeleteFunc(slices.Clone(before), func(old result) bool {
		inside := w.window.kind == "session" && w.mode != "update" && id.span.contains(old.span)
		return inside || old.span.start == id.span.start
	})
	now = append(now, result{id.span, r})
	w.results[id.key] = now
	if w.mode == "complete" {
		for _, old := range before {
			w.send(old.span, "-D", old.row)
		}
		for _, present := range now {
			w.send(present.span, "", present.row)
		}
		return
	}
	change := ""
	for _, old := range before {
		switch {
		case old.span.start == id.span.start && old.row.text() == r.text():
			return
		case old.span.start == id.span.start:
			change = "+U"
			w.send(old.span, "-U", old.row)
		case !slices.ContainsFunc(now, func(n result) bool { return n.span == old.span }):
			w.send(id.span, "-D", old.row)
		}
	}
	w.send(id.span, change, r)
}

func (w *windowStep) send(s span, change string, r row) {
	if s.last() == minTime { // which in a scenario is no time, and in Flink is one
		w.doubts.differ("a window whose last millisecond is the lower limit")
	}
	w.outputs[""].record(record{row: r, change: change, time: s.last()})
}

// retire forgets what was put out for a window that is gone: nothing can take it
// back any more.
func (w *windowStep) retire(id paneID) {
	w.results[id.key] = slices.DeleteFunc(w.results[id.key], func(r result) bool {
		return r.span == id.span || w.window.kind == "session" && id.span.contains(r.span)
	})
}
