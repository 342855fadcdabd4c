package main

import ws "github.com/wasmstream/wasmstream/guest-sdk/go"

// memory is what a window's state is during an op; nil is not set.
type memory struct {
	number, timeout *int64
	last            *float64
}

// rule is a trigger, of which there may be one in another. Each of its methods is a column of ../README.md's table.
type rule interface {
	onElement(o *ws.Op, m *memory, in ws.Row) ws.Decision
	onTimer(o *ws.Op, m *memory, domain ws.Domain) ws.Decision
	onMerge(o *ws.Op, m *memory, merged []memory)
	clear(o *ws.Op, m *memory)
}

// nothing is what a trigger does that does not care.
type nothing struct{}

func (nothing) onElement(*ws.Op, *memory, ws.Row) ws.Decision  { return ws.Continue }
func (nothing) onTimer(*ws.Op, *memory, ws.Domain) ws.Decision { return ws.Continue }
func (nothing) onMerge(*ws.Op, *memory, []memory)              {}
func (nothing) clear(*ws.Op, *memory)                          {}

func passed(o *ws.Op) bool { return o.Last() <= o.Watermark() }

func fireIf(yes bool) ws.Decision {
	if yes {
		return ws.Fire
	}
	return ws.Continue
}

type eventTime struct{ nothing }

func (eventTime) onElement(o *ws.Op, _ *memory, _ ws.Row) ws.Decision {
	if passed(o) {
		return ws.Fire
	}
	o.SetTimer(ws.EventTime, o.Last())
	return ws.Continue
}

func (eventTime) onTimer(o *ws.Op, _ *memory, domain ws.Domain) ws.Decision {
	return fireIf(domain == ws.EventTime && o.Time() == o.Last())
}

func (eventTime) onMerge(o *ws.Op, _ *memory, _ []memory) {
	if !passed(o) {
		o.SetTimer(ws.EventTime, o.Last())
	}
}

func (eventTime) clear(o *ws.Op, _ *memory) { o.DeleteTimer(ws.EventTime, o.Last()) }

type processingTime struct{ nothing }

func (processingTime) onElement(o *ws.Op, _ *memory, _ ws.Row) ws.Decision {
	o.SetTimer(ws.ProcessingTime, o.Last())
	return ws.Continue
}

func (processingTime) onTimer(_ *ws.Op, _ *memory, domain ws.Domain) ws.Decision {
	return fireIf(domain == ws.ProcessingTime)
}

func (processingTime) onMerge(o *ws.Op, _ *memory, _ []memory) {
	if o.Last() > o.Clock() {
		o.SetTimer(ws.ProcessingTime, o.Last())
	}
}

func (processingTime) clear(o *ws.Op, _ *memory) { o.DeleteTimer(ws.ProcessingTime, o.Last()) }

type endOfStream struct{ nothing }

func (endOfStream) onElement(o *ws.Op, _ *memory, _ ws.Row) ws.Decision {
	o.SetTimer(ws.EventTime, o.Last())
	return ws.Continue
}

func (endOfStream) onTimer(o *ws.Op, m *memory, domain ws.Domain) ws.Decision {
	return eventTime{}.onTimer(o, m, domain)
}

type count struct {
	nothing
	most int64
}

func (t count) onElement(_ *ws.Op, m *memory, _ ws.Row) ws.Decision {
	seen := int64(1)
	if m.number != nil {
		seen += *m.number
	}
	if seen >= t.most {
		m.number = nil
		return ws.Fire
	}
	m.number = &seen
	return ws.Continue
}

func (count) onMerge(_ *ws.Op, m *memory, merged []memory) {
	for i := range merged {
		if n := merged[i].number; n != nil && m.number != nil {
			*m.number += *n
		} else if n != nil {
			m.number = n
		}
	}
}

func (count) clear(_ *ws.Op, m *memory) { m.number = nil }

type continuous struct {
	interval int64
	domain   ws.Domain
}

func (t continuous) next(o *ws.Op, m *memory, from int64) {
	at := min(from+t.interval, o.Last())
	m.number = &at
	o.SetTimer(t.domain, at)
}

func (t continuous) onElement(o *ws.Op, m *memory, _ ws.Row) ws.Decision {
	time := o.Clock()
	if t.domain == ws.EventTime {
		if passed(o) {
			return ws.Fire
		}
		o.SetTimer(ws.EventTime, o.Last())
		time = o.Time()
	}
	if m.number == nil {
		t.next(o, m, time-time%t.interval)
	}
	return ws.Continue
}

func (t continuous) onTimer(o *ws.Op, m *memory, domain ws.Domain) ws.Decision {
	switch {
	case domain != t.domain:
		return ws.Continue
	case o.Time() == o.Last():
		return ws.Fire
	case m.number == nil || *m.number != o.Time():
		return ws.Continue
	}
	t.next(o, m, o.Time())
	return ws.Fire
}

func (t continuous) onMerge(o *ws.Op, m *memory, merged []memory) {
	for i := range merged {
		if n := merged[i].number; n != nil && (m.number == nil || *n < *m.number) {
			m.number = n
		}
	}
	if m.number != nil {
		o.SetTimer(t.domain, *m.number)
	}
}

func (t continuous) clear(o *ws.Op, m *memory) {
	if m.number != nil {
		o.DeleteTimer(t.domain, *m.number)
	}
	m.number = nil
}

type delta struct {
	nothing
	field     ws.Field
	threshold float64
}

func (t delta) onElement(_ *ws.Op, m *memory, in ws.Row) ws.Decision {
	value, before := double(t.field, in), m.last
	if before != nil && !(value-*before > t.threshold) {
		return ws.Continue
	}
	m.last = &value
	return fireIf(before != nil)
}

func (delta) clear(_ *ws.Op, m *memory) { m.last = nil }

type purging struct{ rule }

func purge(d ws.Decision) ws.Decision {
	if d&ws.Fire != 0 {
		return ws.FireAndPurge
	}
	return d
}

func (t purging) onElement(o *ws.Op, m *memory, in ws.Row) ws.Decision {
	return purge(t.rule.onElement(o, m, in))
}

func (t purging) onTimer(o *ws.Op, m *memory, domain ws.Domain) ws.Decision {
	return purge(t.rule.onTimer(o, m, domain))
}

type timeout struct {
	rule
	after int64
	reset bool
}

func (t timeout) forget(o *ws.Op, m *memory) {
	if m.timeout != nil {
		o.DeleteTimer(ws.ProcessingTime, *m.timeout)
	}
	m.timeout = nil
}

func (t timeout) onElement(o *ws.Op, m *memory, in ws.Row) ws.Decision {
	d := t.rule.onElement(o, m, in)
	if d&ws.Fire != 0 {
		t.clear(o, m)
		return d
	}
	if t.reset {
		t.forget(o, m)
	}
	if m.timeout == nil {
		at := o.Clock() + t.after
		m.timeout = &at
		o.SetTimer(ws.ProcessingTime, at)
	}
	return d
}

func (t timeout) onTimer(o *ws.Op, m *memory, domain ws.Domain) ws.Decision {
	d := t.rule.onTimer(o, m, domain)
	t.clear(o, m)
	return ws.Fire | d&ws.Purge
}

func (timeout) onMerge(*ws.Op, *memory, []memory) {}

func (t timeout) clear(o *ws.Op, m *memory) {
	t.forget(o, m)
	t.rule.clear(o, m)
}
