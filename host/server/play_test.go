package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.uber.org/goleak"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/format/json"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/server"
	"github.com/wasmstream/wasmstream/host/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is what nothing here needs, even on a machine that is busy.
const patience = 2 * time.Minute

// counts counts records by key and second.
const counts = `
version: 1
name: counts
sources:
  in:
    kafka: {brokers: ["h:1"], topics: [p], format: json}
    schema: {k: STRING, t: TIMESTAMP(3)}
    event-time: t
    on-error: skip
    watermark: {max-out-of-orderness: 0s, emit: on-event, idle-timeout: 1s}
steps:
  counted: {from: in, key-by: [k], window: {tumbling: {size: 1s}}, aggregate: {n: count}}
sinks:
  out: {from: counted, file: {path: out, format: json}}
`

// clock stands until it is moved.
type clock struct {
	now atomic.Int64

	mu   sync.Mutex
	at   stream.ProcTime
	ring func()
}

func (c *clock) Now() stream.ProcTime { return stream.ProcTime(c.now.Load()) }

func (c *clock) Alarm(at stream.ProcTime, ring func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.ring = at, ring
}

func (c *clock) move(ms int64) {
	now := stream.ProcTime(c.now.Add(ms))
	c.mu.Lock()
	ring := c.ring
	if ring == nil || now < c.at {
		c.mu.Unlock()
		return
	}
	c.ring = nil
	c.mu.Unlock()
	ring()
}

// topic is a source of two partitions that the test fills.
type topic struct {
	open   chan struct{} // Open waits for it
	chunks chan string   // a partition, a space and lines
	closed chan struct{}
	once   sync.Once
	next   map[string]connector.Position
}

func newTopic() *topic {
	s := &topic{open: make(chan struct{}), chunks: make(chan string, 100), closed: make(chan struct{}), next: map[string]connector.Position{}}
	s.chunks <- "p-0 "
	s.chunks <- "p-1 "
	return s
}

func (s *topic) Open([]connector.SplitPosition) error {
	select {
	case <-s.open:
		return nil
	case <-s.closed:
		return errors.New("closed")
	}
}
func (s *topic) Checkpointed([]connector.SplitPosition) {}
func (s *topic) Size() int64                            { return 0 }
func (s *topic) Close() error                           { s.once.Do(func() { close(s.closed) }); return nil }

func (s *topic) Lag(tell func(string, int64)) {
	tell("p-0", 7)
	tell("p-1", 0)
}

func (s *topic) Read(c *connector.Chunk) error {
	select {
	case text := <-s.chunks:
		split, lines, _ := strings.Cut(text, " ")
		c.Split, c.Start = split, s.next[split]
		for line := range strings.Lines(lines) {
			c.Data = append(c.Data, line...)
			c.Ends = append(c.Ends, uint32(len(c.Data)))
		}
		c.Next = connector.Position{Offset: c.Start.Offset + int64(len(c.Data)), Record: c.Start.Record + int64(len(c.Ends))}
		s.next[split] = c.Next
		c.Announcing = split == "p-0" && len(c.Ends) == 0
		return nil
	case <-s.closed:
		return io.EOF
	}
}

// record is a line of that topic.
func record(k string, ms int) string {
	return fmt.Sprintf(`{"k":%q,"t":"1970-01-01T00:00:%02d.%03d"}`+"\n", k, ms/1000, ms%1000)
}

// sink does what the test says.
type sink struct {
	write  func() error
	commit func()
}

func (*sink) Recover([]byte) error { return nil }
func (*sink) Open([]byte) error    { return nil }
func (s *sink) Write(*connector.Records) error {
	if s.write == nil {
		return nil
	}
	return s.write()
}
func (*sink) Handover(bool) ([]byte, error) { return nil, nil }
func (s *sink) Commit() error {
	if s.commit != nil {
		s.commit()
	}
	return nil
}
func (*sink) Interrupt()   {}
func (*sink) Close() error { return nil }
func (*sink) Abort() error { return nil }

// store fails to write as long as it is told to.
type store struct {
	checkpoint.Store
	broken atomic.Bool
}

func (s *store) Put(name string, write func(io.Writer) error) error {
	if s.broken.Load() {
		return errors.New("the disk is full")
	}
	return s.Store.Put(name, write)
}

// files is the size of all files with records that the store has.
func (s *store) files(t *testing.T) (bytes int64) {
	names, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".delta") && !strings.HasSuffix(name, ".base") {
			continue
		}
		o, err := s.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		bytes += o.Size()
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return bytes
}

// bench is a server and what a job is run with.
type bench struct {
	*testing.T
	server    *server.Server
	clock     *clock
	monotonic atomic.Int64
	topic     *topic
	sink      *sink
	store     *store
}

// start serves, and runs nothing yet. The clock shows 100 s.
func start(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, clock: &clock{}, topic: newTopic(), sink: &sink{}, store: &store{Store: checkpoint.NewMemory()}}
	b.clock.now.Store(100_000)
	var err error
	b.server, err = server.Listen(server.Options{
		Address: "127.0.0.1:0", Job: "counts", CheckpointInterval: time.Hour, Clock: b.clock, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.server.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// newJob makes a job of these lines.
func (b *bench) newJob(text string) *runtime.Job {
	b.Helper()
	plan, err := job.Parse([]byte(text), job.Options{File: "job.yaml", Dir: b.TempDir(), Manifest: func(job.Module) (*abi.Manifest, error) {
		return abi.ParseManifestJSON([]byte(manifest))
	}})
	if err != nil {
		b.Fatal(err)
	}
	recovery, err := checkpoint.Recover(b.store)
	if err != nil {
		b.Fatal(err)
	}
	j, err := runtime.New(plan, runtime.Config{
		Clock: b.clock, Workers: 2, Monotonic: func() time.Duration { return time.Duration(b.monotonic.Load()) },
		Source:      func(*job.Source) (connector.Source, error) { return b.topic, nil },
		Decoder:     func(s *job.Source) (format.Decoder, error) { return json.NewDecoder(s.Schema, s.Value) },
		Sink:        func(*job.Sink) (connector.Sink, error) { return b.sink, nil },
		Encoder:     func(s *job.Sink) (format.Encoder, error) { return json.NewEncoder(s.Input, json.EncoderOptions{}) },
		Guest:       func(*job.Function) (runtime.Guest, error) { return newGuest(), nil },
		Asker:       func(*job.Step) (connector.Asker, error) { return asker{}, nil },
		Checkpoints: &runtime.Checkpoints{Store: b.store, Recovery: recovery, Schedule: checkpoint.ScheduleOptions{TolerableFailures: -1}},
	})
	if err != nil {
		b.Fatal(err)
	}
	return j
}

// run runs a job until the test, or what it returns, ends it.
func (b *bench) run(j *runtime.Job) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	b.server.Running(j)
	go func() {
		defer close(ended)
		_ = j.Run(ctx) // it was cancelled
		b.server.Stopped()
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-ended
		if err := j.Close(); err != nil {
			b.Error(err)
		}
	})
	b.Cleanup(stop)
	return stop
}

func (b *bench) get(path string) (status int, body string) {
	b.Helper()
	// A connection of its own, so that none is left when the test ends.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	answer, err := client.Get("http://" + b.server.Address() + path)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// samples are the values by name and labels, as Prometheus writes them, without the
// job's name.
type samples map[string]float64

func (b *bench) scrape() samples {
	b.Helper()
	status, text := b.get("/metrics")
	if status != http.StatusOK {
		b.Fatalf("status %d: %s", status, text)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		b.Fatalf("%v\n%s", err, text)
	}
	all := samples{}
	for name, f := range families {
		for _, m := range f.Metric {
			all[name+labels(b, name, m)] = valueOf(f, m)
		}
	}
	return all
}

func labels(b *bench, name string, m *dto.Metric) string {
	var parts []string
	isOurs, named := strings.HasPrefix(name, "wasmstream_"), false
	for _, l := range m.Label {
		if isOurs && l.GetName() == "job_name" {
			named = l.GetValue() == "counts"
			continue
		}
		parts = append(parts, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
	}
	if isOurs && !named {
		b.Errorf("%s has no job_name", name)
	}
	if len(parts) == 0 {
		return ""
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func valueOf(f *dto.MetricFamily, m *dto.Metric) float64 {
	switch f.GetType() {
	case dto.MetricType_COUNTER:
		return m.Counter.GetValue()
	case dto.MetricType_GAUGE:
		return m.Gauge.GetValue()
	}
	return math.NaN()
}

// until scrapes until something holds.
func (b *bench) until(what string, holds func(samples) bool) samples {
	b.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		s := b.scrape()
		if holds(s) {
			return s
		}
		select {
		case <-look.C:
		case <-deadline.C:
			b.Fatalf("%s: it did not come to that\n%v", what, s)
		}
	}
}

func (b *bench) check(got, want samples) {
	b.Helper()
	for name, v := range want {
		if g, ok := got[name]; !ok || g != v {
			b.Errorf("%s is %v (there: %v), want %v", name, g, ok, v)
		}
	}
}

func task(metric, kind, name string) string {
	return fmt.Sprintf(`wasmstream_task_%s{kind=%q,name=%q,subtask_index="0"}`, metric, kind, name)
}

func lag(split string, idle bool) string {
	return fmt.Sprintf(`wasmstream_split_watermarkLag{idle="%v",source="in",split=%q}`, idle, split)
}

const none = float64(math.MinInt64)
