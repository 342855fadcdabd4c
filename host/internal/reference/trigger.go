package reference

// trigger decides when a window fires.
type trigger struct {
	kind      string
	count     int64
	every     int64 // of continuous ones; after which a timeout strikes
	field     string
	threshold float64
	reset     bool
	nested    *trigger
}

// verdict is a trigger's answer.
type verdict struct{ fire, purge bool }

var (
	goOn = verdict{}
	fire = verdict{fire: true}
)

func newTrigger(v any) *trigger {
	if name, ok := v.(string); ok {
		return &trigger{kind: name}
	}
	t := asTree(v)
	g := &trigger{kind: t[0].Key.(string)}
	switch g.kind {
	case "count":
		g.count = int64(t.number(g.kind))
	case "continuous-event-time", "continuous-processing-time":
		g.every = t.duration(g.kind)
	case "purging":
		g.nested = newTrigger(t.get(g.kind))
	case "delta":
		g.field, g.threshold = t.sub(g.kind).text("field"), t.sub(g.kind).number("threshold")
	case "timeout":
		of := t.sub(g.kind)
		g.nested, g.every, g.reset = newTrigger(of.get("trigger")), of.duration("after"), of.flag("reset")
	}
	return g
}

// merges tells whether sessions may have the trigger.
func (g *trigger) merges() bool {
	return g.kind != "delta" && g.kind != "timeout" && (g.nested == nil || g.nested.merges())
}

// notes are what a trigger remembers of a pane.
type notes struct {
	count   int64
	last    *float64 // delta: the record that fired last, or the first one
	next    *int64   // continuous: when it fires next
	timeout *int64
}

// pane is a window of a key as its trigger sees it.
type pane struct {
	id     paneID
	in     *windowStep
	notes  *notes
	merges []*notes // onMerge: of the windows that became this one
}

// onRecord is asked after the record was added.
func (g *trigger) onRecord(p pane, r record) verdict {
	last := p.id.span.last()
	switch g.kind {
	case "event-time": // a window that has ended fires at once, for each late record
		if last <= p.in.now.event {
			return fire
		}
		p.in.eventTimers.set(last, p.id)
	case "processing-time":
		p.in.clockTimers.set(last, p.id)
	case "end-of-stream":
		p.in.eventTimers.set(last, p.id)
	case "count":
		if p.notes.count++; p.notes.count >= g.count {
			p.notes.count = 0
			return fire
		}
	case "continuous-event-time":
		if last <= p.in.now.event {
			return fire
		}
		p.in.eventTimers.set(last, p.id)
		if p.notes.next == nil { // % rounds towards zero, as Java's does
			g.setNext(p, p.in.eventTimers, r.time-r.time%g.every)
		}
	case "continuous-processing-time":
		if p.notes.next == nil {
			g.setNext(p, p.in.clockTimers, p.in.now.clock-p.in.now.clock%g.every)
		}
	case "delta":
		value := p.in.number(r, g.field)
		if p.notes.last == nil || value-*p.notes.last > g.threshold {
			first := p.notes.last == nil
			p.notes.last = &value
			return verdict{fire: !first}
		}
	case "purging":
		return purging(g.nested.onRecord(p, r))
	case "timeout":
		return g.timeoutOnRecord(p, r)
	}
	return goOn
}

// setNext notes and sets the next firing, at the latest that at the window's end.
func (g *trigger) setNext(p pane, t timers, from int64) {
	next := min(saturating(from, g.every), p.id.span.last())
	if p.notes.next != nil {
		next = min(next, *p.notes.next)
	}
	p.notes.next = &next
	t.set(next, p.id)
}

func purging(v verdict) verdict {
	v.purge = v.purge || v.fire
	return v
}

// timeoutOnRecord: a firing forgets the timeout and all that the nested trigger
// noted.
func (g *trigger) timeoutOnRecord(p pane, r record) verdict {
	v := g.nested.onRecord(p, r)
	if v.fire {
		g.clear(p)
		return v
	}
	if p.notes.timeout != nil && g.reset {
		p.in.clockTimers.unset(*p.notes.timeout, p.id)
		p.notes.timeout = nil
	}
	if p.notes.timeout == nil {
		at := p.in.now.clock + g.every
		p.notes.timeout = &at
		p.in.clockTimers.set(at, p.id)
	}
	return v
}

// onTimer is asked for every timer of the pane, whoever set it.
func (g *trigger) onTimer(p pane, at int64, isEvent bool) verdict {
	switch g.kind {
	case "event-time", "end-of-stream":
		return verdict{fire: isEvent && at == p.id.span.last()}
	case "processing-time":
		return verdict{fire: !isEvent}
	case "continuous-event-time":
		if isEvent && at == p.id.span.last() {
			return fire
		}
		return g.continued(p, p.in.eventTimers, at, isEvent)
	case "continuous-processing-time":
		return g.continued(p, p.in.clockTimers, at, !isEvent)
	case "purging":
		return purging(g.nested.onTimer(p, at, isEvent))
	case "timeout": // strikes at any timer
		v := g.nested.onTimer(p, at, isEvent)
		g.clear(p)
		return verdict{fire: true, purge: v.purge}
	}
	return goOn
}

func (g *trigger) continued(p pane, t timers, at int64, mine bool) verdict {
	if !mine || p.notes.next == nil || *p.notes.next != at {
		return goOn
	}
	p.notes.next = nil
	g.setNext(p, t, at)
	return fire
}

// onMerge takes over what was noted of the windows that became this one.
func (g *trigger) onMerge(p pane) {
	last := p.id.span.last()
	switch g.kind {
	case "event-time": // one that has ended fires by the record that merges (FLINK-9201)
		if last > p.in.now.event {
			p.in.eventTimers.set(last, p.id)
		}
	case "processing-time":
		if last > p.in.now.clock {
			p.in.clockTimers.set(last, p.id)
		}
	case "count":
		for _, n := range p.merges {
			p.notes.count += n.count
		}
	case "continuous-event-time":
		g.mergeNext(p, p.in.eventTimers)
	case "continuous-processing-time":
		g.mergeNext(p, p.in.clockTimers)
	case "purging":
		g.nested.onMerge(p)
	}
}

func (g *trigger) mergeNext(p pane, t timers) {
	for _, n := range p.merges {
		if n.next != nil && (p.notes.next == nil || *n.next < *p.notes.next) {
			next := *n.next
			p.notes.next = &next
		}
	}
	if p.notes.next != nil {
		t.set(*p.notes.next, p.id)
	}
}

// clear forgets the notes and takes back the timers that they name. The timer at
// the end of a continuous trigger's window stays, as in Flink.
func (g *trigger) clear(p pane) {
	switch g.kind {
	case "event-time":
		p.in.eventTimers.unset(p.id.span.last(), p.id)
	case "processing-time":
		p.in.clockTimers.unset(p.id.span.last(), p.id)
	case "count":
		p.notes.count = 0
	case "continuous-event-time", "continuous-processing-time":
		if p.notes.next != nil {
			t := p.in.eventTimers
			if g.kind == "continuous-processing-time" {
				t = p.in.clockTimers
			}
			t.unset(*p.notes.next, p.id)
			p.notes.next = nil
		}
	case "delta":
		p.notes.last = nil
	case "timeout":
		if p.notes.timeout != nil {
			p.in.clockTimers.unset(*p.notes.timeout, p.id)
			p.notes.timeout = nil
		}
	}
	if g.nested != nil {
		g.nested.clear(p)
	}
}
