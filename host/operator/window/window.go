// Package window decides what happens to records and timers of a windowed step:
// which windows a record belongs to, whether it is late, when a window fires and
// when it is forgotten. It is Flink's WindowOperator without its state: facts
// come in, a closed set of effects comes out, and the caller carries them out in
// order.
//
// Invariants:
//
//	(D) A decision depends on its arguments alone; the package keeps no state
//	    and reads no clock.
//	(O) Effects stand in the order in which Flink does them: contents first, then
//	    the trigger's, then the cleanup timer.
package window

import (
	"errors"

	"github.com/wasmstream/wasmstream/host/stream"
)

// Window is the span [Start, End) of event time or processing time, in
// milliseconds since the epoch.
type Window struct {
	Start, End int64
}

// MaxTimestamp is the last millisecond of the window.
func (w Window) MaxTimestamp() int64 { return w.End - 1 }

// EffectKind says what the caller is to do.
type EffectKind uint8

// The kinds of effects.
const (
	Append   EffectKind = iota + 1 // add the record to the contents of Window
	SetTimer                       // set an event-time timer of Window at Time
	Fire                           // put out the result of Window, if it has contents
	Late                           // no window took the record, and it is late
	Clean                          // forget the contents of Window
)

// Effect is one thing to do.
type Effect struct {
	Kind   EffectKind
	Window Window
	Time   int64 // SetTimer: milliseconds
}

// Core decides for one step.
type Core struct {
	assigner Assigner
	lateness int64
}

// New makes a core; the options must be valid.
func New(o Options) *Core { return &Core{assigner: o.Assigner, lateness: o.AllowedLateness} }

// ErrNoTimestamp is the failure of a record that has no event time and reaches
// windows of event time.
var ErrNoTimestamp = errors.New("the record has no event time (timestamp), which event-time windows need: name the source's event-time column, or give the record an event time")

// OnElement decides about a record of event time t under the watermark wm and
// appends the effects to dst.
func (c *Core) OnElement(dst []Effect, t, wm stream.EventTime) ([]Effect, error) {
	if t == stream.MinTime {
		return dst, ErrNoTimestamp
	}
	w := c.assigner.window(int64(t))
	cleanup := c.cleanupTime(w)
	if cleanup <= int64(wm) {
		// The window is gone, and with tumbling windows no other takes the
		// record. isElementLate holds too then: t <= MaxTimestamp.
		return append(dst, Effect{Kind: Late}), nil
	}
	dst = append(dst, Effect{Kind: Append, Window: w})
	if w.MaxTimestamp() <= int64(wm) {
		dst = append(dst, Effect{Kind: Fire, Window: w})
	} else {
		dst = append(dst, Effect{Kind: SetTimer, Window: w, Time: w.MaxTimestamp()})
	}
	if cleanup != int64(stream.MaxTime) {
		dst = append(dst, Effect{Kind: SetTimer, Window: w, Time: cleanup})
	}
	return dst, nil
}

// OnTimer decides about an event-time timer of a window and appends the effects
// to dst.
func (c *Core) OnTimer(dst []Effect, w Window, at int64) []Effect {
	if at == w.MaxTimestamp() {
		dst = append(dst, Effect{Kind: Fire, Window: w})
	}
	if at == c.cleanupTime(w) {
		dst = append(dst, Effect{Kind: Clean, Window: w})
	}
	return dst
}

// cleanupTime is when a window is forgotten; never if it is MaxTime.
func (c *Core) cleanupTime(w Window) int64 {
	return int64(stream.EventTime(w.MaxTimestamp()).Add(c.lateness))
}

// window is the window that holds t: the start is floored at negative times too
// (FLINK-26334), and the arithmetic wraps around at the limits as Java's does.
func (a Assigner) window(t int64) Window {
	r := (t - a.Offset) % a.Size
	if r < 0 {
		r += a.Size
	}
	return Window{Start: t - r, End: t - r + a.Size}
}
