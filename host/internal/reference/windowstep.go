package reference

import (
	"fmt"
	"maps"
	"slices"
)

// moments are what a step knows of both times.
type moments struct{ event, clock int64 }

// holding is a record in one of its windows; of a session that is the record's own
// gap, from which the sessions are found.
type holding struct {
	record record
	span   span
	held   bool // still among the contents: neither purged nor evicted
}

// windowState is what a checkpoint has of a step.
type windowState struct {
	history     map[string][]holding // by key, in order of arrival; not those whose windows are gone
	notes       map[paneID]*notes
	eventTimers timers
	clockTimers timers
	results     map[string][]result // by key: what was put out and may be taken back
	whole       map[paneID]bool     // sessions that began with a record whose own window they are
	lostIn      map[paneID]bool     // sessions whose contents were lost, see begin
}

// windowStep is a window or a window join: Flink's WindowOperator, with contents
// and sessions found in the history.
type windowStep struct {
	*step
	windowState
	inputs  [2]schema
	keyed   [2][]int
	calls   []call
	outputs outputs
	now     moments
	started bool  // the clock was set since the last restart
	lost    int64 // late records that were dropped
	doubts  *doubts
}

func newWindowStep(s *step, inputs [2]schema, d *doubts) *windowStep {
	w := &windowStep{step: s, inputs: inputs, doubts: d, now: moments{minTime, minTime}, windowState: windowState{
		history: map[string][]holding{}, notes: map[paneID]*notes{}, results: map[string][]result{},
		eventTimers: timers{}, clockTimers: timers{}, whole: map[paneID]bool{}, lostIn: map[paneID]bool{},
	}}
	w.keyed = [2][]int{inputs[0].indexes(s.keys[0]), inputs[1].indexes(s.keys[1])}
	var out schema
	if s.kind == "window-join" {
		out = out.plus("left_", inputs[0]).plus("right_", inputs[1])
	} else {
		out = inputs[0].pick(w.keyed[0])
		for _, a := range s.aggregates {
			c := parseCall(a[1], inputs[0])
			w.calls = append(w.calls, c)
			out = out.plus("", schema{[]string{a[0]}, []string{c.datatype}})
		}
	}
	if s.window.kind != "global" {
		out = out.plus("", schema{[]string{"window_start", "window_end"}, []string{"BIGINT", "BIGINT"}})
	}
	w.outputs = outputs{"": {schema: out}}
	if s.late[0] != "" {
		w.outputs[s.late[0]] = &outlet{schema: inputs[0]}
	}
	return w
}

func (w *windowStep) key(r record) string { return r.row.pick(w.keyed[r.side]).text() }

// number is a record's column as triggers, evictors and gaps see it.
func (w *windowStep) number(r record, column string) float64 {
	switch v := r.row[w.inputs[r.side].index(column)].(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// sessions are the windows of the history that touch, as one each.
func (w *windowStep) sessions(key string, more ...span) []span {
	for _, h := range w.history[key] {
		more = append(more, h.span)
	}
	return merged(more)
}

// contents are the records that a window holds, in order of arrival.
func (w *windowStep) contents(id paneID) []record {
	var list []record
	for _, h := range w.history[id.key] {
		if h.held && id.span.contains(h.span) {
			list = append(list, h.record)
		}
	}
	return list
}

func (w *windowStep) pane(id paneID) pane {
	if w.notes[id] == nil {
		w.notes[id] = &notes{}
	}
	return pane{id: id, in: w, notes: w.notes[id]}
}

// cleanup is when a window is forgotten; maxTime: never.
func (w *windowStep) cleanup(s span) int64 {
	if w.window.eventTime() {
		return saturating(s.last(), w.window.lateness)
	}
	return s.last()
}

func (w *windowStep) isLate(s span) bool {
	return w.window.eventTime() && w.cleanup(s) <= w.now.event
}

// record is Flink's processElement.
func (w *windowStep) record(r record) {
	w.doubts.arrival(w, r)
	t := r.time
	if w.window.processing {
		t = w.now.clock
	} else if t == minTime && w.window.slide > 0 {
		panic(failure("timestamp")) // caught where the script's action began
	}
	gap := w.window.gap
	if w.window.gapField != "" {
		gap = int64(w.number(r, w.window.gapField))
		if gap <= 0 {
			panic(failure("gap")) // caught as above
		}
	}
	key, taken := w.key(r), false
	for _, s := range w.window.of(t, gap) {
		id := paneID{key, s}
		if w.window.kind == "session" {
			id.span = w.join(key, s)
		}
		if w.isLate(id.span) {
			continue
		}
		taken = true
		w.history[key] = append(w.history[key], holding{r, s, true})
		w.obey(id, w.window.trigger.onRecord(w.pane(id), r), true)
		w.setCleanup(id)
	}
	if !taken && r.time > maxTime-w.window.lateness { // Flink's sum wraps around: late
		w.doubts.differ("a record without windows whose time and lateness pass the upper limit")
	}
	if !taken && w.window.eventTime() && saturating(r.time, w.window.lateness) <= w.now.event {
		w.late(r)
	}
}

func (w *windowStep) late(r record) {
	w.doubts.decided(w, w.key(r))
	if out := w.outputs[w.step.late[0]]; w.step.late[0] != "" {
		out.record(r)
	} else {
		w.lost++
	}
}

func (w *windowStep) setCleanup(id paneID) {
	at := w.cleanup(id.span)
	switch {
	case at == maxTime:
	case w.window.eventTime():
		w.eventTimers.set(at, id)
	default:
		w.clockTimers.set(at, id)
	}
}

func (w *windowStep) unsetCleanup(id paneID) {
	if w.window.eventTime() {
		w.eventTimers.unset(w.cleanup(id.span), id)
	} else {
		w.clockTimers.unset(w.cleanup(id.span), id)
	}
}

// join finds the session that a record's own window belongs to. Sessions that
// become part of it hand their triggers' notes over.
func (w *windowStep) join(key string, own span) span {
	before := w.sessions(key)
	after := w.sessions(key, own)
	whole := after[slices.IndexFunc(after, func(s span) bool { return s.contains(own) })]
	before = slices.DeleteFunc(before, func(s span) bool { return !whole.contains(s) })
	if len(before) == 0 || len(before) == 1 && before[0] == whole {
		if own == whole && !w.isLate(whole) {
			w.begin(paneID{key, whole})
		}
		return whole
	}
	w.refuseLate(whole)
	p := w.pane(paneID{key, whole})
	for _, s := range before {
		p.merges = append(p.merges, w.pane(paneID{key, s}).notes)
	}
	if len(before) > 1 && w.window.evictor != nil {
		w.doubts.add("the order of merged contents under an evictor")
	}
	w.window.trigger.onMerge(p)
	for _, s := range before {
		id := paneID{key, s}
		w.window.trigger.clear(w.pane(id))
		w.unsetCleanup(id)
		delete(w.notes, id)
		delete(w.whole, id)
	}
	return whole
}

// begin has a record whose own window is a whole session. If that session came to
// be by merging, Flink gives it new, empty contents all the same, and what it held
// is lost (MergingWindowSet keeps the contents of merged windows under the name of
// one of them, and puts this one beside it). The state that nobody knows any more
// would come back with a window of that name.
func (w *windowStep) begin(id paneID) {
	switch isNew := !slices.Contains(w.sessions(id.key), id.span); {
	case isNew:
		for lost := range w.lostIn {
			if lost.key == id.key && lost.span.contains(id.span) {
				w.doubts.add("contents that Flink lost may come back")
			}
		}
	case !w.whole[id]:
		w.drop(id, func(int, record) bool { return true })
		w.lostIn[id] = true
	}
	w.whole[id] = true
}

// refuseLate: a merge must not end in the past. Flink's sum wraps around at the
// limit, and it then fails without need.
func (w *windowStep) refuseLate(s span) {
	if w.window.eventTime() && s.last() > maxTime-w.window.lateness {
		w.doubts.differ("a merged session whose end and lateness pass the upper limit")
	}
	if w.window.eventTime() && saturating(s.last(), w.window.lateness) <= w.now.event ||
		w.window.processing && s.last() <= w.now.clock {
		panic(failure("merging")) // caught where the script's action began
	}
}

// obey does what a trigger said.
func (w *windowStep) obey(id paneID, v verdict, byRecord bool) {
	if v.fire {
		if byRecord {
			w.doubts.decided(w, id.key)
		}
		w.fire(id)
	}
	if v.purge {
		w.drop(id, func(int, record) bool { return true })
	}
}

// drop takes records out of a window's contents; i counts those that it holds.
func (w *windowStep) drop(id paneID, which func(i int, r record) bool) {
	i := 0
	history := w.history[id.key]
	for j := range history {
		if h := &history[j]; h.held && id.span.contains(h.span) {
			h.held = !which(i, h.record)
			i++
		}
	}
}

// fire puts out what the window holds, if anything.
func (w *windowStep) fire(id paneID) {
	records := w.contents(id)
	if len(records) == 0 {
		return
	}
	kept := records
	if e := w.window.evictor; e != nil {
		if e.isMixed(records) {
			w.doubts.add("a time evictor over records with and without event time, at which Flink fails")
		}
		keep := e.keeps(records, func(r record) float64 { return w.number(r, e.field) })
		if !e.after {
			kept = nil
			for i, r := range records {
				if keep[i] {
					kept = append(kept, r)
				}
			}
		}
		w.drop(id, func(i int, _ record) bool { return !keep[i] })
	}
	if len(kept) == 0 {
		return
	}
	for _, r := range w.condense(kept) {
		if !id.span.global {
			r = append(r, id.span.start, id.span.end)
		}
		w.put(id, r)
	}
}

// condense makes the rows of a firing, without the window's bounds.
func (w *windowStep) condense(records []record) []row {
	if w.kind == "window-join" {
		return w.pairs(records)
	}
	out := records[0].row.pick(w.keyed[0])
	for _, c := range w.calls {
		out = append(out, c.over(records))
	}
	return []row{out}
}

// pairs is every left row with every right row; a side that is empty stands as one
// row of nulls where the type of the join says so.
func (w *windowStep) pairs(records []record) []row {
	var sides [2][]row
	for _, r := range records {
		sides[r.side] = append(sides[r.side], r.row)
	}
	for i, keeps := range []string{"right", "left"} { // an empty left side is padded in a right join
		if len(sides[i]) == 0 && (w.joinType == keeps || w.joinType == "full") {
			sides[i] = []row{make(row, len(w.inputs[i].names))}
		}
	}
	var out []row
	for _, l := range sides[0] {
		for _, r := range sides[1] {
			out = append(out, slices.Concat(l, r))
		}
	}
	return out
}

func (w *windowStep) watermark(t int64) {
	w.now.event = t
	for {
		next, ok := w.eventTimers.due(t)
		if !ok {
			break
		}
		w.noteTie(next)
		w.strike(next, true)
	}
	w.outputs.watermark(t)
}

// noteTie notes that the whole of a key's results is put out while a window of it
// may end in the same moment, before or after.
func (w *windowStep) noteTie(t timer) {
	for _, timers := range []timers{w.eventTimers, w.clockTimers} {
		for other := range timers {
			if w.mode == "complete" && other.at == t.at && other.key == t.key {
				w.doubts.add("all results of a key in a moment when one of them comes or ends")
			}
		}
	}
}

func (w *windowStep) clock(t int64) {
	w.now.clock, w.started = t, true
	for n := 0; ; n++ {
		next, ok := w.clockTimers.due(t)
		if !ok {
			return
		}
		w.noteTie(next)
		if n == strikesMax {
			w.doubts.add("a timer that sets itself again for the same moment")
			return
		}
		w.strike(next, false)
	}
}

// strikesMax is beyond what any script of the tests can need.
const strikesMax = 100_000

// strike is Flink's onEventTime and onProcessingTime.
func (w *windowStep) strike(t timer, isEvent bool) {
	if w.window.kind == "session" && !slices.Contains(w.sessions(t.key), t.span) {
		return // the session became part of another
	}
	w.obey(t.paneID, w.window.trigger.onTimer(w.pane(t.paneID), t.at, isEvent), false)
	if isEvent == w.window.eventTime() && !t.span.global && t.at == w.cleanup(t.span) {
		w.forget(t.paneID)
	}
}

// forget removes all of a window.
func (w *windowStep) forget(id paneID) {
	w.window.trigger.clear(w.pane(id))
	delete(w.notes, id)
	delete(w.whole, id)
	w.history[id.key] = slices.DeleteFunc(w.history[id.key], func(h holding) bool { return id.span.contains(h.span) })
	w.retire(id)
}

func (w *windowStep) status(idle bool) { w.outputs.status(idle) }

// end: what the clock would still have done is not done.
func (w *windowStep) end() {
	w.clockTimers = timers{}
	w.outputs.end()
}

func (w *windowStep) dropped() int64 { return w.lost }

func (w *windowStep) outlets() outputs { return w.outputs }

func (w *windowStep) save() any { return w.windowState.copy() }

func (w *windowStep) load(saved any) { w.windowState = saved.(windowState).copy() }

func (s windowState) copy() windowState {
	c := windowState{
		history: map[string][]holding{}, notes: map[paneID]*notes{}, results: map[string][]result{},
		eventTimers: maps.Clone(s.eventTimers), clockTimers: maps.Clone(s.clockTimers),
		whole: maps.Clone(s.whole), lostIn: maps.Clone(s.lostIn),
	}
	for key, list := range s.history {
		c.history[key] = slices.Clone(list)
	}
	for id, n := range s.notes {
		other := *n // what it points to is never changed
		c.notes[id] = &other
	}
	for key, list := range s.results {
		c.results[key] = slices.Clone(list)
	}
	return c
}

// failure is the word by which a script knows an error.
type failure string

func (f failure) Error() string { return fmt.Sprintf("the job fails: %s", string(f)) }
