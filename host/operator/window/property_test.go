package window_test

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/stream"
)

func assign(tb rapid.TB, a window.Assigner, t int64) []window.Window {
	tb.Helper()
	o := window.Options{Assigner: a}
	if err := o.Validate(); err != nil {
		tb.Fatal(err)
	}
	got, err := window.New(o).Assign(nil, window.Element{Time: stream.EventTime(t)}, window.Now{})
	if err != nil {
		tb.Fatal(err)
	}
	return got
}

// TestMembership compares sliding windows with the plain enumeration.
func TestMembership(t *testing.T) {
	for at := int64(-60); at <= 120; at++ {
		var want []window.Window
		for start := int64(200); start >= -200; start -= 20 {
			if start <= at && at < start+60 {
				want = append(want, window.Window{Start: start, End: start + 60})
			}
		}
		if diff := gocmp.Diff(want, assign(t, sliding(60, 20), at)); diff != "" {
			t.Errorf("time %d: %s", at, diff)
		}
	}
	want := []window.Window{{Start: 40, End: 100}, {Start: 20, End: 80}, {Start: 0, End: 60}}
	if diff := gocmp.Diff(want, assign(t, sliding(60, 20), 45)); diff != "" {
		t.Error(diff)
	}
}

func TestAssignedWindowsHoldTheTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size, slide := rapid.Int64Range(1, 50).Draw(t, "size"), rapid.Int64Range(1, 50).Draw(t, "slide")
		a := sliding(size, slide)
		a.Offset = rapid.Int64Range(1-slide, slide-1).Draw(t, "offset")
		at := rapid.Int64Range(-1000, 1000).Draw(t, "time")
		var want []window.Window
		for n := int64(1200); n >= -1200; n-- {
			if start := a.Offset + n*slide; start <= at && at < start+size {
				want = append(want, window.Window{Start: start, End: start + size})
			}
		}
		if diff := gocmp.Diff(want, assign(t, a, at)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestStart has the cases C29 and C30.
func TestStart(t *testing.T) {
	for _, c := range []struct{ size, offset, at, start int64 }{
		{7, 0, -8, -14}, {7, 0, -7, -7}, {7, 0, -1, -7}, {7, 0, 6, 0},
		{7, 3, -10, -11}, {7, 3, 2, -4}, {7, 3, 3, 3},
		{7, -2, -12, -16}, {7, -2, -3, -9}, {7, -2, 4, -2}, {7, -2, 12, 12},
		{day, -8 * hour, 1470902048450, 1470844800000},
	} {
		a := tumbling(c.size)
		a.Offset = c.offset
		if got := assign(t, a, c.at)[0]; got.Start != c.start || got.End != c.start+c.size {
			t.Errorf("%+v: %v", c, got)
		}
	}
	for _, offset := range []int64{0, -100} {
		a := sliding(5000, 1000)
		a.Offset = offset
		for i, w := range assign(t, a, 0) {
			if start := offset - int64(i)*1000; w.Start != start || w.End != start+5000 {
				t.Errorf("offset %d, window %d: %v", offset, i, w)
			}
		}
	}
}

func TestNoTimestamp(t *testing.T) {
	none := window.Element{Time: stream.MinTime}
	for a, fails := range map[window.Assigner]bool{
		tumbling(10): true, sliding(10, 5): true, session(10): false, global: false, processing(tumbling(10)): false,
	} {
		windows, err := window.New(window.Options{Assigner: a}).Assign(nil, none, window.Now{})
		if fails != (err != nil) || fails && !strings.Contains(err.Error(), "timestamp") || !fails && len(windows) != 1 {
			t.Errorf("%+v: %v, error %v", a, windows, err)
		}
	}
}

func TestGapOfARecord(t *testing.T) {
	core := window.New(window.Options{Assigner: window.Assigner{Kind: window.Session, GapByRecord: true}})
	for _, gap := range []int64{0, -1, math.MinInt64} {
		if _, err := core.Assign(nil, window.Element{Gap: gap}, window.Now{}); err == nil || !strings.Contains(err.Error(), "gap") {
			t.Errorf("gap %d: error %v", gap, err)
		}
	}
}

// TestMergingSet has the cases C26 and C28.
func TestMergingSet(t *testing.T) {
	core := window.New(window.Options{Assigner: session(1)})
	f := &window.Facts{Now: window.Now{Watermark: stream.MinTime}}
	span := func(start, end int64) window.Window { return window.Window{Start: start, End: end} }
	for _, c := range []struct{ add, window, contents window.Window }{
		{span(0, 4), span(0, 4), span(0, 4)},
		{span(3, 5), span(0, 5), span(0, 4)},
		{span(4, 6), span(0, 6), span(0, 4)},
		{span(1, 4), span(0, 6), span(0, 4)},
		{span(11, 14), span(11, 14), span(11, 14)},
		{span(10, 13), span(10, 14), span(11, 14)},
		{span(20, 21), span(20, 21), span(20, 21)},
		{span(5, 10), span(0, 14), span(0, 4)},
	} {
		list, took, err := core.OnElement(nil, c.add, window.Element{}, f)
		if err != nil || !took {
			t.Fatalf("%v: took %v, error %v", c.add, took, err)
		}
		for _, e := range list {
			if e.Kind == window.Append && (e.Window != c.window || e.Contents != c.contents) {
				t.Errorf("%v is added to %v in %v", c.add, e.Window, e.Contents)
			}
		}
	}
	want := []window.InSet{{Window: span(0, 14), Contents: span(0, 4)}, {Window: span(20, 21), Contents: span(20, 21)}}
	if diff := gocmp.Diff(want, f.Set); diff != "" {
		t.Error(diff)
	}
}

// TestSessionsInAnyOrder compares sessions with the merge of the sorted windows.
func TestSessionsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := window.Assigner{Kind: window.Session, GapByRecord: true, Overlapping: rapid.Bool().Draw(t, "overlapping")}
		m := newMachine[int](window.Options{Assigner: a, KeepEqual: true})
		got := map[window.Window]int{}
		m.fire = func(_ string, w window.Window, records []record[int]) { got[w] = len(records) }
		var all []window.Window
		for i := range rapid.IntRange(1, 40).Draw(t, "records") {
			at, gap := rapid.Int64Range(-60, 60).Draw(t, "time"), rapid.Int64Range(1, 9).Draw(t, "gap")
			all = append(all, window.Window{Start: at, End: at + gap})
			if err := m.element("k", window.Element{Time: stream.EventTime(at), Gap: gap}, i); err != nil {
				t.Fatal(err)
			}
			checkSet(t, m.sets["k"])
		}
		if err := m.advance(1000); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(sortedMerge(all, a.Overlapping), got); diff != "" {
			t.Fatal(diff)
		}
		if !m.empty() {
			t.Fatal("something is left behind")
		}
	})
}

// checkSet checks the invariants (S) and (C).
func checkSet(t *rapid.T, set []window.InSet) {
	contents := map[window.Window]bool{}
	for i, s := range set {
		if i > 0 && set[i-1].Window.End > s.Window.Start {
			t.Fatalf("the set is %v", set)
		}
		if contents[s.Contents] {
			t.Fatalf("two sessions share contents: %v", set)
		}
		contents[s.Contents] = true
	}
}

func sortedMerge(all []window.Window, overlapping bool) map[window.Window]int {
	slices.SortFunc(all, func(x, y window.Window) int { return cmp.Compare(x.Start, y.Start) })
	merged, n := map[window.Window]int{}, 1
	now := all[0]
	for _, w := range all[1:] {
		if w.Start < now.End || w.Start == now.End && !overlapping {
			now.End, n = max(now.End, w.End), n+1
			continue
		}
		merged[now] = n
		now, n = w, 1
	}
	merged[now] = n
	return merged
}

// TestMergeMovesTimers is a case of WindowOperatorContractTest: of the windows
// [0,2) and [2,4), merged by [1,3), two cleanup timers and two of the trigger
// become one of each.
func TestMergeMovesTimers(t *testing.T) {
	apart := session(1)
	apart.Overlapping = true // so that [0,2) and [2,4) do not touch
	m := newMachine[int](window.Options{Assigner: apart, AllowedLateness: 5})
	for i, want := range []int{2, 4, 2} {
		w := []window.Window{{Start: 0, End: 2}, {Start: 2, End: 4}, {Start: 1, End: 3}}[i]
		if _, err := m.into("k", w, record[int]{}); err != nil {
			t.Fatal(err)
		}
		if len(m.timers) != want {
			t.Errorf("after %v: %d timers, want %d", w, len(m.timers), want)
		}
	}
}

// TestLateWithoutWindows is another: a record without windows counts as late
// only if it is.
func TestLateWithoutWindows(t *testing.T) {
	play(t, window.Options{Assigner: sliding(1, 100)}, `W20 k@10 > late@10
		k@50`)
}

// TestPlainWindowIsDroppedOnceOver: [0,2) with 20 ms of lateness at 21.
func TestPlainWindowIsDroppedOnceOver(t *testing.T) {
	m := play(t, window.Options{Assigner: tumbling(2), AllowedLateness: 20}, `W20 k@1 > k:1[0,2)
		W21 k@1 > late@1`)
	if !m.empty() {
		t.Error("the record left something")
	}
}

// TestEventTimeTrigger is C31.
func TestEventTimeTrigger(t *testing.T) {
	core := window.New(window.Options{Assigner: tumbling(2), AllowedLateness: math.MaxInt64})
	w := window.Window{Start: 0, End: 2}
	got, _, err := core.OnElement(nil, w, window.Element{Time: 1}, &window.Facts{Now: window.Now{Watermark: 2}})
	want := []window.Effect{{Kind: window.Append, Window: w, Contents: w}, {Kind: window.Fire, Window: w, Contents: w}}
	if diff := gocmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestLastMillisecondOfGlobal(t *testing.T) {
	if got := window.Global.MaxTimestamp(); got != math.MaxInt64 {
		t.Errorf("it is %d", got)
	}
}

const (
	hour = 60 * 60 * 1000
	day  = 24 * hour
)
