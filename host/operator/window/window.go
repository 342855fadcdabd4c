// Package window decides what happens to records and timers of a windowed step:
// which windows a record belongs to, whether it is late, when a window fires,
// when sessions merge and when a window is forgotten. It is Flink's
// WindowOperator with its assigners, triggers and evictors, without its state:
// facts come in, a closed set of effects comes out, and the caller carries them
// out in order.
//
// For each record the caller asks Assign for its windows and OnElement for each
// of them; if none took it, IsLate says whether it counts as late. For each due
// timer it asks OnTimer. Facts are what the caller keeps of a key (or of one
// window of it) between the calls; effects say when to store them again.
//
// Invariants:
//
//	(D) A decision depends on its arguments and the options alone. A Core never
//	    changes, so tasks may share it, and it reads no clock.
//	(O) Effects stand in the order in which Flink does them: the merge, the
//	    record, the trigger's timers, firing, purging, the cleanup timer.
//	(P) One path serves plain and merging windows: a plain window is its own
//	    contents window and its trigger state stands in the facts alone.
//	(T) A timer belongs to a window, never to a contents window; a timer of a
//	    window that is not in the merging set does nothing.
//	(S) A merging set is sorted by start, and no two of its windows can merge:
//	    a record changes at most one group of neighbours.
//	(C) The contents window of a session is its own or that of a session it grew
//	    from, never shared with another session of the key.
//	(A) With room in the caller's slices no call allocates, errors apart.
//
// A trigger or an assigner may be a function of the user's, which the core cannot
// call. Of an assigner it needs no more than the windows. Of a trigger it does not
// know what it decides, so it says where it is to be asked (Ask), and nothing else
// that it decides depends on the answer: a caller may go over many records first,
// ask the function about all of them at once, and then carry the effects out.
//
// Caveat: event times and bounds wrap around at the limits of int64 as Java's
// do. Only cleanup times are held at the limit, as in Flink.
package window

import "math"

// Window is the span [Start, End) of event time or processing time, in
// milliseconds since the epoch.
type Window struct {
	Start, End int64
}

// Global is the one window of a step with global windows. Its end wraps around,
// so that its last millisecond is the greatest there is.
var Global = Window{Start: math.MinInt64, End: math.MinInt64}

// MaxTimestamp is the last millisecond of the window.
func (w Window) MaxTimestamp() int64 { return w.End - 1 }

// Domain says which time a timer waits for.
type Domain uint8

// The domains of timers.
const (
	EventDomain Domain = iota // the watermark
	ProcDomain                // the clock
)

// EffectKind says what the caller is to do.
type EffectKind uint8

// The kinds of effects, with the fields that they use.
const (
	Append      EffectKind = iota + 1 // add the record to Contents, which Window shows
	Absorb                            // the session From is no more: it has become part of Window
	Merge                             // add what From (a contents window) holds to Contents, and clear From
	SetTimer                          // set a timer of Window in Domain at Time, unless it is set already
	DeleteTimer                       // delete that timer, if it is set
	Fire                              // put out the result of Window, if Contents holds anything
	Purge                             // clear Contents; the window goes on
	Clear                             // the window is over: clear Contents
	KeepTrigger                       // Facts.Trigger has changed: store it for Window; the zero State needs no place
	KeepSet                           // Facts.Set has changed: store it for the key; an empty one needs no place
	Unite                             // the next Ask is about Window, into which From is merged: the function may read From's states
	Ask                               // ask the trigger's function about Window, as Question says, and do what it answers
)

// Question is what a trigger's function is asked. Its answer stands in the place of
// the Ask: its timers, then, if it says so, Fire and Purge of Window and Contents.
type Question uint8

// The questions.
const (
	AboutRecord Question = iota + 1 // the record has been added to Window
	AboutTimer                      // a timer of Window in Domain at Time is due, whoever set it
	AboutMerge                      // Window has come out of a merge of what Unite named before; it has no states yet
	AboutEnd                        // Window is over, or part of another one: its states go behind the answer
)

// Effect is one thing to do.
type Effect struct {
	Kind     EffectKind
	Domain   Domain
	Question Question // of an Ask
	Purges   bool     // of an Ask: a firing clears the contents, too
	Window   Window
	Contents Window // the window under which the contents are kept
	From     Window
	Time     int64 // milliseconds
}

// effects is a list that is being made.
type effects []Effect

// add appends an effect. It is written in place, field by field: a literal would
// be built first and then copied in wider pieces, which stalls for longer than
// all the rest of a decision takes.
func (l *effects) add(kind EffectKind, w, contents Window) {
	e := l.grow()
	e.Kind, e.Domain, e.Time = kind, 0, 0
	e.Window, e.Contents, e.From = w, contents, Window{}
}

// timer appends that a timer is set or deleted. The trigger's timer and the
// cleanup timer often are one: it is not said twice in a row.
func (l *effects) timer(kind EffectKind, w Window, d Domain, at int64) {
	if n := len(*l); n > 0 {
		if e := &(*l)[n-1]; e.Kind == kind && e.Time == at && e.Domain == d && e.Window == w {
			return
		}
	}
	e := l.grow()
	e.Kind, e.Domain, e.Time = kind, d, at
	e.Window, e.Contents, e.From = w, Window{}, Window{}
}

// ask appends a question to the trigger's function.
func (l *effects) ask(q Question, w, contents Window, purges bool) *Effect {
	l.add(Ask, w, contents)
	e := &(*l)[len(*l)-1]
	e.Question, e.Purges = q, purges
	return e
}

// from appends what becomes of the window or contents window from.
func (l *effects) from(kind EffectKind, w, contents, from Window) {
	l.add(kind, w, contents)
	(*l)[len(*l)-1].From = from
}

// grow appends an effect that is still to be written.
func (l *effects) grow() *Effect {
	n := len(*l)
	if n == cap(*l) {
		*l = append(*l, Effect{})
	} else {
		*l = (*l)[:n+1]
	}
	return &(*l)[n]
}
