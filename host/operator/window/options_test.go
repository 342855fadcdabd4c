package window_test

import (
	"math"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/operator/window"
)

func with(a window.Assigner, change func(*window.Assigner)) window.Assigner {
	change(&a)
	return a
}

// TestValidate has a word that the error must contain; none if the options are
// fine.
func TestValidate(t *testing.T) {
	trigger := func(a window.Assigner, tr *window.Trigger) window.Options {
		return window.Options{Assigner: a, Trigger: tr}
	}
	kind := func(k window.TriggerKind) *window.Trigger { return &window.Trigger{Kind: k} }
	after := func(n *window.Trigger) *window.Trigger {
		return &window.Trigger{Kind: window.Timeout, Interval: 5, Nested: n}
	}
	delta := &window.Trigger{Kind: window.Delta, Threshold: -1}
	evictor := func(e window.Evictor) window.Options { return window.Options{Assigner: tumbling(1), Evictor: &e} }
	offset := func(a window.Assigner, ms int64) window.Options {
		a.Offset = ms
		return window.Options{Assigner: a}
	}
	for i, c := range []struct {
		options window.Options
		word    string
	}{
		{window.Options{}, "size"},
		{window.Options{Assigner: tumbling(-1)}, "size"},
		{window.Options{Assigner: tumbling(math.MaxInt64)}, "size"},
		{offset(tumbling(10), 9), ""},
		{offset(tumbling(10), -9), ""},
		{offset(tumbling(10), 10), "offset"},
		{offset(tumbling(10), -10), "offset"},
		{offset(tumbling(10), math.MinInt64), "offset"},
		{window.Options{Assigner: tumbling(10), AllowedLateness: -1}, "lateness"},
		{window.Options{Assigner: tumbling(10), AllowedLateness: math.MaxInt64}, ""},
		{window.Options{Assigner: sliding(0, 5)}, "size"},
		{window.Options{Assigner: sliding(5, 0)}, "slide"},
		{window.Options{Assigner: sliding(5, -1)}, "slide"},
		{window.Options{Assigner: sliding(5, 100)}, ""},
		{offset(sliding(10, 5), 5), "offset"},
		{window.Options{Assigner: sliding(1<<40, 1)}, "slide"},
		{window.Options{Assigner: session(0)}, "gap"},
		{window.Options{Assigner: session(-1)}, "gap"},
		{window.Options{Assigner: with(session(0), func(a *window.Assigner) { a.GapByRecord = true })}, ""},
		{window.Options{Assigner: with(session(1), func(a *window.Assigner) { a.GapByRecord = true })}, "gap"},
		{window.Options{Assigner: with(tumbling(1), func(a *window.Assigner) { a.Overlapping = true })}, "sessions"},
		{window.Options{Assigner: with(tumbling(day), func(a *window.Assigner) { a.Zone = berlin })}, ""},
		{window.Options{Assigner: with(tumbling(hour), func(a *window.Assigner) { a.Zone = berlin })}, "size"},
		{window.Options{Assigner: with(sliding(day, hour), func(a *window.Assigner) { a.Zone = berlin })}, "slide"},
		{window.Options{Assigner: with(session(day), func(a *window.Assigner) { a.Zone = berlin })}, "zone"},
		{window.Options{Assigner: window.Assigner{Kind: 99}}, "assigner"},
		{window.Options{Assigner: global}, ""},
		{trigger(global, kind(window.EventTime)), "trigger"},
		{trigger(global, kind(window.ProcessingTime)), "trigger"},
		{trigger(global, kind(window.Never)), ""},
		{trigger(global, kind(window.EndOfStream)), ""},
		{trigger(global, delta), ""},
		{trigger(global, after(every(1))), ""},
		{trigger(global, after(purging(kind(window.EventTime)))), "trigger"},
		{trigger(tumbling(1), kind(window.Never)), "trigger"},
		{trigger(tumbling(1), kind(window.EndOfStream)), "trigger"},
		{trigger(tumbling(1), kind(window.ProcessingTime)), ""},
		{trigger(tumbling(1), after(delta)), ""},
		{trigger(tumbling(1), every(0)), "count"},
		{trigger(tumbling(1), every(-1)), "trigger"},
		{trigger(tumbling(1), each(window.ContinuousEventTime, 0)), "trigger"},
		{trigger(tumbling(1), each(window.ContinuousProcessingTime, -1)), "trigger"},
		{trigger(tumbling(1), purging(nil)), "trigger"},
		{trigger(tumbling(1), after(nil)), "trigger"},
		{trigger(tumbling(1), &window.Trigger{Kind: window.Timeout, Interval: -1, Nested: every(1)}), "trigger"},
		{trigger(tumbling(1), kind(99)), "trigger"},
		{trigger(tumbling(1), &window.Trigger{Kind: window.Delta, Threshold: math.NaN()}), "trigger"},
		{trigger(session(1), delta), "trigger"},
		{trigger(session(1), purging(delta)), "trigger"},
		{trigger(session(1), after(every(1))), "trigger"},
		{trigger(session(1), purging(every(1))), ""},
		{trigger(session(1), each(window.ContinuousEventTime, 1)), ""},
		{evictor(window.Evictor{Kind: window.ByCount}), "count"},
		{evictor(window.Evictor{Kind: window.ByTime}), "time"},
		{evictor(window.Evictor{Kind: window.ByDelta}), ""},
		{evictor(window.Evictor{Kind: window.ByDelta, Threshold: math.NaN()}), "threshold"},
		{evictor(window.Evictor{Kind: 99}), "evictor"},
	} {
		err := c.options.Validate()
		if c.word == "" && err != nil || c.word != "" && (err == nil || !strings.Contains(err.Error(), c.word)) {
			t.Errorf("%d: %+v: %v does not say %q", i, c.options, err, c.word)
		}
	}
	both := window.Options{Assigner: tumbling(0), AllowedLateness: -1}
	if err := both.Validate(); !strings.Contains(err.Error(), "size") || !strings.Contains(err.Error(), "lateness") {
		t.Errorf("not every problem is named: %v", err)
	}
}
