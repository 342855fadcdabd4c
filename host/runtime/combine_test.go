package runtime

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

const combineJob = `
version: 1
name: combine
parallelism: 2
%s
sources:
  a: {test: {}, schema: {k: STRING, t: TIMESTAMP(3)}, event-time: t}
  b: {test: {}, schema: {k: STRING, t: TIMESTAMP(3)}, event-time: t}
  c: {test: {}, schema: {k: STRING, t: TIMESTAMP(3)}, event-time: t}
steps:
%s
sinks:
  out: {from: s, test: {}}
`

const (
	unionStep  = "  s: {from: [a, b], key-by: [k], window: {tumbling: {size: 10ms}}, aggregate: {n: count}, combine: %s}"
	joinStep   = "  s: {interval-join: {left: a, right: b, left-key: [k], right-key: [k], lower: -5ms, upper: 5ms}, combine: %s}"
	windowJoin = "  s: {window-join: {left: a, right: b, left-key: [k], right-key: [k]}, window: {tumbling: {size: 10ms}}, combine: %s}"
)

// combineRun is a job with two fed sources.
type combineRun struct {
	t    *testing.T
	job  *Job
	plan *job.Job
	rows int // that reached the sink
}

func newCombineRun(t *testing.T, top, steps string) *combineRun {
	t.Helper()
	plan, err := job.Parse(fmt.Appendf(nil, combineJob, top, steps), job.Options{File: "combine.yaml", Dir: t.TempDir(), Test: true})
	if err != nil {
		t.Fatal(err)
	}
	r := &combineRun{t: t, plan: plan}
	r.job, err = New(plan, Config{
		Clock: &stillClock{now: 1}, Scripted: true,
		Collect: func(string, stream.Row, stream.EventTime) { r.rows++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.job.Close() })
	return r
}

// send feeds a source records at these times, then a mark.
func (r *combineRun) send(source string, mark stream.Mark, times ...stream.EventTime) {
	r.t.Helper()
	b := new(stream.Batch)
	w := stream.NewRowWriter(r.plan.Sources[0].Output)
	for _, t := range times {
		w.Begin(b, stream.Insert)
		w.SetBytes(0, []byte("key"))
		for i := 1; i < r.plan.Sources[0].Output.Len(); i++ {
			w.SetInt64(i, int64(t))
		}
		w.End(t)
	}
	b.Mark(mark.Kind, mark.Value)
	r.job.Feed(source).Send(b)
	if err := r.job.Drive(nil); err != nil {
		r.t.Fatal(err)
	}
}

func (r *combineRun) watermark(source string, at stream.EventTime, times ...stream.EventTime) {
	r.t.Helper()
	r.send(source, stream.Mark{Kind: stream.MarkWatermark, Value: int64(at)}, times...)
}

// reached compares the watermark that came to the sink.
func (r *combineRun) reached(want stream.EventTime) {
	r.t.Helper()
	if got, _ := r.job.SinkWatermark("out"); got != want {
		r.t.Fatalf("the watermark at the sink is %v, want %v", got, want)
	}
}

// TestCombineMax: the highest watermark of the inputs counts, what it makes late
// is counted as such, and the end of one input is not the end of all.
func TestCombineMax(t *testing.T) {
	for name, step := range map[string]string{"union": unionStep, "window join": windowJoin, "interval join": joinStep} {
		for _, combine := range []string{"min", "max"} {
			t.Run(name+" "+combine, func(t *testing.T) {
				r := newCombineRun(t, "", fmt.Sprintf(step, combine))
				isMax := combine == "max"
				want := func(low, high stream.EventTime) {
					t.Helper()
					if isMax {
						low = high
					}
					r.reached(low)
				}
				r.watermark("a", 100, 95)
				want(stream.MinTime, 100)
				r.watermark("b", 50, 40, 60) // both behind 100, and neither behind what b has promised
				want(50, 100)
				r.watermark("b", 60, 30) // late by any rule
				want(60, 100)
				p := r.job.Progress()
				late, byMax := int64(1), int64(0)
				if isMax {
					late, byMax = 3, 2
				}
				if p.Late != late || p.LateDropped != late || p.LateByMax != byMax {
					t.Fatalf("late %d, dropped %d, by max %d; want %d, %d, %d", p.Late, p.LateDropped, p.LateByMax, late, late, byMax)
				}
				r.job.Feed("a").End()
				r.watermark("b", 70)
				want(70, 100)
				r.watermark("b", 110)
				r.reached(110)
				r.job.Feed("b").End()
				if err := r.job.Drive(nil); err != nil {
					t.Fatal(err)
				}
				r.reached(stream.MaxTime)
			})
		}
	}
}

// TestCombineMaxOfTasks: a stream that several tasks put out has come as far as
// the slowest of them; the highest of the streams counts, not of the tasks.
func TestCombineMaxOfTasks(t *testing.T) {
	r := newCombineRun(t, "", strings.Join([]string{
		"  n: {from: a, key-by: [k], window: {tumbling: {size: 10ms}}, aggregate: {n: count}}",
		"  m: {from: b, key-by: [k], window: {tumbling: {size: 10ms}}, aggregate: {n: count}}",
		"  s: {from: [n, m], combine: max}",
	}, "\n"))
	in := &r.job.tasks[len(r.job.tasks)-2].in
	if len(in.channels) != 4 || len(in.gates) != 2 {
		t.Fatalf("%d channels, %d gates", len(in.channels), len(in.gates))
	}
	at := func(channel int, w stream.EventTime) event {
		return in.apply(channel, stream.Mark{Kind: stream.MarkWatermark, Value: int64(w)})
	}
	if ev := at(0, 10); ev.advanced {
		t.Fatalf("one task of two moved time: %+v", ev)
	}
	if ev := at(1, 7); ev.watermark != 7 {
		t.Fatalf("%+v", ev)
	}
	if ev := at(2, 30); ev.advanced {
		t.Fatalf("%+v", ev)
	}
	if ev := at(3, 20); ev.watermark != 20 {
		t.Fatalf("%+v", ev)
	}
}

// TestCompatibility: the job's switches reach the valves of unions and what
// combines two inputs.
func TestCompatibility(t *testing.T) {
	idle, active := stream.Mark{Kind: stream.MarkIdle}, stream.Mark{Kind: stream.MarkActive}
	for name, c := range map[string]struct {
		top  string
		want stream.EventTime
	}{
		"two inputs, Flink 2.3 (FLINK-38454)":          {"", 5},
		"two inputs, Flink 2.1 (FLINK-38454)":          {"compatibility: {flink: '2.1'}", 3},
		"two inputs, max-of-idle: false (FLINK-38454)": {"compatibility: {max-of-idle: false}", 3},
	} {
		t.Run(name, func(t *testing.T) {
			r := newCombineRun(t, c.top, fmt.Sprintf(joinStep, "min"))
			r.watermark("a", 5)
			r.watermark("b", 3)
			r.reached(3)
			r.send("a", idle)
			r.send("b", idle)
			r.reached(c.want)
			r.send("a", active)
			r.reached(5)
			r.watermark("a", 9)
			r.reached(9)
		})
	}
	for name, c := range map[string]struct {
		top  string
		want stream.EventTime
	}{
		"a union, Flink 2.3 (FLINK-40475)":                    {"", 10},
		"a union, flush-when-all-idle: true (FLINK-40475)":    {"compatibility: {flush-when-all-idle: true}", 30},
		"a union, max-of-idle is of no account (FLINK-38454)": {"compatibility: {max-of-idle: false}", 10},
	} {
		t.Run(name, func(t *testing.T) {
			r := newCombineRun(t, c.top, "  s: {from: [a, b, c]}")
			r.watermark("c", 5)
			r.watermark("a", 7)
			r.watermark("b", 7)
			r.reached(5)
			r.send("c", idle)
			r.reached(7)
			r.watermark("a", 30)
			r.watermark("b", 10)
			r.reached(10)
			r.send("c", active)
			r.send("a", idle)
			r.send("b", idle)
			r.send("c", idle)
			r.reached(c.want)
			r.send("a", active)
			r.watermark("a", 31)
			r.reached(31)
		})
	}
}
