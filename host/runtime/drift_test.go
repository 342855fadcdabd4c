package runtime

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/format/json"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// aligned makes heads of one group whose watermarks follow each record.
func aligned(t *testing.T, n int, drift, idleTimeout int64, pauses bool) ([]*headBench, *stillClock) {
	clock, group := &stillClock{now: 1000}, &driftGroup{}
	s := &job.Source{Watermark: &job.Watermark{Strategy: job.Monotonous, OnEvent: true, IdleTimeout: idleTimeout}}
	heads := make([]*headBench, n)
	for i := range heads {
		heads[i] = newHead(t, clock, s, pauses)
		heads[i].head.drift = group.join(heads[i].head.node, drift)
	}
	return heads, clock
}

// woken tells whether somebody woke the head since the last call.
func (b *headBench) woken() bool { return b.head.node.state.Swap(running) == again }

// TestDriftHoldsBack: a source reads on up to the allowed drift, waits without
// being stepped, and is woken when the last one has come along.
func TestDriftHoldsBack(t *testing.T) {
	h, _ := aligned(t, 2, 10, 0, true)
	ahead, behind := h[0], h[1]
	behind.read(1)
	behind.expect("1 w0")
	ahead.read(11)
	ahead.expect("11 w10") // exactly the drift
	ahead.read(12)
	ahead.expect("12 w11")
	ahead.read(500)
	ahead.woken()
	ahead.expect("")
	if out := ahead.step(); out.more || out.deadline != 0 {
		t.Fatalf("a source that waits is busy: %+v", out)
	}
	ahead.woken()
	behind.read(1)
	behind.expect("1")
	if ahead.woken() {
		t.Error("woken although the least has not moved")
	}
	behind.read(2)
	behind.expect("2 w1")
	if !ahead.woken() {
		t.Fatal("not woken")
	}
	ahead.expect("500 w499")
	ahead.end()
	ahead.woken()
	behind.read(3)
	behind.expect("3 w2")
	ahead.expect("")
	behind.read(600) // nobody is ahead of 489
	behind.expect("600 w599")
	if !ahead.woken() {
		t.Fatal("not woken")
	}
	ahead.expect("wmax end")
}

// TestDriftBarriers: a source that waits starts checkpoints, which the others'
// barriers may wait for.
func TestDriftBarriers(t *testing.T) {
	h, _ := aligned(t, 2, 0, 0, true)
	h[1].read(1)
	h[1].expect("1 w0")
	h[0].read(100)
	h[0].expect("100 w99")
	h[0].read(200)
	h[0].expect("")
	h[0].head.check.wanted.Store(1)
	h[0].expect("barrier 1")
}

// TestDriftWithoutData (FLINK-32414): a source that has no watermark yet reports
// none, and nobody waits for it.
func TestDriftWithoutData(t *testing.T) {
	h, _ := aligned(t, 2, 10, 0, true)
	h[1].expect("")
	for i := stream.EventTime(100); i < 1000; i += 100 {
		h[0].read(i)
		h[0].expect(fmt.Sprintf("%d w%d", i, i-1))
	}
	h[1].read(5)
	h[1].expect("5 w4")
	h[0].read(1000)
	h[0].expect("")
}

// TestDriftOfEnded (FLINK-35157, FLINK-37670): nobody waits for a source that has
// ended.
func TestDriftOfEnded(t *testing.T) {
	h, _ := aligned(t, 3, 10, 0, true)
	for _, b := range h[1:] {
		b.read(1)
		b.expect("1 w0")
	}
	h[0].read(100)
	h[0].expect("100 w99")
	h[0].read(200)
	h[0].expect("")
	for _, b := range h[1:] {
		h[0].expect("")
		h[0].woken()
		b.end()
		b.expect("wmax end")
	}
	if !h[0].woken() {
		t.Fatal("not woken")
	}
	h[0].expect("200 w199")
}

// TestDriftOfIdle (FLINK-40093): nobody waits for an idle source, and one that
// fell idle while it waited reads on when it may.
func TestDriftOfIdle(t *testing.T) {
	h, clock := aligned(t, 2, 10, 300, false)
	behind, ahead := h[0], h[1]
	behind.read(1)
	behind.expect("1 w0")
	ahead.read(100)
	ahead.expect("100 w99")
	ahead.read(200)
	for _, now := range []stream.ProcTime{1200, 1400, 1600} {
		clock.now = now
		behind.read(1)
		behind.expect("1")
		ahead.expect("")
	}
	behind.read(1)
	behind.at(1800, "1")
	ahead.expect("idle")
	ahead.woken()
	behind.read(95)
	behind.expect("95 w94")
	if !ahead.woken() {
		t.Fatal("an idle source that waits was not woken")
	}
	ahead.expect("200 active w199")
	ahead.read(300)
	ahead.at(2000, "")
	ahead.woken()
	behind.at(2000, "")
	behind.at(2200, "")
	behind.at(2600, "idle")
	if !ahead.woken() {
		t.Fatal("not woken when the last one fell idle")
	}
	ahead.expect("300 w299")
}

// TestWaitingIsNotIdleness (FLINK-35886): the clock of a source that waits for
// others pauses.
func TestWaitingIsNotIdleness(t *testing.T) {
	h, clock := aligned(t, 2, 10, 300, true)
	h[0].read(1)
	h[0].expect("1 w0")
	h[1].read(100)
	h[1].expect("100 w99")
	h[1].read(200)
	h[1].expect("")
	for clock.now = 1200; clock.now < 5000; clock.now += 200 {
		h[0].read(1)
		h[0].expect("1")
		h[1].expect("")
	}
	h[0].read(300)
	h[0].expect("300 w299")
	h[1].expect("200 w199")
	h[1].at(5200, "")
	h[1].at(5400, "")
	h[1].at(5800, "idle")
}

// TestDriftSaturates (FLINK-31632): the largest drift is no drift into the past.
func TestDriftSaturates(t *testing.T) {
	h, _ := aligned(t, 2, math.MaxInt64, 0, true)
	h[1].read(1000)
	h[1].expect("1000 w999")
	h[0].read(stream.MaxTime)
	h[0].expect("max w9223372036854775806")
	h[0].read(7)
	h[0].expect("7")
}

const alignedJob = `
version: 1
name: aligned
sources:
  a:
    file: {path: a, format: json}
    schema: {t: TIMESTAMP(3)}
    event-time: t
    watermark: {strategy: monotonous, emit: on-event, alignment: {group: g, max-drift: 20ms}}
  b:
    file: {path: b, format: json}
    schema: {t: TIMESTAMP(3)}
    event-time: t
    watermark: {strategy: monotonous, emit: on-event, alignment: {group: g, max-drift: 20ms}}
steps:
  both: {from: [a, b]}
sinks:
  out: {from: both, file: {path: out, format: json}}
`

// numbers is a source of records whose times go up by step to end.
type numbers struct{ at, step, end int64 }

func (s *numbers) Open([]connector.SplitPosition) error   { return nil }
func (s *numbers) Checkpointed([]connector.SplitPosition) {}
func (s *numbers) Size() int64                            { return 0 }
func (s *numbers) Close() error                           { return nil }
func (s *numbers) Read(c *connector.Chunk) error {
	if s.at > s.end {
		return io.EOF
	}
	for range 7 {
		c.Data = fmt.Appendf(c.Data, "{\"t\":%d}\n", s.at)
		c.Ends = append(c.Ends, uint32(len(c.Data)))
		s.at += s.step
	}
	return nil
}

// discardSink counts lines.
type discardSink struct{ lines int }

func (s *discardSink) Recover([]byte) error          { return nil }
func (s *discardSink) Open([]byte) error             { return nil }
func (s *discardSink) Handover(bool) ([]byte, error) { return nil, nil }
func (s *discardSink) Commit() error                 { return nil }
func (s *discardSink) Interrupt()                    {}
func (s *discardSink) Close() error                  { return nil }
func (s *discardSink) Abort() error                  { return nil }
func (s *discardSink) Write(r *connector.Records) error {
	s.lines += r.Len()
	return nil
}

// driftConfig runs alignedJob: source a is fast, and b is slow and ends early or
// late.
func driftConfig(end int64, sink connector.Sink, clock stream.Clock) Config {
	return Config{
		Clock: clock, Limits: Limits{BatchRows: 3}, Decoders: 2,
		Source: func(s *job.Source) (connector.Source, error) {
			if s.Name == "a" {
				return &numbers{step: 5, end: 2000}, nil
			}
			return &numbers{step: 1, end: end}, nil
		},
		Decoder: func(s *job.Source) (format.Decoder, error) { return json.NewDecoder(s.Schema, s.Output) },
		Encoder: func(s *job.Sink) (format.Encoder, error) { return json.NewEncoder(s.Input, json.EncoderOptions{}) },
		Sink:    func(*job.Sink) (connector.Sink, error) { return sink, nil },
	}
}

// TestDriftAnyOrder: in whatever order tasks are stepped, once both sources have
// a watermark neither gets farther ahead of the other than the drift and one
// batch, and all records come through.
func TestDriftAnyOrder(t *testing.T) {
	plan, err := job.Parse([]byte(alignedJob), job.Options{File: "aligned.yaml", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(60) {
		sink, clock := &discardSink{}, &stillClock{now: 1}
		end := int64(seed * 50)
		j, err := New(plan, driftConfig(end, sink, clock))
		if err != nil {
			t.Fatal(err)
		}
		order, was := rand.New(rand.NewPCG(seed, 1)), [2]stream.EventTime{stream.MinTime, stream.MinTime}
		for n := j.sched.pick(order); n != nil && !j.sched.stopped.Load(); n = j.sched.pick(order) {
			clock.now += stream.ProcTime(order.IntN(3))
			n.state.Store(running)
			n.run()
			checkDrift(t, seed, j, &was)
		}
		if err := j.sched.cause(); err != nil || !j.sched.stopped.Load() {
			t.Fatalf("seed %d: the job did not end: %v", seed, err)
		}
		if want := int((end/7+1)*7) + 406; sink.lines != want {
			t.Fatalf("seed %d: %d records, want %d", seed, sink.lines, want)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// checkDrift compares the sources' watermarks: a source that has moved was at most
// the drift ahead before its batch, which spans ten.
func checkDrift(t *testing.T, seed uint64, j *Job, was *[2]stream.EventTime) {
	t.Helper()
	var now [2]stream.EventTime
	for i, s := range j.stats.sources {
		now[i] = stream.EventTime(s.Watermark.Load())
	}
	for i := range now {
		other := now[1-i]
		if now[i] > was[i] && was[i] != stream.MinTime && now[i] != stream.MaxTime && other != stream.MinTime {
			// A step takes several batches; each begins at most the drift ahead.
			if now[i] > other.Add(20+15) {
				t.Fatalf("seed %d: source %d came to %v, the other is at %v", seed, i, now[i], other)
			}
		}
	}
	*was = now
}

// TestDriftInJobs: sources of a group wait for each other whatever workers there
// are, and the job ends.
func TestDriftInJobs(t *testing.T) {
	for _, name := range []string{"g", "other"} {
		text := strings.Replace(alignedJob, "group: g", "group: "+name, 1)
		plan, err := job.Parse([]byte(text), job.Options{File: "aligned.yaml", Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		sink := &discardSink{}
		c := driftConfig(1500, sink, &stillClock{now: 1})
		c.Workers = 2
		j, err := New(plan, c)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if sink.lines != 1505+406 {
			t.Errorf("group %s: %d records", name, sink.lines)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestIdleClockSwitch: the job's switch reaches its sources (FLINK-35886).
func TestIdleClockSwitch(t *testing.T) {
	for text, want := range map[string]bool{
		alignedJob: true,
		strings.Replace(alignedJob, "sources:", "compatibility: {idle-clock-pauses: false}\nsources:", 1): false,
	} {
		plan, err := job.Parse([]byte(text), job.Options{File: "aligned.yaml", Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		j, err := New(plan, driftConfig(10, &discardSink{}, &stillClock{now: 1}))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range j.sched.nodes {
			if head, ok := n.task.(*sourceTask); ok && head.marks.pauses != want {
				t.Errorf("%s: %v, want %v", n.name, head.marks.pauses, want)
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
