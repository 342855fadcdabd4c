package window

import (
	"math"
	"slices"
)

// Core decides for one step.
type Core struct {
	assigner  Assigner
	trigger   Trigger
	lateness  int64
	event     bool   // windows end by event time: they can be late
	domain    Domain // of cleanup timers
	hasState  bool
	keepEqual bool
	quiet     quietness
	pane      int64 // length of spans; 0: none
}

// Facts are what the caller knows of the key that it asks about. The core
// updates them in place. Of a large merging set it need not load all: a record's window
// changes no session but those that it meets, a timer's none but its own.
type Facts struct {
	Now     Now
	Trigger State   // of the window, unless windows merge; see NeedsTrigger
	Set     []InSet // of the key, if windows merge
}

// New makes a core; the options must be valid.
func New(o Options) *Core {
	c := &Core{assigner: o.Assigner, lateness: o.AllowedLateness, keepEqual: o.KeepEqual}
	c.event = o.Assigner.Kind != GlobalWindows && !o.Assigner.Processing
	c.domain = ProcDomain
	if c.event {
		c.domain = EventDomain
	}
	c.trigger = o.trigger().asked()
	c.hasState = c.trigger.hasState()
	c.quiet, c.pane = c.quietness(), o.Assigner.paneLength()
	return c
}

// Merges says that windows merge: Facts.Set must hold the key's merging set,
// and Facts.Trigger is not used.
func (c *Core) Merges() bool { return c.assigner.Merges() }

// Asks says that the trigger is a function of the user's: there are effects Ask and
// Unite.
func (c *Core) Asks() bool { return c.trigger.Kind == FunctionTrigger }

// IsAssigned says that the windows of records come from a function of the user's,
// not from Assign.
func (c *Core) IsAssigned() bool { return c.assigner.Kind == FunctionWindows }

// NeedsTrigger says that Facts.Trigger must hold what the trigger remembers of
// the window.
func (c *Core) NeedsTrigger() bool { return c.hasState && !c.Merges() }

// IsEventTime says that windows end by event time, so that records can be late.
func (c *Core) IsEventTime() bool { return c.event }

// OnElement decides about a record that belongs to the window w and appends the
// effects to dst. It took the record unless the window is over. After an error
// neither the facts nor the effects have a meaning.
func (c *Core) OnElement(dst []Effect, w Window, e Element, f *Facts) (list []Effect, took bool, err error) {
	var v visit
	v.begin(dst, w, f)
	changed := false
	if c.Merges() {
		var at int
		if at, changed, err = c.join(&v.effects, w, f); err != nil {
			return v.effects, false, err
		}
		if at < 0 {
			c.keep(&v, changed)
			return v.effects, false, nil
		}
		v.enter(&f.Set[at])
	}
	end := c.cleanup(v.window)
	if c.event && end <= int64(f.Now.Watermark) {
		return v.effects, false, nil
	}
	var before State
	if c.hasState {
		before = *v.state
	}
	v.add(Append, v.window, v.contents)
	v.carryOut(c.trigger.onElement(&v, e))
	if end != never {
		v.set(c.domain, end)
	}
	if changed || c.hasState && *v.state != before {
		c.keep(&v, true)
	}
	return v.effects, true, nil
}

// IsLate says of a record that no window took whether it is late: otherwise it
// vanishes without a trace, as between sliding windows with gaps. The sum wraps
// around, as in Flink.
func (c *Core) IsLate(e Element, now Now) bool {
	return c.event && int64(e.Time)+c.lateness <= int64(now.Watermark)
}

// OnTimer decides about a due timer of the window w and appends the effects to
// dst. The timer is called even if the window holds nothing (FLINK-5363).
func (c *Core) OnTimer(dst []Effect, w Window, d Domain, at int64, f *Facts) []Effect {
	var v visit
	v.begin(dst, w, f)
	place := -1
	if c.Merges() {
		if place = find(f.Set, w); place < 0 {
			return dst
		}
		v.enter(&f.Set[place])
	}
	before := *v.state
	v.carryOut(c.trigger.onTimer(&v, d, at))
	over := c.Ends(w, d, at)
	if over {
		v.add(Clear, w, v.contents)
		c.trigger.clear(&v)
	}
	changed := *v.state != before
	if over && place >= 0 {
		f.Set, changed = slices.Delete(f.Set, place, place+1), true
	}
	c.keep(&v, changed)
	return v.effects
}

// keep says that the facts have changed.
func (c *Core) keep(v *visit, changed bool) {
	switch {
	case !changed:
	case c.Merges():
		v.add(KeepSet, Window{}, Window{})
	default:
		v.add(KeepTrigger, v.window, Window{})
	}
}

// never is the cleanup time of windows that are not forgotten.
const never = math.MaxInt64

// cleanup is when a window is forgotten: MaxTimestamp and, by event time, the
// allowed lateness.
func (c *Core) cleanup(w Window) int64 {
	if at := w.MaxTimestamp(); !c.event {
		return at
	} else if end := at + c.lateness; end >= at {
		return end
	}
	return never
}

// Ends tells of a timer whether it is the one at which its window is forgotten.
func (c *Core) Ends(w Window, d Domain, at int64) bool {
	return d == c.domain && at == c.cleanup(w) && at != never
}

// isOver says that the window no longer takes records.
func (c *Core) isOver(w Window, now Now) bool {
	return c.event && c.cleanup(w) <= int64(now.Watermark)
}

// SteadyTimers says that each record of a window sets the same timers, which
// stay set for as long as the window holds anything: a caller may carry SetTimer
// out for the first record of a window alone.
func (c *Core) SteadyTimers() bool {
	if c.Merges() {
		return false
	}
	t := &c.trigger
	for t.Kind == Purging {
		t = t.Nested
	}
	switch t.Kind {
	case EventTime:
		// With lateness a record behind the watermark sets no timer at the end, but
		// after a restart, which takes the watermark back, the next one does.
		return c.event && c.lateness == 0
	case ProcessingTime:
		return !c.event
	case Count, Delta, Never:
		return true
	}
	return false
}
