package window_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/stream"
)

// play runs a script of words and compares what the machine puts out:
//
//	k2@3999,3000   records of key k2 with value 1
//	k2=4@20        a record with value 4 (and that gap)
//	k2=4           one without event time
//	W999 P999      the watermark, the clock
//	S              snapshot and restore; the watermark stays, as in Flink's harness
//	> ...          all outputs since the last >: key:sum[start,end), of a global
//	               window key:sum, and late:key@time
func play(t *testing.T, o window.Options, script string) *machine[int] {
	t.Helper()
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	m := newMachine[int](o)
	var out []string
	bind := func() {
		m.fire = func(key string, w window.Window, records []record[int]) {
			sum := 0
			for _, r := range records {
				sum += r.row
			}
			if w == window.Global {
				out = append(out, fmt.Sprintf("%s:%d", key, sum))
			} else {
				out = append(out, fmt.Sprintf("%s:%d[%d,%d)", key, sum, w.Start, w.End))
			}
		}
		m.late = func(r record[int]) { out = append(out, fmt.Sprintf("late@%v", r.Time)) }
	}
	bind()
	for line := range strings.Lines(script) {
		ops, want, _ := strings.Cut(line, ">")
		for _, op := range strings.Fields(ops) {
			var err error
			switch op[0] {
			case 'W':
				err = m.advance(stream.EventTime(moment(op[1:])))
			case 'P':
				err = m.clock(moment(op[1:]))
			case 'S':
				m = m.copy()
			default:
				err = emitWord(m, op)
			}
			if err != nil {
				t.Fatalf("%s: %v", op, err)
			}
		}
		wanted := strings.Fields(want)
		slices.Sort(wanted)
		slices.Sort(out)
		if !slices.Equal(wanted, out) {
			t.Errorf("%s: put out %v, want %v", strings.TrimSpace(ops), out, wanted)
		}
		out = nil
	}
	return m
}

func emitWord(m *machine[int], op string) error {
	op, times, timed := strings.Cut(op, "@")
	key, value, valued := strings.Cut(op, "=")
	n := 1
	if valued {
		n, _ = strconv.Atoi(value)
	}
	if !timed {
		times = "min"
	}
	for at := range strings.SplitSeq(times, ",") {
		e := window.Element{Time: stream.EventTime(moment(at)), Gap: int64(n), Value: float64(n)}
		if err := m.element(key, e, n); err != nil {
			return err
		}
	}
	return nil
}

func tumbling(size int64) window.Assigner { return window.Assigner{Kind: window.Tumbling, Size: size} }
func session(gap int64) window.Assigner   { return window.Assigner{Kind: window.Session, Gap: gap} }
func sliding(size, slide int64) window.Assigner {
	return window.Assigner{Kind: window.Sliding, Size: size, Slide: slide}
}
func processing(a window.Assigner) window.Assigner {
	a.Processing = true
	return a
}

var global = window.Assigner{Kind: window.GlobalWindows}

func every(n int64) *window.Trigger { return &window.Trigger{Kind: window.Count, Count: n} }
func purging(t *window.Trigger) *window.Trigger {
	return &window.Trigger{Kind: window.Purging, Nested: t}
}
func each(k window.TriggerKind, ms int64) *window.Trigger {
	return &window.Trigger{Kind: k, Interval: ms}
}

const sameInput = "k2@3999,3000 k1@20,0,999 k2@1998,1999,1000 "

// TestWindowCases plays cases of Flink's WindowOperatorTest.
func TestWindowCases(t *testing.T) {
	playAll(t, []scripted{
		{"C1", window.Options{Assigner: sliding(3000, 1000)}, sameInput + `W999 > k1:3[-2000,1000)
			W1999 > k1:3[-1000,2000) k2:3[-1000,2000)
			W2999 > k1:3[0,3000) k2:3[0,3000)
			S W3999 > k2:5[1000,4000)
			W4999 > k2:2[2000,5000)
			W5999 > k2:2[3000,6000)
			W6999 W7999`},
		{"C2", window.Options{Assigner: tumbling(3000)}, sameInput + `W999 W1999
			S W2999 > k1:3[0,3000) k2:3[0,3000)
			W3999 W4999
			W5999 > k2:2[3000,6000)`},
		{"C3", window.Options{Assigner: session(3000)}, `k2=1@0 k2=2@1000 k2=3@2500 k1=1@10 k1=2@1000 S k1=3@2500 k2=4@5501 k2=5@6000 k2=5@6000 k2=6@6050
			W12000 > k1:6[10,5500) k2:6[0,5500) k2:20[5501,9050)
			k2=10@15000 k2=20@15000 W17999 > k2:30[15000,18000)`},
		{"C7", window.Options{Assigner: global, Trigger: each(window.ContinuousEventTime, 3000)}, `k1@0 k2@3000,3999 k1@20,999 k2@1998,1999,1000 W1000 W2000
			W3000 > k1:3
			W4000 W5000
			W6000 > k1:3 k2:5
			W7000 W8000`},
		{"C8", window.Options{Assigner: global, Trigger: purging(every(4))}, `k2@1,2 k1@1,2,3 k2@3
			k2@4 > k2:4
			S k2@5
			k1@4 > k1:4
			k2@6,7,8 > k2:4`},
		{"C9", window.Options{Assigner: global, Trigger: &window.Trigger{Kind: window.EndOfStream}}, sameInput + `W100000
			Wmax > k1:3 k2:5`},
		{"C10", window.Options{Assigner: processing(tumbling(3000))}, `P3 k2 k2 k2 k1 k1
			P5000 > k2:3[0,3000) k1:2[0,3000)
			k1 k1 k1 P7000 > k1:3[3000,6000)`},
		{"C11", window.Options{Assigner: processing(sliding(3000, 1000))}, `P3 k2
			P1000 > k2:1[-2000,1000)
			k2 k2 P2000 > k2:3[-1000,2000)
			k1 k1 P3000 > k2:3[0,3000) k1:2[0,3000)
			k1 k1 k1 P7000 > k2:2[1000,4000) k1:5[1000,4000) k1:5[2000,5000) k1:3[3000,6000)`},
		{"C12", window.Options{Assigner: processing(session(3000))}, `P3 k2 P1000 k2
			P5000 > k2:2[3,4000)
			k2 k2 k1 k1 k1 P10000 > k2:2[5000,8000) k1:3[5000,8000)`},
		{"C14", window.Options{Assigner: tumbling(2000), AllowedLateness: 500, Trigger: purging(&window.Trigger{})}, `k@500 W1500 k@1300
			W2300 > k:2[0,2000)
			k@1997 > k:1[0,2000)
			W6000
			k@1998 > late@1998`},
		{"C16", window.Options{Assigner: tumbling(2000)}, `k@1000 W1985 k@1980
			W1999 > k:2[0,2000)
			k@1998 > late@1998
			k@2001 W2999
			W3999 > k:1[2000,4000)`},
		{"C18", window.Options{Assigner: session(3000)}, baseB + `k@10000 > late@10000
			k@14500 W20000 > k:1[14500,17500)`},
		{"C19", window.Options{Assigner: session(3000), AllowedLateness: 10}, baseB + `k@10000 > k:2[10000,14600)
			k@14500 W20000 > k:3[10000,17500)`},
		{"C19 purging", window.Options{Assigner: session(3000), AllowedLateness: 10, Trigger: purging(&window.Trigger{})}, baseB + `k@10000 > k:1[10000,14600)
			k@14500 W20000 > k:1[10000,17500)`},
	})
}

// TestEvictorAndTriggerCases plays cases of EvictingWindowOperatorTest and of the
// tests of triggers.
func TestEvictorAndTriggerCases(t *testing.T) {
	byCount := func(after bool) *window.Evictor { return &window.Evictor{Kind: window.ByCount, Count: 4, After: after} }
	byTime := &window.Evictor{Kind: window.ByTime, Size: 2000, After: true}
	byDelta := func(after bool) *window.Evictor {
		return &window.Evictor{Kind: window.ByDelta, Threshold: 2, After: after}
	}
	playAll(t, []scripted{
		{"C22 before", window.Options{Assigner: global, Trigger: every(2), Evictor: byCount(false)}, `k2@1,2 > k2:2
			k1@1,2,3 > k1:2
			k2@3,4,5 > k2:4
			k1@4 > k1:4
			k2@6 > k2:4`},
		{"C22 after", window.Options{Assigner: global, Trigger: every(2), Evictor: byCount(true)}, `k2@1,2 > k2:2
			k1@1,2,3 > k1:2
			k2@3,4,5 > k2:4
			k1@4 > k1:4
			k2@6 > k2:6
			k2@7,8 > k2:6`},
		{"C23", window.Options{Assigner: global, Trigger: every(2), Evictor: byTime}, `k2@1000,4000 > k2:2
			k1@20,0 > k1:2
			k1@999
			k2@3500,2001 > k2:3
			k2@1001
			k1@10999 > k1:4
			k2@1002 > k2:5`},
		{"C23 no timestamps", window.Options{Assigner: global, Trigger: every(2), Evictor: byTime}, `k2 k2 > k2:2
			k1 k1 > k1:2
			k1 k2 k2 > k2:4
			k2 k1 > k1:4
			k2 > k2:6`},
		{"C25 before", window.Options{Assigner: global, Trigger: every(2), Evictor: byDelta(false)}, `k2=1 k2=4 > k2:4
			k1=1 k1=1 > k1:2
			k1=5 k2=5 k2=6 > k2:11
			k2=1 k1=3 > k1:8
			k2=10 > k2:10`},
		{"C25 after", window.Options{Assigner: global, Trigger: every(2), Evictor: byDelta(true)}, `k2=1 k2=4 > k2:5
			k1=1 k1=1 > k1:2
			k1=5 k2=5 k2=6 > k2:15
			k2=1 k1=9 > k1:16
			k2=10 > k2:22`},
		{"C32", window.Options{Assigner: session(10), Trigger: every(3)}, `k@0,15
			k@8 > k:3[0,25)`},
		{"C33 tumbling", window.Options{Assigner: processing(tumbling(10)), Trigger: each(window.ContinuousProcessingTime, 5)}, `P0 k=1 P2 k=2
			P5 > k:3[0,10)
			P7 k=3 P9 > k:6[0,10)
			P10 k=3 P15 > k:3[10,20)
			P18 k=3 P20 > k:6[10,20)`},
		{"C33 session", window.Options{Assigner: processing(session(10)), Trigger: each(window.ContinuousProcessingTime, 5)}, `P0 k P2 k=2
			P5 > k:3[0,12)
			P10 > k:3[0,12)
			P15 > k:3[0,12)
			P100`},
		{"C34", window.Options{Assigner: global, Trigger: &window.Trigger{Kind: window.Timeout, Interval: 50, Nested: every(3)}}, `k k P49
			P50 > k:2
			P1000
			k k > 
			k > k:5
			P2000`},
		{"C34 reset", window.Options{Assigner: global, Trigger: &window.Trigger{Kind: window.Timeout, Interval: 50, Reset: true, Nested: every(3)}}, `k P10 k P59
			P60 > k:2`},
	})
}

func playAll(t *testing.T, cases []scripted) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { play(t, c.options, c.script) })
	}
}

type scripted struct {
	name    string
	options window.Options
	script  string
}

// baseB is what the cases C18 to C20 begin with.
const baseB = `k@1000 W1999 k@2000 W4998 k@4500 k@8500 W7400 k@7000
			W11501 > k:5[1000,11500)
			k@11600 W14600 > k:1[11600,14600)
			`
