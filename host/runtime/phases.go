package runtime

import (
	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// A windowed step whose assigner or trigger is a function works in phases, so that the
// function is asked once for a run of records and not for each of them:
//
//  1. the assigner is asked for the windows of all records;
//  2. the core goes over the records in order, and what it decides is noted down: acts.
//     Merging sets and the states of built-in triggers change here, since the decisions
//     about later records depend on them;
//  3. the trigger is asked all questions that came up, in their order;
//  4. the acts are carried out in order, an answer in the place of each question.
//
// A record that the trigger fails on is left out of that window, and of no other: it is
// not added, and sets no timer. Where windows merge, what the core has decided about
// records behind it must not stand either, so that is taken back: see rewind.go.
//
// This gives what asking one by one would give: a trigger never sees what windows hold,
// and nothing that the core decides depends on its answers. Timers that are due work
// likewise, in rounds of one moment each: what a round sets that is due is another
// round, so results leave in order of time.
//
// Invariants:
//
//	(R) Rows are decided about once: while acts of them wait for room in the output,
//	    rows begins where it stopped, with decided set.
//	(E) At complete all acts have been carried out.

// phases is what a windowed step needs for them.
type phases struct {
	assigner *assigner // nil: built in
	trigger  *trigger  // nil: built in
	acts     []act
	next     int // act

	decided bool // acts of the present rows wait, or have been carried out
	batch   *stream.Batch
	side    side
	from    int      // the rows that the assigner was asked about begin here
	asked   int      // and end here
	to      int      // the rows that were decided about end here
	err     error    // what the row behind them fails with
	rewinds *rewinds // nil: nothing is ever taken back
	ahead   ahead
}

// act is an effect of the core that waits, with the entries that it is about:
//
//	Append                 row is added to the contents at ref
//	Ask                    about the window at ref; its contents are at other
//	SetTimer, DeleteTimer  at time in domain, of the window at ref
//	Merge                  the contents at other are merged into those at ref
//	Fire, Purge, Clear     of window, whose contents are at ref
//	actLate                row is late, and no more is to be done
//
// An Ask about a record mostly has an Append before it and the cleanup's SetTimer behind,
// and is one act with them.
type act struct {
	kind     window.EffectKind
	question window.Question
	domain   state.Domain
	purges   bool  // Ask: to fire is to purge, too
	appends  bool  // Ask: first row is added to the contents
	sets     bool  // Ask: in the end the timer is set
	nth      int32 // of the windows of row
	row      int32 // of the batch
	ref      state.Ref
	other    state.Ref
	time     int64
	window   window.Window
}

// actLate is no effect of the core.
const actLate window.EffectKind = 0

// How many acts may wait before the trigger is asked. Those of records are few, so that
// what a run of them takes, in the frame and beside it, stays in the cache with the entries
// of windows; those of timers are memory.
const (
	rowActsMax = 1 << 10
	actsMax    = 1 << 14
)

// assignedRows handles rows with the windows that a function gives them, if the trigger
// is built in: with the windows known, there is no more to ask.
func (o *windowOperator) assignedRows(s side, b *stream.Batch, from, to int) (int, error) {
	p := o.phases
	for i := from; i < to; i++ {
		if o.isFull() {
			return i, nil
		}
		if p.batch != b || p.to != to || i < p.from || i >= p.asked {
			var err error
			if p.asked, err = p.assigner.ask(s, b, i, to, o.facts.Now); err != nil {
				return i, err
			}
			p.batch, p.from, p.to = b, i, to
		}
		if f := &p.assigner.failed; f.err != nil && f.at == i-p.from {
			return i, f.err
		}
		var sound bool
		if o.windows, sound = p.assigner.of(i - p.from); !sound {
			continue
		}
		o.faults.came(b, i)
		if refused, err := o.refuses(s, b, i); err != nil || refused {
			if err != nil {
				return i, err
			}
			continue
		}
		if err := o.element(s, b.Row(i), b.Time(i)); err != nil {
			return i, o.failed(err, "the record of", b.Time(i))
		}
	}
	p.batch = nil
	return to, nil
}

// phasedRows handles rows from..to of a batch as rows does.
func (o *windowOperator) phasedRows(s side, b *stream.Batch, from, to int) (int, error) {
	p := o.phases
	if !p.decided {
		if o.isFull() {
			return from, nil
		}
		p.batch, p.side, p.decided = b, s, true
		var err error
		if p.to, err = o.decide(from, to); err != nil {
			return from, err
		}
	}
	if done, err := o.carryOut(); err != nil || !done {
		return from, err
	}
	p.decided = false
	if p.to >= p.asked {
		p.asked = 0
	}
	return p.to, p.err
}

// decide is the phases up to the trigger's; it returns where it stopped. A row that
// fails is the last: what those before it lead to is done first.
func (o *windowOperator) decide(from, to int) (next int, err error) {
	p := o.phases
	if p.assigner != nil {
		if to, err = p.assign(from, min(to, from+rowActsMax), o.facts.Now); err != nil {
			return from, err
		}
	}
	to = p.rewinds.begin(p.trigger, from, to)
	for {
		if next, err = o.decideRows(from, to); err == nil {
			err = o.ask()
		}
		if err != nil || p.rewinds.stands(p.trigger) {
			return next, err
		}
		to = p.rewind(from)
	}
}

// assign has the assigner asked about rows, unless it was asked already; they end before
// one that it fails the step on.
func (p *phases) assign(from, to int, now window.Now) (int, error) {
	if from >= p.asked {
		asked, err := p.assigner.ask(p.side, p.batch, from, to, now)
		if err != nil {
			return from, err
		}
		p.from, p.asked = from, asked
	}
	to = p.asked
	if f := &p.assigner.failed; f.err != nil {
		to = p.from + f.at
	}
	return to, nil
}

// decideRows decides about rows until one fails, or there are many acts.
func (o *windowOperator) decideRows(from, to int) (next int, err error) {
	p := o.phases
	p.ahead.begin(from)
	for next = from; next < to && len(p.acts) < rowActsMax; next++ {
		if next == p.ahead.to {
			o.lookAhead(min(to, next+aheadRows))
		}
		var given []window.Window
		if p.assigner != nil {
			var sound bool
			if given, sound = p.assigner.of(next - p.from); !sound {
				continue
			}
			last, refused, err := o.admits(from, next)
			switch {
			case last || err != nil:
				p.err = err
				return next, nil
			case refused && p.rewinds != nil:
				return next + 1, nil
			case refused:
				continue
			}
		}
		if err := o.decideRow(next, given); err != nil {
			p.err = o.failed(err, "the record of", p.batch.Time(next))
			return next, nil
		}
	}
	if p.assigner != nil {
		if f := &p.assigner.failed; f.err != nil && next == p.from+f.at {
			p.err = f.err
		}
	}
	return next, nil
}

// lookAhead makes the keys of the next rows. A row's windows are those that the assigner
// gave it, or most likely those of the row before.
func (o *windowOperator) lookAhead(to int) {
	p := o.phases
	p.ahead.clear()
	for i := p.ahead.to; i < to; i++ {
		ns, windows := setNamespace, o.windows
		if p.assigner != nil {
			windows, _ = p.assigner.of(i - p.from)
		}
		if !o.merges && len(windows) > 0 {
			ns = state.Namespace(windows[0])
		}
		p.ahead.add(o.sides[p.side].key, p.batch.Row(i), ns)
	}
	o.backend.Expect(p.ahead.expected)
}

// ask has the questions answered.
func (o *windowOperator) ask() error {
	if o.phases.trigger == nil {
		return nil
	}
	return o.phases.trigger.perform()
}

// decideRow asks the core about one record and notes what it says.
func (o *windowOperator) decideRow(i int, given []window.Window) error {
	p := o.phases
	row, t := p.batch.Row(i), p.batch.Time(i)
	o.faults.came(p.batch, i)
	o.key, o.hash = p.ahead.key(i)
	o.known = false
	e, err := o.values(p.side, row, t)
	if err != nil {
		return err
	}
	windows := given
	if p.assigner == nil {
		if err := o.assign(e); err != nil {
			return err
		}
		windows = o.windows
	}
	taken := false
	for nth, w := range windows {
		if p.rewinds.leavesOut(i, nth) {
			taken = true
			continue
		}
		o.load(w)
		var took bool
		if o.effects, took, err = o.core.OnElement(o.effects[:0], w, e, &o.facts); err != nil {
			return err
		}
		taken = taken || took
		if err := o.note(i, nth, row, t); err != nil {
			return err
		}
	}
	if !taken && o.core.IsLate(e, o.facts.Now) {
		p.acts = append(p.acts, act{kind: actLate, row: int32(i)})
	}
	return nil
}

// note turns the core's effects about the nth window of a record into acts.
func (o *windowOperator) note(i, nth int, row stream.Row, t stream.EventTime) error {
	p := o.phases
	for j := range o.effects {
		e := &o.effects[j]
		switch e.Kind {
		case window.Append, window.Fire, window.Purge, window.Clear:
			p.act(e, i, nth, o.ref(e.Contents))
		case window.Merge:
			from := o.ref(e.From)
			p.act(e, i, nth, o.ref(e.Contents)).other = from
		case window.SetTimer, window.DeleteTimer:
			r := o.ref(e.Window)
			if q := p.last(); e.Kind == window.SetTimer && q != nil && q.kind == window.Ask && q.appends && q.ref == r && !q.sets {
				q.sets, q.domain, q.time = true, state.Domain(e.Domain), e.Time
				continue
			}
			p.act(e, i, nth, r)
		case window.Unite:
			p.trigger.unite(o.ref(e.From))
		case window.Ask:
			contents := o.ref(e.Contents)
			r := o.ref(e.Window)
			if err := p.trigger.question(e, r, p.side, row, t, o.facts.Now); err != nil {
				return err
			}
			q := p.last()
			if appends := q != nil && q.kind == window.Append && e.Question == window.AboutRecord && q.ref == contents; appends {
				q.kind, q.ref, q.appends = window.Ask, r, true
			} else {
				q = p.act(e, i, nth, r)
			}
			q.question, q.purges, q.other, q.window = e.Question, e.Purges, contents, e.Window
		case window.KeepTrigger:
			o.keepTrigger(e.Window)
		case window.KeepSet:
			o.keepSet()
		}
	}
	return nil
}

// act notes an effect about the nth window of row i down. It is written where it stays,
// as effects are: to copy what was just written stalls.
func (p *phases) act(e *window.Effect, i, nth int, r state.Ref) *act {
	n := len(p.acts)
	if n == cap(p.acts) {
		p.acts = append(p.acts, act{})
	}
	p.acts = p.acts[:n+1]
	a := &p.acts[n]
	a.kind, a.question, a.domain = e.Kind, 0, state.Domain(e.Domain)
	a.purges, a.appends, a.sets = false, false, false
	a.nth, a.row, a.ref, a.other = int32(nth), int32(i), r, 0
	a.time, a.window = e.Time, e.Window
	return a
}

// last is the act that was noted last, nil if none waits.
func (p *phases) last() *act {
	if len(p.acts) == 0 {
		return nil
	}
	return &p.acts[len(p.acts)-1]
}

// carryOut carries acts out, until there is no room for their output (false).
func (o *windowOperator) carryOut() (bool, error) {
	p := o.phases
	for ; p.next < len(p.acts); p.next++ {
		a := &p.acts[p.next]
		if (a.kind == window.Fire || a.kind == window.Ask) && o.isFull() {
			return false, nil
		}
		if a.kind == window.Ask {
			o.decision++ // each that fires, or ends a window, begins with a question
		}
		if err := o.perform(a); err != nil {
			o.key = o.backend.Key(a.ref)
			return false, o.failed(err, "the window up to", stream.EventTime(a.window.End))
		}
	}
	p.acts, p.next = p.acts[:0], 0
	if p.trigger != nil {
		p.trigger.reset()
	}
	return true, nil
}

// perform carries one act out.
func (o *windowOperator) perform(a *act) error {
	switch a.kind {
	case window.Append:
		return o.addRow(a.ref, a.row)
	case window.Merge:
		return o.contents.merge(a.ref, a.other)
	case window.SetTimer:
		o.backend.SetTimer(a.domain, a.time, a.ref)
	case window.DeleteTimer:
		o.backend.DeleteTimer(a.domain, a.time, a.ref)
	case window.Fire:
		return o.fireAt(a.ref, a.window)
	case window.Purge:
		o.contents.clear(a.ref)
	case window.Clear:
		o.contents.clear(a.ref)
		o.contents.retire(a.ref, a.window)
	case window.Ask:
		return o.answer(a)
	case actLate:
		t := o.phases.batch.Time(int(a.row))
		o.lost(window.Element{Time: t}, o.phases.batch.Row(int(a.row)), t)
	}
	return nil
}

// addRow adds a record to the contents at r.
func (o *windowOperator) addRow(r state.Ref, row int32) error {
	p := o.phases
	o.faults.came(p.batch, int(row))
	return o.contents.add(r, p.side, p.batch.Row(int(row)), p.batch.Time(int(row)))
}

// answer does what the trigger's function answered. A record that it failed on is not in
// the window, so all is as it was before.
func (o *windowOperator) answer(a *act) error {
	t := o.phases.trigger
	wishes, decision, sound, err := t.next()
	if err != nil || !sound && a.appends {
		return err
	}
	if a.appends {
		if err := o.addRow(a.other, a.row); err != nil {
			return err
		}
	}
	for _, w := range wishes {
		if w.deletes {
			o.backend.DeleteTimer(w.domain, w.at, a.ref)
		} else {
			t.chains.set(o.backend, w.domain, w.at, a.ref)
			o.backend.SetTimer(w.domain, w.at, a.ref)
		}
	}
	if a.sets {
		o.backend.SetTimer(a.domain, a.time, a.ref)
	}
	if a.question == window.AboutEnd {
		t.clear(a.ref)
	}
	if decision&decidesFire != 0 {
		if err := o.fireAt(a.other, a.window); err != nil {
			return err
		}
		if a.purges {
			decision |= decidesPurge
		}
	}
	if decision&decidesPurge != 0 {
		o.contents.clear(a.other)
	}
	return nil
}

// fireRounds fires the timers of a domain as fireTimers does.
func (o *windowOperator) fireRounds(d state.Domain, upTo int64) (bool, error) {
	o.phases.trigger.chains.begin(d, upTo)
	for {
		if done, err := o.carryOut(); err != nil || !done {
			return false, err
		}
		if o.isFull() {
			return false, nil
		}
		at, r, ok := o.backend.PopTimer(d, upTo)
		if !ok {
			o.phases.trigger.chains.end(d)
			return true, nil
		}
		for ok {
			if err := o.decideTimer(d, at, r); err != nil {
				return false, o.failed(err, "the timer of", stream.EventTime(at))
			}
			if len(o.phases.acts) >= actsMax {
				break // the others of this moment come with the next round
			}
			_, r, ok = o.backend.PopTimer(d, at)
		}
		if err := o.ask(); err != nil {
			return false, err
		}
	}
}

// decideTimer asks the core about a timer that is due.
func (o *windowOperator) decideTimer(d state.Domain, at int64, r state.Ref) error {
	w := o.turnTo(r)
	if dropped, err := o.drops(d, at, r, w); dropped || err != nil {
		return err
	}
	o.effects = o.core.OnTimer(o.effects[:0], w, window.Domain(d), at, &o.facts)
	if o.merges && len(o.effects) == 0 {
		o.phases.trigger.clear(r) // the window is part of another one
	}
	return o.note(0, 0, nil, stream.MinTime)
}
