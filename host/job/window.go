package job

import (
	"slices"
	"strings"

	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/stream"
)

// isEventTime tells of windows that the watermark closes; global ones have no
// end, so for Flink they are not.
func isEventTime(o *window.Options) bool {
	return !o.Assigner.Processing && o.Assigner.Kind != window.GlobalWindows
}

func (b *builder) buildWindow(p *producer) {
	n, s := p.node.get(windowOperation), p.sides[0]
	w := &Window{
		Options:    b.windowOptions(p, n),
		LateOutput: p.late(s),
		Output:     OutputMode(wordIndex(p.node.get("output"), outputWords[:])),
	}
	w.GapField, w.TriggerField, w.EvictorField = s.gap, s.trigger, s.evictor
	p.step.Window = w
	p.changing = w.Output != Append
	p.step.Changing = p.changing
	keys := b.keyBy(p)
	fields := slices.Clone(keys)
	added, known := b.aggregate(p, keys)
	fields = append(fields, added...)
	bounds := 0
	if w.Options.Assigner.Kind != window.GlobalWindows {
		fields = append(fields, windowBounds...)
		bounds = len(windowBounds)
	}
	if known && keys != nil && b.checkClash(p, fields, len(keys), bounds) {
		p.output = stream.MustSchema(fields...)
	}
	b.warnWindow(p, n)
}

// windowBounds are the columns of a window's result that tell which it is.
var windowBounds = []stream.Field{{Name: windowStart, Type: bigint}, {Name: windowEnd, Type: bigint}}

// windowOptions reads assigner, trigger, evictor and lateness. The columns that
// they name are looked up on each side of the step.
func (b *builder) windowOptions(p *producer, n *node) window.Options {
	at := p.path + "." + windowOperation
	var o window.Options
	known := b.assigner(p, n, at, &o.Assigner)
	o.AllowedLateness = number(n.get("allowed-lateness"), 0)
	o.Trigger = b.trigger(p, n.get("trigger"), at+".trigger", known)
	if o.Trigger != nil && *o.Trigger == defaultTrigger(&o.Assigner) { // the core shares panes under it alone
		o.Trigger = nil
	}
	o.Evictor = b.evictor(p, n.get("evictor"), at+".evictor")
	for _, s := range p.sides {
		if s.timeless == "" || known == nil || !isEventTime(&o) {
			continue
		}
		const need = "%s has windows of event time, and the source %s gives no timestamp"
		if o.Assigner.Kind == window.Session {
			b.warn(n, at, need+": all its records would be in one session at the beginning of time; give it event-time or ingestion-time", s.shown, s.timeless)
			continue
		}
		b.wrong(n, at, need+": give it event-time or ingestion-time", s.shown, s.timeless)
	}
	return o
}

// defaultTrigger is the assigner's own.
func defaultTrigger(a *window.Assigner) window.Trigger {
	switch {
	case a.Kind == window.GlobalWindows:
		return window.Trigger{Kind: window.Never}
	case a.Processing:
		return window.Trigger{Kind: window.ProcessingTime}
	}
	return window.Trigger{Kind: window.EventTime}
}

// assigner reads which windows there are into a, and returns it if that is known.
func (b *builder) assigner(p *producer, n *node, at string, a *window.Assigner) *window.Assigner {
	for _, kind := range []struct {
		name string
		read func(p *producer, n *node, at string, a *window.Assigner)
	}{{"tumbling", b.tumbling}, {"sliding", b.sliding}, {"session", b.session}, {"global", b.global}} {
		if m := n.get(kind.name); m != nil && m.ok {
			a.Processing = text(m.get("time")) == "processing"
			kind.read(p, m, at+"."+kind.name, a)
			return a
		}
	}
	return nil
}

func (b *builder) tumbling(_ *producer, n *node, at string, a *window.Assigner) {
	a.Kind, a.Size, a.Offset = window.Tumbling, number(n.get("size"), 0), number(n.get("offset"), 0)
	b.checkOffset(n, at, a, a.Size, "window's size")
	b.zone(n, at, a, "size")
}

func (b *builder) sliding(_ *producer, n *node, at string, a *window.Assigner) {
	a.Kind, a.Size, a.Offset = window.Sliding, number(n.get("size"), 0), number(n.get("offset"), 0)
	a.Slide = number(n.get("slide"), 0)
	b.checkOffset(n, at, a, a.Slide, "slide")
	b.zone(n, at, a, "size", "slide")
	if a.Slide > 0 && a.Size/a.Slide > window.WindowsPerRecordMax {
		b.wrong(n.get("slide"), at+".slide", "Each record would be in %d windows, and %d are the most: for a size of %s the slide must be at least %s; it is %s",
			a.Size/a.Slide, window.WindowsPerRecordMax, formatDuration(a.Size), formatDuration((a.Size+window.WindowsPerRecordMax-1)/window.WindowsPerRecordMax), n.get("slide").written)
	}
}

func (b *builder) session(p *producer, n *node, at string, a *window.Assigner) {
	a.Kind, a.Gap = window.Session, number(n.get("gap"), 0)
	a.Overlapping = text(n.get("merge")) == "overlapping"
	if f := n.get("gap-field"); f != nil {
		a.GapByRecord = true
		for _, s := range p.sides {
			s.gap = b.numberColumn(s, f, at+".gap-field", "A gap", "INT or BIGINT, in milliseconds", stream.Int, stream.BigInt)
		}
	}
}

func (b *builder) global(_ *producer, _ *node, _ string, a *window.Assigner) {
	a.Kind = window.GlobalWindows
}

// checkOffset wants an offset that is less than one period away.
func (b *builder) checkOffset(n *node, at string, a *window.Assigner, period int64, what string) {
	o := n.get("offset")
	if o == nil || !o.ok || period <= 0 || a.Offset < period && a.Offset > -period {
		return
	}
	near := ""
	if a.Offset%period != 0 {
		near = "; did you mean " + formatDuration(a.Offset%period) + "?"
	}
	b.wrong(o, at+".offset", "The offset must be smaller than the %s, which is %s; it is %s%s", what, formatDuration(period), o.written, near)
}

// zone reads a time zone, which only windows of whole days can follow.
func (b *builder) zone(n *node, at string, a *window.Assigner, fields ...string) {
	z := n.get("time-zone")
	if text(z) == "" {
		return
	}
	for _, name := range fields {
		if m := n.get(name); m != nil && m.ok && m.number%day != 0 {
			b.wrong(m, at+"."+name, "With a time-zone windows are of whole days, whatever their length, so the %s must be a number of days, such as 1d; it is %s", name, m.written)
		}
	}
	if b.o.Zone == nil {
		b.wrong(z, at+".time-zone", "Time zones cannot be looked up here")
		return
	}
	var err error
	a.Zone, err = b.o.Zone(z.text)
	if err != nil || z.text == "Local" { // Local would be another zone on another machine
		b.wrong(z, at+".time-zone", "There is no time zone %s; it is the name of a place in the zone database, such as Europe/Berlin", quote(z.written))
	}
}

// numberColumn finds a column of numbers, -1 if there is none on the side.
func (b *builder) numberColumn(s *side, n *node, at, noun, wanted string, kinds ...stream.TypeKind) int {
	column := b.column(s, n, n.text, at)
	if column < 0 {
		return -1
	}
	switch t := s.input.Fields()[column].Type; {
	case slices.Contains(kinds, t.Kind):
		return column
	case t.Kind == stream.Decimal && slices.Contains(kinds, stream.Double):
		b.later(n.line, n.column, at, "The column %s is %s; %s of that type is not offered yet", n.text, t, strings.ToLower(noun[:1])+noun[1:])
	default:
		b.wrong(n, at, "%s must be %s; the column %s is %s", noun, wanted, n.text, t)
	}
	return -1
}

// warnWindow tells of what a window drops, keeps or never does.
func (b *builder) warnWindow(p *producer, n *node) {
	w, at := p.step.Window, p.path+"."+windowOperation
	o := &w.Options
	late, lateness := n.get("late-output"), n.get("allowed-lateness")
	switch {
	case isEventTime(o) && late == nil:
		b.warn(n, at, "Records that come too late for the windows of %s are dropped and only counted; late-output makes a stream of them", p.name)
	case !isEventTime(o):
		if late != nil {
			b.warn(late, at+".late-output", "Only windows of event time have late records, so nothing will come out of %s.%s", p.name, w.LateOutput)
		}
		if lateness != nil {
			b.warn(lateness, at+".allowed-lateness", "Only windows of event time have late records, so allowed-lateness does nothing")
		}
	}
	b.warnOptions(p, n, o)
	if o.Evictor != nil {
		b.warn(n.get("evictor"), at+".evictor", "An evictor chooses among a window's records, so the windows of %s keep every record until they are forgotten, instead of only their aggregate", p.name)
	}
}

// warnOptions tells of what is as odd for a window join.
func (b *builder) warnOptions(p *producer, n *node, o *window.Options) {
	const many = 1000
	a, at, trigger := o.Assigner, p.path+"."+windowOperation, n.get("trigger")
	if a.Kind == window.GlobalWindows && o.Trigger == nil && (trigger == nil || trigger.ok) {
		b.warn(n, at, "Global windows put nothing out unless a trigger fires them, such as {count: 100}, and %s has none that does", p.name)
	}
	if t := continuous(o.Trigger); a.Kind == window.GlobalWindows && t != nil {
		b.warn(trigger, at+".trigger", "A global window has no end, so where the input of %s ends its continuous-event-time trigger fires every %d ms up to the end of time, and the job does not end; it is for input without an end", p.name, t.Interval)
	}
	if a.Slide > 0 && a.Size/a.Slide > many {
		b.warn(n.get("sliding"), at+".sliding", "Each record is in %d windows, which fire one after the other", a.Size/a.Slide)
	}
}

// continuous finds the trigger that fires again and again in event time.
func continuous(t *window.Trigger) *window.Trigger {
	for ; t != nil && t.Kind != window.ContinuousEventTime; t = t.Nested {
	}
	return t
}
