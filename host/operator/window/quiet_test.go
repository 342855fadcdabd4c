package window_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/stream"
)

// TestSpan: all records of a span have the same windows, and the span its time.
func TestSpan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size, slide := rapid.Int64Range(1, 40).Draw(t, "size"), rapid.Int64Range(1, 40).Draw(t, "slide")
		a := window.Assigner{Kind: window.Sliding, Size: size, Slide: slide, Offset: rapid.Int64Range(1-slide, slide-1).Draw(t, "offset")}
		if rapid.Bool().Draw(t, "tumbling") {
			a = window.Assigner{Size: slide, Offset: a.Offset}
		}
		core := window.New(window.Options{Assigner: a})
		at := rapid.Int64Range(-100, 100).Draw(t, "time")
		span := core.Span(at)
		if !span.Contains(at) {
			t.Fatalf("the span of %d is %v", at, span)
		}
		want, _ := core.Assign(nil, window.Element{Time: stream.EventTime(at)}, window.Now{})
		for u := span.Start; u < span.End; u++ {
			if got, _ := core.Assign(nil, window.Element{Time: stream.EventTime(u)}, window.Now{}); !slices.Equal(got, want) {
				t.Fatalf("%d has %v, but %d has %v", u, got, at, want)
			}
		}
	})
}

// TestIsQuiet: while a window is quiet, each of its records is appended and sets
// the same timers.
func TestIsQuiet(t *testing.T) {
	triggers := []*window.Trigger{nil, {Kind: window.EventTime}, {Kind: window.ProcessingTime}, {Kind: window.Count, Count: 3},
		{Kind: window.Purging, Nested: &window.Trigger{Kind: window.EventTime}}, {Kind: window.ContinuousEventTime, Interval: 5}}
	rapid.Check(t, func(t *rapid.T) {
		core := window.New(window.Options{
			Assigner:        window.Assigner{Size: 10, Processing: rapid.Bool().Draw(t, "processing")},
			Trigger:         rapid.SampledFrom(triggers).Draw(t, "trigger"),
			AllowedLateness: rapid.Int64Range(0, 20).Draw(t, "lateness"),
		})
		w := window.Window{Start: 10, End: 20}
		moment := func() window.Now {
			return window.Now{
				Watermark: stream.EventTime(rapid.Int64Range(0, 50).Draw(t, "watermark")),
				Clock:     stream.ProcTime(rapid.Int64Range(0, 50).Draw(t, "clock")),
			}
		}
		var first []window.Effect
		for range 3 {
			f := &window.Facts{Now: moment()}
			if !core.IsQuiet(w, f.Now) {
				continue
			}
			e := window.Element{Time: stream.EventTime(rapid.Int64Range(10, 19).Draw(t, "time"))}
			list, took, err := core.OnElement(nil, w, e, f)
			if err != nil || !took || list[0].Kind != window.Append {
				t.Fatalf("a record of a quiet window: %v, %v, %v", list, took, err)
			}
			if slices.ContainsFunc(list[1:], func(e window.Effect) bool { return e.Kind != window.SetTimer }) {
				t.Fatalf("a record of a quiet window does more than set timers: %v", list)
			}
			if first == nil {
				first = list
			} else if !slices.Equal(first, list) {
				t.Fatalf("records of a quiet window differ: %v, %v", first, list)
			}
		}
	})
}
