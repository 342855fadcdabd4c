package twins

import (
	"math"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
	"github.com/wasmstream/wasmstream/host/stream"
)

// memory is the trigger's state; nil: not set.
type memory struct {
	number, timeout *int64
	last            *float64
}

var memorySchema = stream.MustSchema(
	stream.Field{Name: "number", Type: stream.Type{Kind: stream.BigInt}},
	stream.Field{Name: "last", Type: stream.Type{Kind: stream.Double}},
	stream.Field{Name: "timeout", Type: stream.Type{Kind: stream.BigInt}},
)

func readMemory(row stream.Row) (m memory) {
	if row == nil {
		return m
	}
	read := func(i int) *int64 {
		c := memorySchema.Column(i)
		if c.IsNull(row) {
			return nil
		}
		v := c.Int64(row)
		return &v
	}
	m.number, m.timeout = read(0), read(2)
	if v := read(1); v != nil {
		f := math.Float64frombits(uint64(*v))
		m.last = &f
	}
	return m
}

func (m *memory) row() stream.Row {
	if m.number == nil && m.last == nil && m.timeout == nil {
		return nil
	}
	w := stream.NewRowWriter(memorySchema)
	w.BeginIn(nil, stream.Insert)
	put := func(i int, v *int64) {
		if v == nil {
			w.SetNull(i)
		} else {
			w.SetInt64(i, *v)
		}
	}
	put(0, m.number)
	put(2, m.timeout)
	if m.last == nil {
		w.SetNull(1)
	} else {
		w.SetFloat64(1, *m.last)
	}
	return w.Row()
}

// What a trigger decides.
const (
	goOn = iota
	fire
	purge
)

const (
	eventDomain = iota
	procDomain
)

// asking is one op of a trigger.
type asking struct {
	*guesttest.Op
	p      *opened
	m      memory
	max    int64
	passed bool
}

func trigger(o *guesttest.Op, p *opened) {
	_, end := o.Window()
	a := &asking{Op: o, p: p, m: readMemory(o.State(0)), max: end - 1}
	a.passed = a.max <= o.Watermark()
	decision := uint32(goOn)
	switch o.Kind {
	case abi.OpOnElement:
		decision = a.onElement(p.words)
	case abi.OpOnEventTime:
		decision = a.onTimer(p.words, eventDomain)
	case abi.OpOnProcessingTime:
		decision = a.onTimer(p.words, procDomain)
	case abi.OpOnMerge:
		if o.State(0) != nil {
			o.Fail("the merged window has a state already")
		}
		a.onMerge(p.words)
	case abi.OpClear:
		a.clear(p.words)
	}
	if decision != goOn {
		o.Effect(abi.EffectDecide, decision, nil)
	}
	o.SetState(0, a.m.row())
}

// rest is the trigger within.
func rest(words []string) []string {
	if words[0] == "purging" {
		return words[1:]
	}
	return words[2:]
}

func purged(decision uint32) uint32 {
	if decision&fire != 0 {
		return fire | purge
	}
	return decision
}

func (a *asking) onElement(words []string) uint32 {
	switch words[0] {
	case "event-time":
		if a.passed {
			return fire
		}
		a.SetTimer(eventDomain, a.max)
	case "processing-time":
		a.SetTimer(procDomain, a.max)
	case "end-of-stream":
		a.SetTimer(eventDomain, a.max)
	case "count":
		n := int64(1)
		if a.m.number != nil {
			n += *a.m.number
		}
		if n >= integer(a.Op, words[1]) {
			a.m.number = nil
			return fire
		}
		a.m.number = &n
	case "continuous-event-time":
		if a.passed {
			return fire
		}
		a.SetTimer(eventDomain, a.max)
		a.start(words, eventDomain, a.Time())
	case "continuous-processing-time":
		a.start(words, procDomain, a.Clock())
	case "delta":
		x := a.p.number(a.Row)
		switch {
		case a.m.last == nil:
			a.m.last = &x
		case x-*a.m.last > a.p.threshold:
			a.m.last = &x
			return fire
		}
	case "purging":
		return purged(a.onElement(rest(words)))
	case "timeout", "timeout-reset":
		return a.onElementOrTimeout(words)
	}
	return goOn
}

func (a *asking) onElementOrTimeout(words []string) uint32 {
	answer := a.onElement(rest(words))
	if answer&fire != 0 {
		a.clear(words)
		return answer
	}
	if words[0] == "timeout-reset" && a.m.timeout != nil {
		a.DeleteTimer(procDomain, *a.m.timeout)
		a.m.timeout = nil
	}
	if a.m.timeout == nil {
		at := a.Clock() + integer(a.Op, words[1])
		a.m.timeout = &at
		a.SetTimer(procDomain, at)
	}
	return answer
}

func (a *asking) start(words []string, domain uint32, at int64) {
	if a.m.number == nil {
		a.next(words, domain, at-at%integer(a.Op, words[1]))
	}
}

func (a *asking) next(words []string, domain uint32, t int64) {
	at := min(t+integer(a.Op, words[1]), a.max)
	a.m.number = &at
	a.SetTimer(domain, at)
}

func (a *asking) tick(words []string, domain uint32) uint32 {
	switch {
	case a.Time() == a.max:
		return fire
	case a.m.number != nil && *a.m.number == a.Time():
		a.next(words, domain, a.Time())
		return fire
	}
	return goOn
}

func (a *asking) onTimer(words []string, domain uint32) uint32 {
	switch words[0] {
	case "event-time", "end-of-stream":
		if domain == eventDomain && a.Time() == a.max {
			return fire
		}
	case "processing-time":
		if domain == procDomain {
			return fire
		}
	case "continuous-event-time":
		if domain == eventDomain {
			return a.tick(words, domain)
		}
	case "continuous-processing-time":
		if domain == procDomain {
			return a.tick(words, domain)
		}
	case "purging":
		return purged(a.onTimer(rest(words), domain))
	case "timeout", "timeout-reset":
		answer := a.onTimer(rest(words), domain)
		a.clear(words)
		return fire | answer&purge
	}
	return goOn
}

func (a *asking) onMerge(words []string) {
	switch words[0] {
	case "event-time":
		if !a.passed {
			a.SetTimer(eventDomain, a.max)
		}
	case "processing-time":
		if a.max > a.Clock() {
			a.SetTimer(procDomain, a.max)
		}
	case "count":
		for i := range a.Len() {
			if m := readMemory(a.StateAt(a.Merged(i))); m.number != nil {
				n := *m.number
				if a.m.number != nil {
					n += *a.m.number
				}
				a.m.number = &n
			}
		}
	case "continuous-event-time":
		a.earliest(eventDomain)
	case "continuous-processing-time":
		a.earliest(procDomain)
	case "purging":
		a.onMerge(rest(words))
	}
}

func (a *asking) earliest(domain uint32) {
	for i := range a.Len() {
		if m := readMemory(a.StateAt(a.Merged(i))); m.number != nil && (a.m.number == nil || *m.number < *a.m.number) {
			a.m.number = m.number
		}
	}
	if a.m.number != nil {
		a.SetTimer(domain, *a.m.number)
	}
}

func (a *asking) clear(words []string) {
	switch words[0] {
	case "event-time":
		a.DeleteTimer(eventDomain, a.max)
	case "processing-time":
		a.DeleteTimer(procDomain, a.max)
	case "count":
		a.m.number = nil
	case "continuous-event-time":
		a.stop(eventDomain)
	case "continuous-processing-time":
		a.stop(procDomain)
	case "delta":
		a.m.last = nil
	case "purging":
		a.clear(rest(words))
	case "timeout", "timeout-reset":
		if a.m.timeout != nil {
			a.DeleteTimer(procDomain, *a.m.timeout)
			a.m.timeout = nil
		}
		a.clear(rest(words))
	}
}

func (a *asking) stop(domain uint32) {
	if a.m.number != nil {
		a.DeleteTimer(domain, *a.m.number)
		a.m.number = nil
	}
}
