package job

import (
	"slices"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
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
	w := &Window{LateOutput: p.late(s), Output: OutputMode(wordIndex(p.node.get("output"), outputWords[:]))}
	p.step.Window = w
	keys := b.keyBy(p)
	w.Options = b.windowOptions(p, n, keys, &w.Functions)
	w.GapField, w.TriggerField, w.EvictorField = s.gap, s.trigger, s.evictor
	p.changing = w.Output != Append
	p.step.Changing = p.changing
	added, known := b.condense(p, keys)
	if apply := p.node.get("apply"); apply != nil || p.node.has("apply") {
		b.apply(p, apply, keys, added, known)
		b.warnWindow(p, n)
		b.warnGlobal(p, n, keys)
		return
	}
	fields := append(slices.Clone(keys), added...)
	bounds := 0
	if w.Options.Assigner.Kind != window.GlobalWindows {
		fields = append(fields, windowBounds...)
		bounds = len(windowBounds)
	}
	if known && keys != nil && b.checkClash(p, fields, len(keys), bounds) {
		p.output = stream.MustSchema(fields...)
	}
	b.warnWindow(p, n)
	b.warnGlobal(p, n, keys)
}

// apply binds the window function, whose input is what aggregate or reduce made of the
// records, or the records.
func (b *builder) apply(p *producer, n *node, keys, added []stream.Field, known bool) {
	w, at := p.step.Window, p.path+".apply"
	sides := p.sides
	if p.node.get("aggregate") != nil || p.node.get("reduce") != nil {
		made := &side{made: "the result of " + w.condensing() + " of the step " + p.name}
		if s, err := stream.NewSchema(added...); known && err == nil {
			made.input = s
		}
		sides = []*side{made}
	}
	if n == nil || !n.ok {
		return
	}
	if w.Output != Append {
		b.wrong(p.node.get("output"), p.path+".output", "What apply puts out is not taken back, so output must be append; it is %s", w.Output)
	}
	c := call{node: n, path: at, field: "apply", roles: []string{abi.RoleApply}, sides: sides, key: keys, keyed: true}
	w.Apply = b.function(p, c)
	if w.Apply == nil {
		return
	}
	p.output = w.Apply.Result()
	b.warnForEver(p, w.Apply, c, keys)
	for _, s := range w.Apply.States {
		if s.Scope == abi.ScopeWindow && w.Options.Assigner.Merges() {
			b.wrong(n.get("wasm"), at+".wasm", "The function %s has the state %s of a window, and the windows of %s merge: a window function cannot say what becomes of two states then, so there are none, as in Flink; let it be of the key", n.get("wasm").text, s.Name, p.name)
		}
	}
}

// condensing is the field that condenses records.
func (w *Window) condensing() string {
	if w.Reduce != nil {
		return "reduce"
	}
	return "aggregate"
}

// condense is aggregate or reduce.
func (b *builder) condense(p *producer, keys []stream.Field) (fields []stream.Field, known bool) {
	n, at := p.node.get("reduce"), p.path+".reduce"
	if n == nil {
		return b.aggregate(p, keys)
	}
	if a := p.node.get("aggregate"); a != nil {
		b.wrong(a, p.path+".aggregate", "aggregate and reduce both say what becomes of a window's records; the step %s can have one of them", p.name)
	}
	if !n.ok {
		return nil, false
	}
	w := p.step.Window
	w.Reduce = b.function(p, call{node: n, path: at, field: "reduce", roles: []string{abi.RoleReduce}, sides: p.sides, key: keys, keyed: true})
	if w.Reduce == nil {
		return nil, false
	}
	return reduced(w.Reduce.Accumulator, keys), true
}

// reduced are the columns of a reduced record that its key does not have.
func reduced(s *stream.Schema, keys []stream.Field) (fields []stream.Field) {
	for _, f := range s.Fields() {
		if !slices.ContainsFunc(keys, func(k stream.Field) bool { return k.Name == f.Name }) {
			fields = append(fields, f)
		}
	}
	return fields
}

// windowBounds are the columns of a window's result that tell which it is.
var windowBounds = []stream.Field{{Name: windowStart, Type: bigint}, {Name: windowEnd, Type: bigint}}

// windowOptions reads assigner, trigger, evictor and lateness. The columns that
// they name are looked up on each side of the step. Functions go to fns.
func (b *builder) windowOptions(p *producer, n *node, keys []stream.Field, fns *WindowFunctions) window.Options {
	at := p.path + "." + windowOperation
	w := windowBuilder{b, p, keys, fns}
	var o window.Options
	known := w.assigner(n, at, &o.Assigner)
	o.AllowedLateness = number(n.get("allowed-lateness"), 0)
	o.Trigger = w.trigger(n.get("trigger"), at+".trigger", known)
	if o.Trigger != nil && *o.Trigger == defaultTrigger(&o.Assigner) { // the core shares panes under it alone
		o.Trigger = nil
	}
	o.Evictor = w.evictor(n.get("evictor"), at+".evictor")
	for _, s := range p.sides {
		if s.timeless == "" || known == nil || !isEventTime(&o) {
			continue
		}
		const need = "%s has windows of event time, and the source %s gives no timestamp"
		if o.Assigner.Kind == window.FunctionWindows {
			b.warn(n, at, need+": its function will see none", s.shown, s.timeless)
			continue
		}
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

// windowBuilder reads the window of one step.
type windowBuilder struct {
	*builder
	p    *producer
	keys []stream.Field
	fns  *WindowFunctions
}

// assigner reads which windows there are into a, and returns it if that is known.
func (b windowBuilder) assigner(n *node, at string, a *window.Assigner) *window.Assigner {
	for _, kind := range []struct {
		name string
		read func(p *producer, n *node, at string, a *window.Assigner)
	}{{"tumbling", b.tumbling}, {"sliding", b.sliding}, {"session", b.session}, {"global", b.global}} {
		if m := n.get(kind.name); m != nil && m.ok {
			a.Processing = text(m.get("time")) == "processing"
			kind.read(b.p, m, at+"."+kind.name, a)
			b.strayWith(n, at)
			return a
		}
	}
	if n.get("wasm") == nil {
		return nil
	}
	b.fns.Assigner = b.bind(n, at, "window", abi.RoleAssigner)
	if b.fns.Assigner == nil {
		return nil
	}
	a.Kind, a.Merging, a.Processing = window.FunctionWindows, b.fns.Assigner.Merges, b.fns.Assigner.ProcessingTime
	return a
}

// bind binds a function that stands in the place of a part of a window.
func (b windowBuilder) bind(n *node, at, field, role string) *Function {
	return b.function(b.p, call{node: n, path: at, field: field, roles: []string{role}, sides: b.p.sides, key: b.keys, keyed: true})
}

// strayWith refuses parameters of a function that is not there.
func (b windowBuilder) strayWith(n *node, at string) {
	if with := n.get("with"); with != nil && n.get("wasm") == nil {
		b.wrong(with, at+".with", "with has the parameters of a function, and no wasm names one")
	}
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

// warnGlobal tells of global windows of keys without end: they have no end that would
// have them forgotten.
func (b *builder) warnGlobal(p *producer, n *node, keys []stream.Field) {
	w := p.step.Window
	if w.Options.Assigner.Kind != window.GlobalWindows || isFew(keys) || forgets(w.Options.Trigger) {
		return
	}
	kept := []string{"the window"}
	for _, f := range append(w.Functions.All(), w.Apply) {
		if names := f.lasting(abi.ScopeWindow); len(names) > 0 {
			kept = append(kept, strings.Join(names, ", ")+" of the function "+f.Name)
		}
	}
	if len(kept) > 1 {
		kept[len(kept)-1] += ","
	}
	b.warn(n, p.path+"."+windowOperation, "Global windows never end, so the step %s keeps %s of every key that ever comes, unless the trigger purges and clears it; use windows of time, or the trigger {purging: {timeout: …}}, if keys go out of use",
		p.name, strings.Join(kept, ", and "))
}

// forgets tells of a trigger of global windows that leaves nothing of a key that goes out
// of use, or that is for input with an end.
func forgets(t *window.Trigger) bool {
	if t == nil {
		return true // it fires never, which is warned of
	}
	purges := false
	for ; t != nil; t = t.Nested {
		switch {
		case t.Kind == window.Purging:
			purges = true
		case t.Kind == window.EndOfStream, purges && t.Kind == window.Timeout, purges && t.Kind == window.Count && t.Count == 1:
			return true
		}
	}
	return false
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
