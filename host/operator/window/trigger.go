package window

import "math"

// TriggerKind is the rule by which windows fire.
type TriggerKind uint8

// The kinds of triggers.
const (
	EventTime                TriggerKind = iota // when the watermark passes the window's end, and at each record after it
	ProcessingTime                              // when the clock passes the window's end
	Never                                       // never
	EndOfStream                                 // when the input has ended
	Count                                       // at every Count-th record
	ContinuousEventTime                         // every Interval of event time, and at the window's end
	ContinuousProcessingTime                    // every Interval of processing time
	Purging                                     // as Nested; each firing clears the contents
	Delta                                       // when Element.Value has grown by more than Threshold since the last firing
	Timeout                                     // as Nested, and Interval of processing time after the first record
	FunctionTrigger                             // when a function says so, which the caller asks; see Ask
)

// Trigger decides when a window fires.
type Trigger struct {
	Kind      TriggerKind
	Count     int64    // Count
	Interval  int64    // the continuous ones, Timeout; milliseconds
	Threshold float64  // Delta
	Reset     bool     // Timeout: each record starts it anew
	Nested    *Trigger // Purging, Timeout
	Merges    bool     // FunctionTrigger: it can be asked AboutMerge

	purges bool // FunctionTrigger: it stands within Purging
}

// asked is the trigger as a core has it: a function within Purging is told to purge,
// since the core does not see its answer.
func (t Trigger) asked() Trigger {
	last := t
	for last.Kind == Purging {
		last = *last.Nested
	}
	if last.Kind != FunctionTrigger {
		return t
	}
	last.purges = t.Kind == Purging
	return last
}

// State is what a trigger remembers of one window. The zero value is nothing.
type State struct {
	Set   uint8 // which cells hold something
	Cells [2]int64
}

// The cells of a State. Triggers are nested in a chain, so only its last one has
// a rule with a memory; timeouts within timeouts share one moment, as in Flink,
// where a name stands for one piece of state.
const (
	rule    = 0 // Count: the records; continuous: the next firing; Delta: the bits of the last value
	timeout = 1 // Timeout: when it fires
)

func (s *State) has(cell int) bool            { return s.Set&(1<<cell) != 0 }
func (s *State) put(cell int, x int64)        { s.Set |= 1 << cell; s.Cells[cell] = x }
func (s *State) drop(cell int)                { s.Set &^= 1 << cell; s.Cells[cell] = 0 }
func (s *State) reads(cell int, x int64) bool { return s.has(cell) && s.Cells[cell] == x }

// decision is a trigger's answer.
type decision uint8

const (
	fire decision = 1 << iota
	purge
	goOn decision = 0
)

// hasState says that the trigger remembers something of a window.
func (t *Trigger) hasState() bool {
	switch t.Kind {
	case Purging:
		return t.Nested.hasState()
	case Count, ContinuousEventTime, ContinuousProcessingTime, Delta, Timeout:
		return true
	}
	return false
}

// onElement decides about a record that has been added to the window.
func (t *Trigger) onElement(v *visit, e Element) decision {
	switch t.Kind {
	case EventTime:
		if v.passed() {
			return fire
		}
		v.set(EventDomain, v.window.MaxTimestamp())
	case ProcessingTime:
		v.set(ProcDomain, v.window.MaxTimestamp())
	case EndOfStream:
		v.set(EventDomain, v.window.MaxTimestamp())
	case Count:
		return t.count(v)
	case ContinuousEventTime:
		if v.passed() {
			return fire
		}
		v.set(EventDomain, v.window.MaxTimestamp())
		t.start(v, EventDomain, int64(e.Time))
	case ContinuousProcessingTime:
		t.start(v, ProcDomain, int64(v.now.Clock))
	case Purging:
		return purged(t.Nested.onElement(v, e))
	case Delta:
		return t.delta(v, e.Value)
	case Timeout:
		return t.onElementOrTimeout(v, e)
	case FunctionTrigger:
		v.ask(AboutRecord, v.window, v.contents, t.purges)
	}
	return goOn
}

// onTimer decides about a timer of the window, whoever set it.
func (t *Trigger) onTimer(v *visit, d Domain, at int64) decision {
	last := at == v.window.MaxTimestamp()
	switch t.Kind {
	case EventTime, EndOfStream:
		if d == EventDomain && last {
			return fire
		}
	case ProcessingTime:
		if d == ProcDomain {
			return fire
		}
	case ContinuousEventTime:
		if d == EventDomain {
			return t.tick(v, d, at, last)
		}
	case ContinuousProcessingTime:
		if d == ProcDomain {
			return t.tick(v, d, at, last)
		}
	case Purging:
		return purged(t.Nested.onTimer(v, d, at))
	case Timeout:
		// Every timer of the window counts as the timeout, its cleanup too.
		answer := t.Nested.onTimer(v, d, at)
		t.clear(v)
		return fire | answer&purge
	case FunctionTrigger:
		e := v.ask(AboutTimer, v.window, v.contents, t.purges)
		e.Domain, e.Time = d, at
	}
	return goOn
}

// onMerge sees that v's window has come out of a merge; v's state already is
// what the merged windows remembered, together.
func (t *Trigger) onMerge(v *visit) {
	switch t.Kind {
	case EventTime:
		// A window that has passed fires at once, by the record that merged it: a
		// timer would fire it twice (FLINK-9201).
		if !v.passed() {
			v.set(EventDomain, v.window.MaxTimestamp())
		}
	case ProcessingTime:
		if v.window.MaxTimestamp() > int64(v.now.Clock) {
			v.set(ProcDomain, v.window.MaxTimestamp())
		}
	case ContinuousEventTime:
		if v.state.has(rule) {
			v.set(EventDomain, v.state.Cells[rule])
		}
	case ContinuousProcessingTime:
		if v.state.has(rule) {
			v.set(ProcDomain, v.state.Cells[rule])
		}
	case Purging:
		t.Nested.onMerge(v)
	case FunctionTrigger:
		v.ask(AboutMerge, v.window, v.contents, false)
	}
}

// unite is the state of a window that two windows merge into.
func (t *Trigger) unite(a, b State) State {
	switch {
	case t.Kind == Purging:
		return t.Nested.unite(a, b)
	case !a.has(rule):
		return b
	case !b.has(rule):
	case t.Kind == Count:
		a.Cells[rule] += b.Cells[rule]
	default:
		a.Cells[rule] = min(a.Cells[rule], b.Cells[rule])
	}
	return a
}

// clear forgets the window. Of a continuous trigger of event time the timer at
// the window's end stays behind, as in Flink.
func (t *Trigger) clear(v *visit) {
	switch t.Kind {
	case EventTime:
		v.delete(EventDomain, v.window.MaxTimestamp())
	case ProcessingTime:
		v.delete(ProcDomain, v.window.MaxTimestamp())
	case Count, Delta:
		v.state.drop(rule)
	case ContinuousEventTime:
		v.stop(rule, EventDomain)
	case ContinuousProcessingTime:
		v.stop(rule, ProcDomain)
	case Purging:
		t.Nested.clear(v)
	case Timeout:
		v.stop(timeout, ProcDomain)
		t.Nested.clear(v)
	case FunctionTrigger:
		v.ask(AboutEnd, v.window, v.contents, false)
	}
}

func purged(d decision) decision {
	if d&fire != 0 {
		return fire | purge
	}
	return d
}

func (t *Trigger) count(v *visit) decision {
	if n := v.state.Cells[rule] + 1; n < t.Count {
		v.state.put(rule, n)
		return goOn
	}
	v.state.drop(rule)
	return fire
}

func (t *Trigger) delta(v *visit, x float64) decision {
	if v.state.has(rule) {
		if last := math.Float64frombits(uint64(v.state.Cells[rule])); !(x-last > t.Threshold) {
			return goOn
		}
		v.state.put(rule, int64(math.Float64bits(x)))
		return fire
	}
	v.state.put(rule, int64(math.Float64bits(x)))
	return goOn
}

// start begins the continuous firings of a window that has none ahead. The
// remainder is cut toward zero here, at negative times too.
func (t *Trigger) start(v *visit, d Domain, at int64) {
	if !v.state.has(rule) {
		t.next(v, d, at-at%t.Interval)
	}
}

func (t *Trigger) next(v *visit, d Domain, after int64) {
	at := min(after+t.Interval, v.window.MaxTimestamp())
	v.state.put(rule, at)
	v.set(d, at)
}

// tick is a timer of a continuous trigger in its own domain. Without a firing
// ahead (a timer of a window that was merged or cleared) it means nothing
// (FLINK-6001).
func (t *Trigger) tick(v *visit, d Domain, at int64, last bool) decision {
	switch {
	case last:
		return fire
	case v.state.reads(rule, at):
		t.next(v, d, at)
		return fire
	}
	return goOn
}

// onElementOrTimeout asks the nested trigger and, unless it fires, sees to the
// timeout.
func (t *Trigger) onElementOrTimeout(v *visit, e Element) decision {
	answer := t.Nested.onElement(v, e)
	if answer&fire != 0 {
		t.clear(v)
		return answer
	}
	if t.Reset {
		v.stop(timeout, ProcDomain)
	}
	if !v.state.has(timeout) {
		at := int64(v.now.Clock) + t.Interval
		v.state.put(timeout, at)
		v.set(ProcDomain, at)
	}
	return answer
}
