package window_test

import (
	"testing"

	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/stream"
)

// steadyWork decides about n records, ten of them a millisecond.
func steadyWork(tb testing.TB, o window.Options, n int) func() {
	if err := o.Validate(); err != nil {
		tb.Fatal(err)
	}
	core := window.New(o)
	var windows []window.Window
	var effects []window.Effect
	f := &window.Facts{Now: window.Now{Watermark: 0}}
	t := int64(1_000_000)
	return func() {
		for i := range n {
			e := window.Element{Time: stream.EventTime(t + int64(i)/10)}
			var err error
			if windows, err = core.Assign(windows[:0], e, f.Now); err != nil {
				tb.Fatal(err)
			}
			for _, w := range windows {
				if effects, _, err = core.OnElement(effects[:0], w, e, f); err != nil {
					tb.Fatal(err)
				}
			}
			if len(f.Set) > 3 {
				f.Set = f.Set[:0]
			}
		}
	}
}

var works = map[string]window.Options{
	"tumbling":      {Assigner: window.Assigner{Kind: window.Tumbling, Size: 10_000}},
	"tumbling-late": {Assigner: window.Assigner{Kind: window.Tumbling, Size: 10_000}, AllowedLateness: 1000},
	"sliding-5":     {Assigner: window.Assigner{Kind: window.Sliding, Size: 10_000, Slide: 2000}},
	"session":       {Assigner: window.Assigner{Kind: window.Session, Gap: 10_000}},
	"global-count":  {Assigner: window.Assigner{Kind: window.GlobalWindows}, Trigger: &window.Trigger{Kind: window.Count, Count: 4}},
	"timeout": {Assigner: window.Assigner{Kind: window.Tumbling, Size: 10_000}, Trigger: &window.Trigger{
		Kind: window.Timeout, Interval: 50, Reset: true, Nested: &window.Trigger{Kind: window.Purging, Nested: &window.Trigger{Kind: window.Count, Count: 3}}}},
	"days-berlin": {Assigner: window.Assigner{Kind: window.Tumbling, Size: 86_400_000, Zone: berlin}},
}

func BenchmarkOnElement(b *testing.B) {
	for name, o := range works {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			steadyWork(b, o, b.N)()
		})
	}
}

// TestNoAllocations is invariant (A).
func TestNoAllocations(t *testing.T) {
	for name, o := range works {
		work := steadyWork(t, o, 1000)
		work()
		if n := testing.AllocsPerRun(3, work); n > 0 {
			t.Errorf("%s: %v allocations in 1000 records", name, n)
		}
	}
}
