package runtime

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// headBench is the head of a source between two pipes that the test holds.
type headBench struct {
	t     *testing.T
	clock *stillClock
	head  *sourceTask
	in    *pipe[*decoded]
	out   *pipe[*stream.Batch]
}

// newHead makes the head of a source at time 1000.
func newHead(t *testing.T, clock *stillClock, s *job.Source, pauses bool) *headBench {
	t.Helper()
	b := &headBench{
		t: t, clock: clock,
		in:  newPipe(func() *decoded { return &decoded{batch: new(stream.Batch)} }),
		out: newPipe(func() *stream.Batch { return new(stream.Batch) }),
	}
	limits := Limits{BatchRows: 100, BatchBytes: 1 << 20}
	b.head = &sourceTask{
		name: "in", in: []*pipe[*decoded]{b.in}, out: newOutput(limits, newMeter()), check: &checkpoints{started: map[string]int64{}},
		marks: newWatermarks(s, clock, pauses, stream.CombineRules{}), stats: &SourceStats{}, flush: flushTimer{clock: clock, timeout: 5},
	}
	n := &node{}
	n.state.Store(running)
	b.head.node, b.head.check.node = n, n
	b.head.splitOf("")
	b.in.producer, b.in.consumer, b.out.producer, b.out.consumer = n, n, n, n
	b.head.out.routes = []*route{{pipes: []*pipe[*stream.Batch]{b.out}, limits: limits}}
	return b
}

// read hands the head a batch of records with these times.
func (b *headBench) read(times ...stream.EventTime) {
	b.t.Helper()
	b.readOf("", times...)
}

// readOf is read for one split of several.
func (b *headBench) readOf(split string, times ...stream.EventTime) {
	b.t.Helper()
	d, ok := b.in.take()
	if !ok {
		b.t.Fatal("the head has not taken what it was given")
	}
	d.batch.Reset()
	for _, t := range times {
		d.batch.Append(make(stream.Row, 16), t)
	}
	d.ended, d.split = false, split
	b.in.send(d)
}

// end hands it the end of the input.
func (b *headBench) end() {
	d, _ := b.in.take()
	d.batch.Reset()
	d.ended = true
	b.in.send(d)
}

// step steps the head once.
func (b *headBench) step() outcome {
	b.t.Helper()
	out, err := b.head.step()
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// put steps the head until it has nothing to do, and writes what came out: the
// records' times, watermarks as w and the number, statuses and barriers.
func (b *headBench) put() string {
	b.t.Helper()
	var words []string
	for {
		more := b.step().more
		batch, ok := b.out.receive()
		if !ok {
			if more {
				continue
			}
			return strings.Join(words, " ")
		}
		for i := 0; ; i++ {
			for _, m := range batch.Marks {
				if int(m.At) == i {
					words = append(words, markText(m))
				}
			}
			if i == batch.Len() {
				break
			}
			words = append(words, batch.Time(i).String())
		}
		b.out.giveBack(batch)
	}
}

func markText(m stream.Mark) string {
	switch m.Kind {
	case stream.MarkWatermark:
		return "w" + stream.EventTime(m.Value).String()
	case stream.MarkIdle:
		return "idle"
	case stream.MarkActive:
		return "active"
	case stream.MarkBarrier:
		return fmt.Sprint("barrier ", m.Value)
	}
	return "end"
}

// expect compares what comes out.
func (b *headBench) expect(want string) {
	b.t.Helper()
	if got := b.put(); got != want {
		b.t.Fatalf("at %d: %q, want %q", b.clock.now, got, want)
	}
}

// at moves the clock, and compares what comes out at that.
func (b *headBench) at(now stream.ProcTime, want string) {
	b.t.Helper()
	b.clock.now = now
	b.expect(want)
}

// TestStrategies has case C41 (bounded by 10) and the limits of time.
func TestStrategies(t *testing.T) {
	const greatest = math.MaxInt64
	for name, c := range map[string]struct {
		watermark *job.Watermark
		times     []stream.EventTime
		want      string // at once
		later     string // at the next periodic look
	}{
		"bounded": {
			&job.Watermark{MaxOutOfOrderness: 10}, []stream.EventTime{1337, 12345, 12300}, "1337 12345 12300", "w12334",
		},
		"bounded, per record": {
			&job.Watermark{MaxOutOfOrderness: 10, OnEvent: true}, []stream.EventTime{1337, 12345, 12300}, "1337 w1326 12345 w12334 12300", "",
		},
		"monotonous":             {&job.Watermark{Strategy: job.Monotonous}, []stream.EventTime{5, 7, 7}, "5 7 7", "w6"},
		"monotonous, per record": {&job.Watermark{Strategy: job.Monotonous, OnEvent: true}, []stream.EventTime{5, 7, 7, 6}, "5 w4 7 w6 7 6", ""},
		"none":                   {&job.Watermark{Strategy: job.NoWatermarks}, []stream.EventTime{5, 7}, "5 7", ""},
		"no watermark":           {nil, []stream.EventTime{5, 7}, "5 7", ""},
		"before all time": {
			&job.Watermark{MaxOutOfOrderness: greatest}, []stream.EventTime{stream.MinTime + 1, 0}, "-9223372036854775807 0", "",
		},
		"at the end of time": {
			&job.Watermark{OnEvent: true}, []stream.EventTime{stream.MaxTime}, "max w9223372036854775806", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newHead(t, &stillClock{now: 1000}, &job.Source{Watermark: c.watermark}, true)
			b.expect("")
			b.read(c.times...)
			b.expect(c.want)
			b.at(1199, "")
			b.at(1200, c.later)
			b.at(1400, "")
			b.end()
			b.expect("wmax end")
			b.at(9000, "")
		})
	}
}

// TestIngestionTime: records get the time at which they are read.
func TestIngestionTime(t *testing.T) {
	s := &job.Source{IngestionTime: true, Watermark: &job.Watermark{Strategy: job.Monotonous}}
	b := newHead(t, &stillClock{now: 1000}, s, true)
	b.read(stream.MinTime, stream.MinTime)
	b.expect("1000 1000")
	b.read(stream.MinTime)
	b.at(1201, "1201 w1200")
	b.at(5000, "")

	s.Watermark.OnEvent = true
	b = newHead(t, &stillClock{now: 1000}, s, true)
	b.read(stream.MinTime, stream.MinTime)
	b.expect("1000 w999 1000")
}

// TestIdleness: a source is idle from the first look at which more than the
// timeout has passed since the first look without records.
func TestIdleness(t *testing.T) {
	for name, onEvent := range map[string]bool{"periodic": false, "per record": true} {
		t.Run(name, func(t *testing.T) {
			s := &job.Source{Watermark: &job.Watermark{Strategy: job.Monotonous, OnEvent: onEvent, IdleTimeout: 400}}
			b := newHead(t, &stillClock{now: 1000}, s, true)
			text := func(record, watermark string) string {
				if onEvent {
					return strings.TrimSpace(record + " " + watermark)
				}
				return record
			}
			later := func(watermark string) string {
				if onEvent {
					return ""
				}
				return watermark
			}
			b.read(10)
			b.expect(text("10", "w9"))
			b.at(1200, later("w9")) // records since the last look
			b.at(1400, "")          // none: the clock starts
			b.at(1800, "")          // exactly the timeout
			b.at(1999, "")          // no look yet
			b.at(2000, "idle")
			b.at(2200, "")
			b.read(10)
			b.at(2210, "10") // caught up with nothing: still idle
			b.at(2400, "")
			b.read(20)
			b.at(2410, map[bool]string{true: "20 active w19", false: "20"}[onEvent])
			b.at(2600, later("active w19"))
			b.at(2800, "")
			b.at(3201, "idle")
			b.end()
			b.expect("active wmax end")
			b.at(9000, "")
		})
	}
}

// TestIdleWithoutWatermarks: a source without watermarks stops holding others up,
// and its records do not change that.
func TestIdleWithoutWatermarks(t *testing.T) {
	s := &job.Source{Watermark: &job.Watermark{Strategy: job.NoWatermarks, IdleTimeout: 100}}
	b := newHead(t, &stillClock{now: 1000}, s, true)
	b.at(1200, "")
	b.at(1400, "idle")
	b.read(5)
	b.expect("5")
	b.at(1600, "")
	b.at(2000, "")
	b.end()
	b.expect("active wmax end")
}

// TestBackpressureIsNotIdleness (FLINK-35886): a source whose readers have no
// room has records, and cannot put them out.
func TestBackpressureIsNotIdleness(t *testing.T) {
	for name, pauses := range map[string]bool{"the clock pauses": true, "idle-clock-pauses: false": false} {
		t.Run(name, func(t *testing.T) {
			s := &job.Source{Watermark: &job.Watermark{Strategy: job.Monotonous, OnEvent: true, IdleTimeout: 400}}
			b := newHead(t, &stillClock{now: 1000}, s, pauses)
			for i := range stream.EventTime(pipeDepth + 1) {
				b.read(10 + i)
				b.step()
			}
			var out outcome
			for now := stream.ProcTime(1200); now <= 3000; now += 200 {
				b.clock.now = now
				out = b.step()
			}
			if out.more || out.deadline != 3200 {
				t.Fatalf("a source that is held back: %+v", out)
			}
			idle := map[bool]string{false: " idle", true: ""}[pauses]
			b.expect("10 w9 11 w10 12 w11 13 w12 14 w13" + idle)
			b.at(3100, "")
			b.at(3200, "")
			b.at(3400, "")
			b.read(20)
			b.expect(map[bool]string{false: "20 active w19", true: "20 w19"}[pauses])
		})
	}
}
