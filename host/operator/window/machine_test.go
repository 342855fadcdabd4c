package window_test

import (
	"cmp"
	"maps"
	"slices"

	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/stream"
)

// record is an element as the machine keeps it.
type record[R any] struct {
	window.Element
	row R
}

// cell is where something is kept: of one window of one key.
type cell struct {
	key    string
	window window.Window
}

type timer struct {
	cell
	domain window.Domain
	at     int64
}

// machine carries out what a core decides, as plainly as possible.
type machine[R any] struct {
	core    *window.Core
	evictor *window.Evictor
	steady  bool // leave out what SteadyTimers allows to leave out

	now      window.Now
	sets     map[string][]window.InSet
	triggers map[cell]window.State
	contents map[cell][]record[R]
	timers   map[timer]bool

	fire    func(key string, w window.Window, records []record[R])
	late    func(r record[R])
	absorbs int
	list    []window.Effect
	windows []window.Window
}

func newMachine[R any](o window.Options) *machine[R] {
	return &machine[R]{
		core: window.New(o), evictor: o.Evictor,
		now:      window.Now{Watermark: stream.MinTime},
		sets:     map[string][]window.InSet{},
		triggers: map[cell]window.State{},
		contents: map[cell][]record[R]{},
		timers:   map[timer]bool{},
	}
}

// copy is a snapshot of what the machine keeps.
func (m *machine[R]) copy() *machine[R] {
	c := *m
	c.sets, c.contents = map[string][]window.InSet{}, map[cell][]record[R]{}
	for k, s := range m.sets {
		c.sets[k] = slices.Clone(s)
	}
	for k, r := range m.contents {
		c.contents[k] = slices.Clone(r)
	}
	c.triggers, c.timers = maps.Clone(m.triggers), maps.Clone(m.timers)
	return &c
}

func (m *machine[R]) facts(c cell) *window.Facts {
	f := &window.Facts{Now: m.now}
	if m.core.Merges() {
		f.Set = slices.Clone(m.sets[c.key])
	} else if m.core.NeedsTrigger() {
		f.Trigger = m.triggers[c]
	}
	return f
}

// element plays one record.
func (m *machine[R]) element(key string, e window.Element, row R) (err error) {
	m.windows, err = m.core.Assign(m.windows[:0], e, m.now)
	if err != nil {
		return err
	}
	r, taken := record[R]{Element: e, row: row}, false
	for _, w := range m.windows {
		took, err := m.into(key, w, r)
		if err != nil {
			return err
		}
		taken = taken || took
	}
	if !taken && m.core.IsLate(e, m.now) {
		m.late(r)
	}
	return nil
}

// into plays one record of one window.
func (m *machine[R]) into(key string, w window.Window, r record[R]) (took bool, err error) {
	f := m.facts(cell{key, w})
	if m.list, took, err = m.core.OnElement(m.list[:0], w, r.Element, f); err != nil {
		return false, err
	}
	return took, m.apply(key, f, r)
}

func (m *machine[R]) apply(key string, f *window.Facts, r record[R]) error {
	known := false
	for _, e := range m.list {
		at, contents := cell{key, e.Window}, cell{key, e.Contents}
		switch e.Kind {
		case window.Append:
			known = len(m.contents[contents]) > 0
			m.contents[contents] = append(m.contents[contents], r)
		case window.Absorb:
			m.absorbs++
		case window.Merge:
			from := cell{key, e.From}
			m.contents[contents] = append(m.contents[contents], m.contents[from]...)
			delete(m.contents, from)
		case window.SetTimer:
			if !known || !m.steady || !m.core.SteadyTimers() {
				m.timers[timer{at, e.Domain, e.Time}] = true
			}
		case window.DeleteTimer:
			delete(m.timers, timer{at, e.Domain, e.Time})
		case window.Fire:
			if err := m.output(contents, e.Window); err != nil {
				return err
			}
		case window.Purge, window.Clear:
			delete(m.contents, contents)
		case window.KeepTrigger:
			if m.triggers[at] = f.Trigger; f.Trigger == (window.State{}) {
				delete(m.triggers, at)
			}
		case window.KeepSet:
			if m.sets[key] = f.Set; len(f.Set) == 0 {
				delete(m.sets, key)
			}
		}
	}
	return nil
}

func (m *machine[R]) output(c cell, w window.Window) error {
	records := m.contents[c]
	if len(records) == 0 {
		return nil
	}
	before, after := records, records
	if m.evictor != nil {
		var times []stream.EventTime
		var values []float64
		for _, r := range records {
			times, values = append(times, r.Time), append(values, r.Value)
		}
		keep, err := m.evictor.Evict(nil, len(records), times, values)
		if err != nil {
			return err
		}
		after = nil
		for i, r := range records {
			if keep[i] {
				after = append(after, r)
			}
		}
		if !m.evictor.After {
			before = after
		}
	}
	if len(before) > 0 {
		m.fire(c.key, w, before)
	}
	if m.contents[c] = after; len(after) == 0 {
		delete(m.contents, c)
	}
	return nil
}

// advance moves the watermark.
func (m *machine[R]) advance(t stream.EventTime) error {
	if t <= m.now.Watermark {
		return nil
	}
	m.now.Watermark = t
	return m.ring(window.EventDomain, int64(t))
}

// clock moves processing time.
func (m *machine[R]) clock(t int64) error {
	m.now.Clock = max(m.now.Clock, stream.ProcTime(t))
	return m.ring(window.ProcDomain, int64(m.now.Clock))
}

// ring calls the due timers of a domain.
func (m *machine[R]) ring(d window.Domain, now int64) error {
	for {
		next, ok := m.next(d)
		if !ok || next.at > now {
			return nil
		}
		delete(m.timers, next)
		f := m.facts(next.cell)
		m.list = m.core.OnTimer(m.list[:0], next.window, d, next.at, f)
		if err := m.apply(next.key, f, record[R]{}); err != nil {
			return err
		}
	}
}

func (m *machine[R]) next(d window.Domain) (first timer, ok bool) {
	for t := range m.timers {
		if t.domain != d || ok && compareTimers(t, first) >= 0 {
			continue
		}
		first, ok = t, true
	}
	return first, ok
}

func compareTimers(x, y timer) int {
	return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.key, y.key),
		cmp.Compare(x.window.Start, y.window.Start), cmp.Compare(x.window.End, y.window.End))
}

// dropClock forgets the pending timers of processing time.
func (m *machine[R]) dropClock() {
	maps.DeleteFunc(m.timers, func(t timer, _ bool) bool { return t.domain == window.ProcDomain })
}

// restore makes a machine go on from a snapshot: the clock goes on, the watermark
// begins anew.
func (m *machine[R]) restore(clock stream.ProcTime) error {
	m.now = window.Now{Watermark: stream.MinTime, Clock: clock}
	return m.ring(window.ProcDomain, int64(clock))
}

// empty says that nothing is kept any more.
func (m *machine[R]) empty() bool {
	return len(m.sets)+len(m.triggers)+len(m.contents)+len(m.timers) == 0
}
