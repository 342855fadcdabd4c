package window_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/stream"
)

// The tests of this file are named after bugs that Flink had: what went wrong
// there stays right here.

func TestFLINK15841TouchingSessionsMerge(t *testing.T) {
	play(t, window.Options{Assigner: session(10)}, `k@10 k@20 k@31 W100 > k:2[10,30) k:1[31,41)`)
	apart := session(10)
	apart.Overlapping = true
	play(t, window.Options{Assigner: apart}, `k@0 k@10 W100 > k:1[0,10) k:1[10,20)`)
	play(t, window.Options{Assigner: apart}, `k@0 k@19 k@10 W100 > k:2[10,29) k:1[0,10)`)
	play(t, window.Options{Assigner: apart}, `k@0 k@18 k@9 W100 > k:3[0,28)`)
}

func TestFLINK26334NegativeTimes(t *testing.T) {
	play(t, window.Options{Assigner: tumbling(7)}, `k@-8,-7,-1,0 W7 > k:1[-14,-7) k:2[-7,0) k:1[0,7)`)
}

func TestFLINK11326NegativeOffset(t *testing.T) {
	a := tumbling(7)
	a.Offset = -2
	play(t, window.Options{Assigner: a}, `k@-12,-3,4,12 W30 > k:1[-16,-9) k:1[-9,-2) k:1[-2,5) k:1[12,19)`)
}

func TestFLINK9201PassedWindowsMergeIntoOneFiring(t *testing.T) {
	m := play(t, window.Options{Assigner: session(5), AllowedLateness: 100}, `k@0,8 W4 > k:1[0,5)
		W20 > k:1[8,13)
		k@4 > k:3[0,13)
		W50
		W500`)
	if !m.empty() {
		t.Error("something is left behind")
	}
}

func TestFLINK5972MergingIntoALateWindowFails(t *testing.T) {
	for _, c := range []struct {
		options window.Options
		now     window.Now
	}{
		{window.Options{Assigner: session(10), AllowedLateness: 5}, window.Now{Watermark: 19}},
		{window.Options{Assigner: session(10), AllowedLateness: math.MaxInt64}, window.Now{}},
		{window.Options{Assigner: processing(session(10))}, window.Now{Clock: 14}},
	} {
		set := []window.InSet{{Window: window.Window{Start: 0, End: 10}, Contents: window.Window{Start: 0, End: 10}}}
		f := &window.Facts{Now: c.now, Set: set}
		_, took, err := window.New(c.options).OnElement(nil, window.Window{Start: 5, End: 15}, window.Element{Time: 5}, f)
		if took || !errors.Is(err, window.ErrMerging) || !strings.Contains(err.Error(), "merging") {
			t.Errorf("%+v: took %v, error %v", c.now, took, err)
		}
		if len(f.Set) != 1 || f.Set[0] != set[0] {
			t.Errorf("%+v: the set became %v", c.now, f.Set)
		}
	}
}

func TestFLINK4589NewWindowCoversAnOldOne(t *testing.T) {
	// The value is the gap: [5,7), and then [0,20) around it.
	gaps := window.Assigner{Kind: window.Session, GapByRecord: true}
	m := play(t, window.Options{Assigner: gaps}, `k=2@5 k=20@0 S W19 > k:22[0,20)`)
	if m.absorbs != 1 || !m.empty() {
		t.Errorf("%d sessions absorbed, empty: %v", m.absorbs, m.empty())
	}
}

func TestFLINK4994PurgeKeepsStateAndMapping(t *testing.T) {
	// The set is kept when its contents are purged: the record at 12 still extends
	// the session that began at 0.
	play(t, window.Options{Assigner: session(10), Trigger: purging(every(2))}, `k@0,5 > k:2[0,15)
		k@12 S
		k@20 > k:2[0,30)`)
	// So is the state of the trigger, which fires on every 10 ms.
	play(t, window.Options{Assigner: global, Trigger: purging(each(window.ContinuousEventTime, 10))}, `k@0 W10 > k:1
		k@11 W20 > k:1
		W30
		k@25 W40 > k:1`)
}

func TestFLINK5363TimerOfAnEmptiedWindow(t *testing.T) {
	// The continuous trigger is called at 20 though the window is empty, and so
	// sees to the timer at 30.
	play(t, window.Options{Assigner: tumbling(100), Trigger: purging(each(window.ContinuousEventTime, 10))}, `k@0 W10 > k:1[0,100)
		W20 k@25
		W30 > k:1[0,100)`)
}

func TestFLINK33192FiringNothingStillSetsTheCleanupTimer(t *testing.T) {
	core := window.New(window.Options{Assigner: tumbling(10), AllowedLateness: 5, Trigger: every(1)})
	w := window.Window{Start: 0, End: 10}
	effects, _, err := core.OnElement(nil, w, window.Element{Time: 1}, &window.Facts{Now: window.Now{Watermark: stream.MinTime}})
	if err != nil {
		t.Fatal(err)
	}
	want := window.Effect{Kind: window.SetTimer, Window: w, Time: 14}
	if last := effects[len(effects)-1]; last != want {
		t.Errorf("the last effect is %+v", last)
	}
}

func TestFLINK4134LateRecordLeavesNoSession(t *testing.T) {
	m := play(t, window.Options{Assigner: session(10)}, `W100 k@50 > late@50
		W1000`)
	if !m.empty() {
		t.Error("the late session is still there")
	}
}

func TestFLINK4369EvictedRecordsLeaveTheState(t *testing.T) {
	m := play(t, window.Options{Assigner: global, Trigger: every(2), Evictor: &window.Evictor{Kind: window.ByCount, Count: 1}}, `k@1,2 > k:1
		k@3,4 > k:1`)
	if n := len(m.contents[cell{"k", window.Global}]); n != 1 {
		t.Errorf("%d records are kept", n)
	}
}

func TestFLINK4174EvictorSeesEventTimes(t *testing.T) {
	play(t, window.Options{Assigner: global, Trigger: every(2), Evictor: &window.Evictor{Kind: window.ByTime, Size: 5}}, `k=1@0 k=2@5 > k:2`)
}

func TestFLINK6001ContinuousTimerOfAMergedSession(t *testing.T) {
	// The timer at 10 belongs to [8,18) as well as to the merged session, which
	// fires once for it; the merged session's next one is not lost (FLINK-11408).
	m := play(t, window.Options{Assigner: session(10), Trigger: each(window.ContinuousEventTime, 10)}, `k@8 k@0 S
		W10 > k:2[0,18)
		W16
		W17 > k:2[0,18)`)
	if len(m.sets)+len(m.triggers)+len(m.contents) > 0 {
		t.Error("something is left behind")
	}
}

func TestFLINK11408ContinuousTimerAfterAMerge(t *testing.T) {
	play(t, window.Options{Assigner: session(10), Trigger: each(window.ContinuousEventTime, 10)}, `k@0 k@25 k@8 k@17 S
		W10 > k:4[0,35)
		W20 > k:4[0,35)
		W100 > k:4[0,35) k:4[0,35)`)
}

func TestFLINK5149ContinuousTriggerFiresAtTheEnd(t *testing.T) {
	play(t, window.Options{Assigner: tumbling(15), Trigger: each(window.ContinuousEventTime, 10)}, `k@0 W14 > k:1[0,15) k:1[0,15)`)
}

func TestFLINK20443ContinuousProcessingTimeFiresAtTheEnd(t *testing.T) {
	play(t, window.Options{Assigner: processing(tumbling(15)), Trigger: each(window.ContinuousProcessingTime, 10)}, `k P14 > k:1[0,15) k:1[0,15)`)
}

func TestFLINK35069ContinuousTimerDoesNotReachBeyondTheEnd(t *testing.T) {
	m := play(t, window.Options{Assigner: tumbling(15), Trigger: each(window.ContinuousEventTime, 10), AllowedLateness: 100}, `k@0 W14 > k:1[0,15) k:1[0,15)
		W60`)
	if m.timers[timer{cell{"k", window.Window{End: 15}}, window.EventDomain, 20}] {
		t.Error("there is a timer beyond the window's end")
	}
}

func TestFLINK9857RecordAtTheLastMillisecond(t *testing.T) {
	// The window [0,10) holds a record of time 9, and a timer at 9 waits for the
	// millisecond to be over: that is the clock's part. Here the record gets in.
	play(t, window.Options{Assigner: processing(tumbling(10))}, `P8 k
		P9 > k:1[0,10)
		P10 k P19 > k:1[10,20)`)
}

func TestFLINK23208ProcessingTimerInThePast(t *testing.T) {
	// A timer set for a moment that is over waits for nothing but the next look.
	play(t, window.Options{Assigner: tumbling(10), Trigger: &window.Trigger{Kind: window.ProcessingTime}}, `P100 k@5
		P100 > k:1[0,10)`)
}

func TestFLINK4616RestoreAcceptsOldRecords(t *testing.T) {
	m := play(t, window.Options{Assigner: tumbling(10)}, `k@5 W9 > k:1[0,10)`)
	m.now.Watermark = stream.MinTime
	if err := m.element("k", window.Element{Time: 5}, 1); err != nil || len(m.contents) != 1 {
		t.Errorf("error %v, contents %v", err, m.contents)
	}
}

// Of the numbered bugs 1 to 18, two are not decisions of this package: the key
// of a timer that is taken from its queue (FLINK-26063) and the end of a
// cancelled step's firings (FLINK-31370).

func TestEqualSessionForgetsAsFlink(t *testing.T) {
	// [0,4) grows to [0,5); the third record brings [0,5) itself.
	gaps := window.Assigner{Kind: window.Session, GapByRecord: true}
	m := play(t, window.Options{Assigner: gaps}, `k=4@0 k=2@3 k=5@0 W20 > k:5[0,5)`)
	if !m.empty() {
		t.Error("the forgotten contents are still there")
	}
	play(t, window.Options{Assigner: gaps, KeepEqual: true}, `k=4@0 k=2@3 k=5@0 W20 > k:11[0,5)`)
}
