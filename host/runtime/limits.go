package runtime

import (
	"fmt"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// LimitError says that what a step keeps has come to a limit of the job, and that no
// function did that which could be left out.
type LimitError struct {
	Step, Field string
	Text        string
}

// Error says what the step keeps, what it may keep, and what raises that.
func (e *LimitError) Error() string { return e.Text }

// Lasting implements connector.Lasting: a job that goes on from its checkpoint comes to
// the same limit again.
func (e *LimitError) Lasting() bool { return true }

// stateLimit is how much a task of a step may keep. Functions are held to it before
// what they answer is taken, so with them the job fails only if the step itself goes
// beyond.
type stateLimit struct {
	step    string
	limits  *job.Limits
	backend state.Backend
	slack   state.Stats // by how much the step itself may be beyond before the job fails
	settled state.Stats // when all entries last held something
	spare   state.Stats // entries since that may come to hold nothing
	near    bool        // the present frame may come to a limit
}

// What a step with functions may be beyond its limits by itself: what the present frame
// could add, and entries that are there for ops of which it is not known yet whether
// they keep anything.
const (
	slackBytes   = 64 << 20
	slackEntries = 4 * frameOpsMax
)

// newStateLimit makes a limit of which on is to come before all else.
func newStateLimit(s *job.Step) *stateLimit {
	l := &stateLimit{step: s.Name, limits: &s.Limits}
	if len(s.Functions) > 0 {
		l.slack = state.Stats{Bytes: slackBytes, Entries: slackEntries, Timers: slackEntries}
	}
	return l
}

// on tells what keeps the state, once that is restored.
func (l *stateLimit) on(backend state.Backend) {
	l.backend = backend
	l.settle()
}

// check fails the job if a task's state is beyond its limits, functions or not.
func (l *stateLimit) check(s state.Stats) error {
	switch {
	case l == nil:
	case s.Bytes > l.limits.StateBytes+l.slack.Bytes:
		return l.failed("state", fmt.Sprintf("%d bytes of state", s.Bytes), l.limits.StateBytes)
	case int64(s.Entries) > l.limits.Entries+int64(l.slack.Entries):
		return l.failed("entries", fmt.Sprintf("%d entries", s.Entries), l.limits.Entries)
	case int64(s.Timers) > l.limits.Timers+int64(l.slack.Timers):
		return l.failed("timers", fmt.Sprintf("%d timers", s.Timers), l.limits.Timers)
	}
	return nil
}

func (l *stateLimit) failed(field, what string, limit int64) error {
	return &LimitError{Step: l.step, Field: field, Text: fmt.Sprintf("it keeps %s in one task, and its limit is %d: %s", what, limit, raise(field))}
}

// raise says what makes a limit another one.
func raise(field string) string {
	return fmt.Sprintf("limits: {%s: …} of the step or the job raises it", field)
}

// settle comes when all entries hold something.
func (l *stateLimit) settle() {
	l.settled, l.spare, l.near = l.backend.Stats(), state.Stats{}, false
}

// begin comes before ops are performed: entries that were made for them hold nothing yet.
func (l *stateLimit) begin() {
	s := l.backend.Stats()
	l.spare = state.Stats{Entries: max(0, s.Entries-l.settled.Entries), Bytes: max(0, s.Bytes-l.settled.Bytes)}
}

// made says that entries were made for ops, since the state was so large, that hold
// nothing yet.
func (l *stateLimit) made(before state.Stats) {
	s := l.backend.Stats()
	l.spare.Entries, l.spare.Bytes = l.spare.Entries+s.Entries-before.Entries, l.spare.Bytes+s.Bytes-before.Bytes
}

// fill says that one of those entries is about to hold something.
func (l *stateLimit) fill() {
	if n := l.spare.Entries; n > 0 {
		l.spare.Bytes -= l.spare.Bytes / int64(n)
		l.spare.Entries--
	}
}

// timerBytesMin is what an answer takes for each timer that it sets.
const timerBytesMin = 24

// Near is a part of guest.Limited.
func (l *stateLimit) Near(bytes int) bool { return l.isNear(bytes, 0, 0) }

// isNear is Near with what is kept besides the state.
func (l *stateLimit) isNear(bytes, kept, waiting int) bool {
	if l == nil {
		return false
	}
	s := l.backend.Stats()
	n := int64(bytes / timerBytesMin)
	l.near = s.Bytes+int64(kept)+2*int64(bytes)+n*state.TimerBytes > l.limits.StateBytes ||
		int64(s.Entries)+n > l.limits.Entries || int64(s.Timers+waiting)+n > l.limits.Timers
	return l.near
}

// Room is a part of guest.Limited.
func (l *stateLimit) Room(bytes int) int {
	if bytes == 0 {
		return 0
	}
	return state.Room(bytes)
}

// Over is a part of guest.Limited.
func (l *stateLimit) Over(bytes, entries, timers int) string {
	s := l.backend.Stats()
	bytes += timers * state.TimerBytes
	if n := l.spare.Entries; n > 0 && entries > 0 {
		bytes += entries * int(l.spare.Bytes/int64(n)) // those that come to hold something
	}
	b, e, t := s.Bytes-l.spare.Bytes+int64(bytes), int64(s.Entries-l.spare.Entries+entries), int64(s.Timers+timers)
	field, what, limit := "", "", int64(0)
	switch {
	case bytes > 0 && b > l.limits.StateBytes:
		field, what, limit = "state", fmt.Sprintf("%d bytes of state", b), l.limits.StateBytes
	case entries > 0 && e > l.limits.Entries:
		field, what, limit = "entries", fmt.Sprintf("%d entries", e), l.limits.Entries
	case timers > 0 && t > l.limits.Timers:
		field, what, limit = "timers", fmt.Sprintf("%d timers", t), l.limits.Timers
	default:
		return ""
	}
	return fmt.Sprintf("the step %s would keep %s in one task, and its limit is %d: %s", l.step, what, limit, raise(field))
}

// callsLimit is the limit of what host calls keep.
type callsLimit struct{ *stateLimit }

// Over implements process.Limit.
func (l callsLimit) Over(bytes, entries int) string { return l.stateLimit.Over(bytes, entries, 0) }

// Filled implements process.Limit.
func (l callsLimit) Filled(keys int) {
	for range keys {
		l.fill()
	}
}

// isFull tells that there is no room for anything more, and why.
func (l *stateLimit) isFull() error {
	if over := l.Over(1, 1, 1); over != "" {
		return overLimit("%s", over)
	}
	return nil
}

// overLimit is a fault that is none of a guest's answer, and so of no op of a frame.
func overLimit(format string, args ...any) error {
	return &abi.Fault{Kind: abi.FaultOverLimit, Op: -1, Detail: fmt.Sprintf(format, args...)}
}

// withoutTimers is the part of a Limited role whose ops set no timers.
type withoutTimers struct{ *stateLimit }

// AddsTimer is a part of guest.Limited.
func (withoutTimers) AddsTimer(int, abi.Effect) bool { return false }

// chains counts, by key or key and window, the timers that functions set during an
// advance of time and that are due in it. Without a limit a function that answers each
// of its timers by another would never let time go on. One clock may move while the
// other waits for room.
type chains struct {
	limit int64
	of    [2]chain // by domain
}

type chain struct {
	upTo   int64
	moving bool // time is
	links  map[state.Ref]int64
}

// begin comes when time has moved, and again after each pause until end does.
func (c *chains) begin(d state.Domain, upTo int64) { c.of[d].upTo, c.of[d].moving = upTo, true }

func (c *chains) end(d state.Domain) {
	c.of[d].moving = false
	clear(c.of[d].links)
}

// set comes before a function's timer is set.
func (c *chains) set(b state.Backend, d state.Domain, at int64, r state.Ref) {
	of := &c.of[d]
	if !of.moving || at > of.upTo || b.HasTimer(d, at, r) {
		return
	}
	if of.links == nil {
		of.links = map[state.Ref]int64{}
	}
	of.links[r]++
}

// isOver tells that a key's timers are not to be called any more.
func (c *chains) isOver(d state.Domain, r state.Ref) bool {
	links := c.of[d].links
	return len(links) > 0 && links[r] > c.limit
}

func (c *chains) fault() error {
	return overLimit("timers of one key that were set in one advance of time are due in it, more than %d of them: %s", c.limit, raise("timer-calls"))
}

// drops leaves a trigger's timer out that would be one call too many. The one that ends
// the window is let through, once.
func (o *windowOperator) drops(d state.Domain, at int64, r state.Ref, w window.Window) (bool, error) {
	t := o.phases.trigger
	if !t.chains.isOver(d, r) {
		return false, nil
	}
	links, let := t.chains.of[d].links, 2*t.chains.limit+2
	if o.core.Ends(w, window.Domain(d), at) && links[r] < let {
		links[r] = let
		return false, nil
	}
	shown := "the timer of " + stream.EventTime(at).Show() + " of " + showWindow(w)
	x := failure{function: t.function, key: o.shownKey.Show(o.key), time: stream.MinTime, within: shown, where: shown, err: t.chains.fault()}
	return true, o.faults.take(&x)
}

// refuses leaves a record out whose windows a function gave it, if there is no room for
// more.
func (o *windowOperator) refuses(s side, b *stream.Batch, i int) (bool, error) {
	err := o.limit.isFull()
	if err == nil {
		return false, nil
	}
	a := o.phases.assigner
	x := failure{function: a.function, time: b.Time(i), where: "a record", err: err}
	if p := a.inputs.sides[s]; p != nil {
		x.schema = a.function.Inputs[min(int(s), len(a.function.Inputs)-1)].Schema
		x.record = p.AppendTo(nil, b.Row(i), stream.Insert)
		x.where = "the record " + x.schema.Show(x.record)
	}
	o.showAssigned(&x, s, b, i)
	return true, o.faults.take(&x)
}
