package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	goruntime "runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/stream"
)

const countJob = `
version: 1
name: count
%s
sources:
  in:
    file: {path: in, format: json}
    schema: {k: STRING, v: BIGINT, t: TIMESTAMP(3)}
    event-time: t
    on-error: %s
    watermark: {max-out-of-orderness: 0s, emit: %s}
steps:
  counts:
    from: in
    key-by: [k]
    window: {tumbling: {size: 1s}, late-output: late}
    aggregate: {n: count, v: sum(v)}
sinks:
  out: {from: counts, file: {path: out, format: json}}
  late: {from: counts.late, file: {path: late, format: json}}
`

func countPlan(t testing.TB, top, onError, emit string) *job.Job {
	t.Helper()
	return countPlanOf(t, countJob, top, onError, emit)
}

func countPlanOf(t testing.TB, text, top, onError, emit string) *job.Job {
	t.Helper()
	plan, err := job.Parse(fmt.Appendf(nil, text, top, onError, emit), job.Options{File: "count.yaml", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// source is a connector.Source from a function that fills chunks.
type source struct {
	read   func(c *connector.Chunk) error
	closed chan struct{}
	once   sync.Once
	next   connector.Position
}

func newSource(read func(*connector.Chunk) error) *source {
	return &source{read: read, closed: make(chan struct{})}
}

func (s *source) Open(at []connector.SplitPosition) error {
	if len(at) > 0 {
		s.next = at[0].Position
	}
	return nil
}
func (s *source) Checkpointed([]connector.SplitPosition) {}
func (s *source) Size() int64                            { return 0 }
func (s *source) Close() error                           { s.once.Do(func() { close(s.closed) }); return nil }

func (s *source) Read(c *connector.Chunk) error {
	c.Start = s.next
	err := s.read(c)
	s.next.Offset += int64(len(c.Data))
	s.next.Record += int64(len(c.Ends))
	c.Next = s.next
	return err
}

// lines makes a source of these lines and then of what after does.
func linesThen(text string, after func() error) *source {
	sent := false
	return newSource(func(c *connector.Chunk) error {
		if sent {
			return after()
		}
		sent = true
		appendLines(c, text)
		return nil
	})
}

func appendLines(c *connector.Chunk, text string) {
	for line := range strings.Lines(text) {
		c.Data = append(c.Data, line...)
		c.Ends = append(c.Ends, uint32(len(c.Data)))
	}
}

func eof() error { return io.EOF }

// sinkFuncs is a connector.Sink from functions; nil ones do nothing.
type sinkFuncs struct {
	discard
	write           func([]byte) error
	commit, aborted func()
}

func (s *sinkFuncs) Write(r *connector.Records) error {
	if s.write == nil {
		return nil
	}
	return s.write(r.Data)
}
func (s *sinkFuncs) Commit() error {
	if s.commit != nil {
		s.commit()
	}
	return nil
}
func (s *sinkFuncs) Abort() error {
	if s.aborted != nil {
		s.aborted()
	}
	return nil
}

func with(t testing.TB, src connector.Source, sinks func(name string) connector.Sink) runtime.Config {
	c := config(t, nil)
	c.Source = func(*job.Source) (connector.Source, error) { return src, nil }
	c.Sink = func(s *job.Sink) (connector.Sink, error) { return sinks(s.Name), nil }
	return c
}

// generate is an endless stream of records, ten a millisecond.
func generate() func(c *connector.Chunk) error {
	n := int64(0)
	return func(c *connector.Chunk) error {
		for range 2000 {
			c.Data = append(c.Data, `{"k":"key `...)
			c.Data = strconv.AppendInt(c.Data, n%300, 10)
			c.Data = append(c.Data, `","v":1,"t":`...)
			c.Data = strconv.AppendInt(c.Data, n/10, 10)
			c.Data = append(c.Data, "}\n"...)
			c.Ends = append(c.Ends, uint32(len(c.Data)))
			n++
		}
		return nil
	}
}

// TestCancel: the job ends, its sinks are aborted, no goroutine is left.
func TestCancel(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	var mu sync.Mutex
	ended := map[string]string{}
	c := with(t, newSource(generate()), func(name string) connector.Sink {
		return &sinkFuncs{
			write:   func([]byte) error { cancel(why); return nil },
			commit:  func() { mu.Lock(); ended[name] += "commit "; mu.Unlock() },
			aborted: func() { mu.Lock(); ended[name] += "abort "; mu.Unlock() },
		}
	})
	c.Workers = 2
	j, err := runtime.New(countPlan(t, "parallelism: 4", "fail", "on-event"), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Run(ctx); !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if ended["out"] != "abort " || ended["late"] != "abort " {
		t.Errorf("sinks: %v", ended)
	}
}

// TestCancelWhileReading: a reader that waits is set free.
func TestCancelWhileReading(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ctx, cancel := context.WithCancel(context.Background())
	var src *source
	src = linesThen("", func() error {
		cancel()
		<-src.closed
		return errors.New("closed")
	})
	j, err := runtime.New(countPlan(t, "", "fail", "on-event"), with(t, src, func(string) connector.Sink { return &sinkFuncs{} }))
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// TestSinkFails: the error names the sink, and nothing is committed.
func TestSinkFails(t *testing.T) {
	broken := errors.New("the disk is full")
	committed := false
	c := with(t, newSource(generate()), func(name string) connector.Sink {
		s := &sinkFuncs{commit: func() { committed = true }}
		if name == "out" {
			s.write = func([]byte) error { return broken }
		}
		return s
	})
	j, err := runtime.New(countPlan(t, "", "fail", "on-event"), c)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.Run(t.Context()); !errors.Is(err, broken) || !strings.Contains(err.Error(), "sink out") {
		t.Errorf("error %v", err)
	}
	if committed {
		t.Error("a sink was committed")
	}
}

// TestBadRecords: with fail the job ends at the line; with skip the line is
// counted and left out.
func TestBadRecords(t *testing.T) {
	text := `{"k":"a","v":1,"t":5}
{"k":"a","v":"one","t":5}
{"k":"a","v":1,"t":null}

{"k":"a","v":1}
{"k":"a","v":1,"t":-9223372036854775808}
{"k":"a","v":2,"t":6}
`
	var out bytes.Buffer
	sinks := func(name string) connector.Sink {
		return &sinkFuncs{write: func(b []byte) error { out.Write(b); return nil }}
	}
	j, err := runtime.New(countPlan(t, "", "fail", "on-event"), with(t, linesThen(text, eof), sinks))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	var record *runtime.RecordError
	if err := j.Run(t.Context()); !errors.As(err, &record) || record.Record != 1 || !strings.Contains(err.Error(), `line 2: column "v"`) {
		t.Errorf("error %v", err)
	}

	j, err = runtime.New(countPlan(t, "", "skip", "on-event"), with(t, linesThen(text, eof), sinks))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p := j.Progress(); p.Skipped != 4 || p.Records != 2 {
		t.Errorf("%d skipped, %d records", p.Skipped, p.Records)
	}
	if want := `{"k":"a","n":2,"v":3,"window_start":0,"window_end":1000}` + "\n"; out.String() != want {
		t.Errorf("%s", out.String())
	}
}

// TestRestoredWatermark: what was late before a restart is late after it. The
// greatest time that a source has seen is part of the snapshot.
func TestRestoredWatermark(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var j *runtime.Job
	store := newKept()
	asked := false
	var src *source
	src = linesThen(`{"k":"a","v":1,"t":100000}`+"\n", func() error {
		if !asked {
			asked = true
			for j.Progress().Records == 0 { // the head of the source has not seen it yet
				goruntime.Gosched()
			}
			if err := j.Checkpoint(func(err error) {
				if err != nil {
					t.Error(err)
				}
				cancel()
			}); err != nil {
				t.Error(err)
			}
		}
		<-src.closed
		return errors.New("closed")
	})
	before := with(t, src, func(string) connector.Sink { return &sinkFuncs{} })
	before.Checkpoints = store.config(t)
	var err error
	if j, err = runtime.New(countPlan(t, "", "fail", "on-event"), before); err != nil {
		t.Fatal(err)
	}
	if err := j.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}

	var late bytes.Buffer
	c := with(t, linesThen(`{"k":"a","v":2,"t":5}`+"\n", eof), func(name string) connector.Sink {
		return &sinkFuncs{write: func(b []byte) error {
			if name == "late" {
				late.Write(b)
			}
			return nil
		}}
	})
	c.Checkpoints = store.config(t)
	run(t, countPlan(t, "", "fail", "on-event"), c)
	if want := `{"k":"a","v":2,"t":"1970-01-01T00:00:00.005Z"}` + "\n"; late.String() != want {
		t.Errorf("late is %q, want %q", late.String(), want)
	}
}

// manualClock moves when the test says so.
type manualClock struct {
	mu   sync.Mutex
	now  stream.ProcTime
	at   stream.ProcTime
	ring func()
}

func (c *manualClock) Now() stream.ProcTime {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *manualClock) Alarm(at stream.ProcTime, ring func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.ring = at, ring
}

func (c *manualClock) advance(to stream.ProcTime) {
	c.mu.Lock()
	c.now = to
	ring := c.ring
	if ring != nil && c.at <= to {
		c.ring = nil
	} else {
		ring = nil
	}
	c.mu.Unlock()
	if ring != nil {
		ring()
	}
}

// TestIdleTasksKeepNothingBack: the source has no more for the moment, so late
// records and results reach the sinks at once; the periodic watermark comes by
// the clock although no record does.
func TestIdleTasksKeepNothingBack(t *testing.T) {
	clock := &manualClock{now: 1}
	got := make(chan string, 10)
	waiting, release := make(chan struct{}), make(chan struct{})
	src := linesThen("{\"k\":\"a\",\"v\":1,\"t\":5}\n{\"k\":\"a\",\"v\":1,\"t\":1000}\n", func() error {
		if waiting != nil {
			close(waiting)
			waiting = nil
		}
		<-release
		return io.EOF
	})
	wait := waiting
	c := with(t, src, func(name string) connector.Sink {
		return &sinkFuncs{write: func(b []byte) error { got <- name + " " + string(b); return nil }}
	})
	c.Clock, c.Workers = clock, 2
	j, err := runtime.New(countPlan(t, "", "fail", "periodic"), c)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	done := make(chan error)
	go func() { done <- j.Run(t.Context()) }()
	<-wait
	for now := stream.ProcTime(100); ; now += 100 { // until the alarm was set and came
		clock.advance(now)
		goruntime.Gosched()
		select {
		case line := <-got:
			if want := `out {"k":"a","n":1,"v":1,"window_start":0,"window_end":1000}` + "\n"; line != want {
				t.Errorf("%s", line)
			}
			close(release)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
	}
}

// TestSteadyStateAllocatesNothing: a running job allocates next to nothing per
// record, with built-in functions.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	const warm, end = 500_000, 2_500_000
	var before, after goruntime.MemStats
	records := 0
	next := generate()
	src := newSource(func(c *connector.Chunk) error {
		if records == warm {
			goruntime.ReadMemStats(&before)
		}
		if records == end {
			goruntime.ReadMemStats(&after)
			return io.EOF
		}
		records += 2000
		return next(c)
	})
	j, err := runtime.New(countPlan(t, "", "fail", "on-event"), with(t, src, func(string) connector.Sink { return &sinkFuncs{} }))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	perMillion := float64(after.Mallocs-before.Mallocs) / (end - warm) * 1e6
	t.Logf("%.0f allocations per million records", perMillion)
	if perMillion > 100 {
		t.Errorf("%.0f allocations per million records, more than 100", perMillion)
	}
}

// TestARecordWithoutBytes: of a line there may be none, and nothing is missing; a
// record of a topic that is empty is one that cannot be read.
func TestARecordWithoutBytes(t *testing.T) {
	sent := false
	src := newSource(func(c *connector.Chunk) error {
		if sent {
			return io.EOF
		}
		sent = true
		appendLines(c, `{"k":"a","v":1,"t":1}`+"\n")
		c.Ends = append(c.Ends, uint32(len(c.Data)))
		c.Offsets = []int64{0, 1}
		return nil
	})
	c := with(t, src, func(string) connector.Sink { return &sinkFuncs{} })
	j, err := runtime.New(countPlan(t, "", "skip", "on-event"), c)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if p := j.Progress(); p.Records != 1 || p.Skipped != 1 {
		t.Errorf("%d records, %d skipped", p.Records, p.Skipped)
	}
}
