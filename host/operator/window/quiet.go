package window

// This file says which decisions repeat, so that a caller need not ask for each
// record again. It is never needed for a right result.

// quietness says while when the records of a window change nothing but its
// contents, after the first of them.
type quietness uint8

const (
	neverQuiet quietness = iota
	quietUntilEnd
	alwaysQuiet
)

// quietness of a core: plain windows that fire when their own time has passed.
func (c *Core) quietness() quietness {
	t := &c.trigger
	for t.Kind == Purging {
		t = t.Nested
	}
	switch {
	case c.Merges():
	case c.event && t.Kind == EventTime:
		return quietUntilEnd
	case !c.event && t.Kind == ProcessingTime:
		return alwaysQuiet
	}
	return neverQuiet
}

// IsQuiet says that a record of the window would be appended and would set timers
// that are the same for each of its records, and that is all. Who has set them for
// one record need not for the next ones, until a timer of the window is taken out:
// so long they are still set. After a restart, which takes the watermark back,
// they may not be.
func (c *Core) IsQuiet(w Window, now Now) bool {
	switch c.quiet {
	case quietUntilEnd:
		return w.MaxTimestamp() > int64(now.Watermark)
	case alwaysQuiet:
		return true
	}
	return false
}

// spanLimit is where spans end: beyond, windows may wrap around.
const spanLimit = 1 << 62

// Span is a span of times around t whose records have the same windows: a tumbling
// window, a pane of sliding ones. It is empty where there is none. Time is that of
// the assigner, event time or the clock.
func (c *Core) Span(t int64) Window {
	if c.pane == 0 || t <= -spanLimit || t >= spanLimit {
		return Window{}
	}
	start := floor(t, c.assigner.Offset, c.pane)
	return Window{Start: start, End: start + c.pane}
}

// paneLength is how long spans are; 0: there are none.
func (a *Assigner) paneLength() int64 {
	switch {
	case a.Zone != nil:
	case a.Kind == Tumbling:
		return a.Size
	case a.Kind == Sliding:
		x, y := a.Size, a.Slide
		for y != 0 {
			x, y = y, x%y
		}
		return x
	}
	return 0
}

// Pane is the length of the spans whose contents sliding windows may share: each
// window is a run of them, fires what they hold as a whole, and is cleared after
// those that began before it. It is 0 if there are none, or if they are so much
// shorter than the slide that they are not worth it.
func (c *Core) Pane() int64 {
	a := &c.assigner
	if a.Kind == Sliding && a.Size > a.Slide && c.event && c.trigger.Kind == EventTime && 4*c.pane >= a.Slide {
		return c.pane
	}
	return 0
}

// Takes says that the window is not over.
func (c *Core) Takes(w Window, now Now) bool { return !c.isOver(w, now) }

// Contains tells whether the window holds a moment.
func (w Window) Contains(t int64) bool { return w.Start <= t && t < w.End }
