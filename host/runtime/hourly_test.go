package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/connector/file"
	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/format/json"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/sandbox"
	"github.com/wasmstream/wasmstream/host/stream"
)

// wallClock is the machine's clock.
type wallClock struct{ timer *time.Timer }

func (c *wallClock) Now() stream.ProcTime { return stream.ProcTime(time.Now().UnixMilli()) }

func (c *wallClock) Alarm(at stream.ProcTime, ring func()) {
	if c.timer != nil {
		c.timer.Stop()
	}
	if ring != nil {
		c.timer = time.AfterFunc(time.Until(time.UnixMilli(int64(at))), ring)
	}
}

// memorySink keeps what it is given; a hand-over cuts it back.
type memorySink struct {
	discard
	data      []byte
	final     bool // of the last hand-over
	committed bool
}

func (s *memorySink) Open(handover []byte) error {
	length, _ := strconv.Atoi(string(handover))
	s.data = s.data[:length]
	return nil
}

func (s *memorySink) Write(r *connector.Records) error {
	s.data = append(s.data, r.Data...)
	return nil
}

func (s *memorySink) Handover(final bool) ([]byte, error) {
	s.final = final
	return strconv.AppendInt(nil, int64(len(s.data)), 10), nil
}

func (s *memorySink) Commit() error {
	s.committed = s.final
	return nil
}

// kept is where a job's checkpoints are; each run goes on from the newest.
type kept struct{ checkpoint.Store }

func newKept() kept { return kept{checkpoint.NewMemory()} }

func (k kept) config(t testing.TB) *runtime.Checkpoints {
	t.Helper()
	r, err := checkpoint.Recover(k.Store)
	if err != nil {
		t.Fatal(err)
	}
	return &runtime.Checkpoints{Store: k.Store, Recovery: r}
}

// variants of the hourly-delays job, by the language of its aggregate; all put
// out the same lines.
var variants = []string{"built-in", "go", "c"}

const builtin = "aggregate: {flights: count, delay_sum: sum(delay), delay_max: max(delay)}"

func hourlyPlan(t testing.TB, variant string, parallelism int) *job.Job {
	t.Helper()
	dir := "../../testdata/jobs"
	text, err := os.ReadFile(filepath.Join(dir, "hourly-delays-builtin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if variant != "built-in" {
		module := "modules: {delays: {file: ../wasm/delays-" + variant + ".wasm}}\nsources:"
		text = bytes.Replace(text, []byte("sources:"), []byte(module), 1)
		text = bytes.Replace(text, []byte(builtin), []byte("aggregate: {wasm: delays.delays}"), 1)
	}
	plan := parsePlan(t, string(text), dir)
	plan.Parallelism = parallelism
	return plan
}

// parsePlan parses a job file that stands in a folder.
func parsePlan(t testing.TB, text, dir string) *job.Job {
	t.Helper()
	return parsePlanWith(t, text, dir, func(m job.Module) (*abi.Manifest, error) {
		return loadModule(t, m.Path, sandbox.Options{}).Manifest(), nil
	})
}

// parsePlanOf parses a job whose functions are a test's own; there is no module.
func parsePlanOf(t testing.TB, text, manifest string) *job.Job {
	t.Helper()
	return parsePlanWith(t, text, t.TempDir(), func(job.Module) (*abi.Manifest, error) {
		return abi.ParseManifestJSON([]byte(manifest))
	})
}

func parsePlanWith(t testing.TB, text, dir string, manifest func(job.Module) (*abi.Manifest, error)) *job.Job {
	t.Helper()
	plan, err := job.Parse([]byte(text), job.Options{File: "job.yaml", Dir: dir, Test: strings.Contains(text, "test: {}"), Manifest: manifest})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// loaded holds compiled modules by path and options: compiling takes long.
var (
	loadedMutex sync.Mutex
	loaded      = map[string]*sandbox.Module{}
)

func loadModule(t testing.TB, path string, o sandbox.Options) *sandbox.Module {
	t.Helper()
	loadedMutex.Lock()
	defer loadedMutex.Unlock()
	name := fmt.Sprintf("%s %v", path, o.FreshInstance)
	if loaded[name] == nil {
		wasm, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		engine, err := sandbox.NewEngine(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		if loaded[name], err = engine.Load(context.Background(), filepath.Base(path), wasm); err != nil {
			t.Fatal(err)
		}
	}
	return loaded[name]
}

// guests instantiates functions under the given options.
func guests(t testing.TB, o sandbox.Options) func(*job.Function) (runtime.Guest, error) {
	return func(f *job.Function) (runtime.Guest, error) {
		return loadModule(t, f.Module.Path, o).Instantiate(context.Background(), sandbox.InstanceOptions{})
	}
}

func config(t testing.TB, sinks map[string]*memorySink) runtime.Config {
	return runtime.Config{
		Clock: &wallClock{},
		Guest: guests(t, sandbox.Options{}),
		Source: func(s *job.Source) (connector.Source, error) {
			f := s.Connector.File
			return file.NewSource(f.Path, f.Shown, f.RecordBytesMax), nil
		},
		Decoder: func(s *job.Source) (format.Decoder, error) { return json.NewDecoder(s.Schema, s.Output) },
		Encoder: func(s *job.Sink) (format.Encoder, error) { return json.NewEncoder(s.Input, json.EncoderOptions{}) },
		Sink: func(s *job.Sink) (connector.Sink, error) {
			if sinks[s.Name] == nil {
				sinks[s.Name] = &memorySink{}
			}
			return sinks[s.Name], nil
		},
	}
}

func checkHourly(t *testing.T, sinks map[string]*memorySink) {
	t.Helper()
	for sink, name := range map[string]string{"delays": "firings", "late": "late"} {
		want, err := os.ReadFile("../../testdata/hourly-delays/" + name + ".ndjson")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sortedLines(want), sortedLines(sinks[sink].data)); diff != "" {
			t.Fatalf("%s (-want +got):\n%.2000s", name, diff)
		}
		if !sinks[sink].committed {
			t.Errorf("sink %s was not committed", sink)
		}
	}
}

func sortedLines(b []byte) []string {
	var lines []string
	for line := range bytes.Lines(b) {
		lines = append(lines, string(line))
	}
	slices.Sort(lines)
	return lines
}

// run starts a job over sinks and runs it to its end.
func run(t *testing.T, plan *job.Job, c runtime.Config) {
	t.Helper()
	j, err := runtime.New(plan, c)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// each calls f for every variant, some parallelisms and sizes of batches.
func each(t *testing.T, parallelisms []int, f func(t *testing.T, plan *job.Job, batch int)) {
	for _, variant := range variants {
		for _, parallelism := range parallelisms {
			for _, batch := range []int{1, 64, 4096} {
				t.Run(fmt.Sprintf("%s/parallelism=%d/batch=%d", variant, parallelism, batch), func(t *testing.T) {
					f(t, hourlyPlan(t, variant, parallelism), batch)
				})
			}
		}
	}
}

func TestHourlyDelays(t *testing.T) {
	each(t, []int{1, 2, 4}, func(t *testing.T, plan *job.Job, batch int) {
		sinks := map[string]*memorySink{}
		c := config(t, sinks)
		c.Limits.BatchRows, c.Workers = batch, plan.Parallelism
		run(t, plan, c)
		checkHourly(t, sinks)
	})
}

// TestHourlyDelaysFreshInstance throws the guest away after every call.
func TestHourlyDelaysFreshInstance(t *testing.T) {
	for _, variant := range variants[1:] {
		sinks := map[string]*memorySink{}
		c := config(t, sinks)
		c.Guest = guests(t, sandbox.Options{FreshInstance: true})
		run(t, hourlyPlan(t, variant, 2), c)
		checkHourly(t, sinks)
	}
}

// TestHourlyDelaysInAnyOrder steps the tasks one at a time, each time in another
// order.
func TestHourlyDelaysInAnyOrder(t *testing.T) {
	for seed := range uint64(100) {
		parallelism := 1 << (seed % 3)
		plan := hourlyPlan(t, variants[seed%uint64(len(variants))], parallelism)
		sinks := map[string]*memorySink{}
		c := config(t, sinks)
		c.Limits.BatchRows, c.Decoders = 512, 1+int(seed%3)
		j, err := runtime.New(plan, c)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Drive(rand.New(rand.NewPCG(seed, 0))); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		checkHourly(t, sinks)
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHourlyDelaysRestored takes a snapshot by a barrier while records are in
// flight, throws the job away and goes on from the snapshot with another number
// of tasks, ten times over.
func TestHourlyDelaysRestored(t *testing.T) {
	each(t, []int{2, 4}, func(t *testing.T, plan *job.Job, batch int) {
		random := rand.New(rand.NewPCG(uint64(plan.Parallelism), uint64(batch)))
		total := int64(20_000)
		sinks := map[string]*memorySink{}
		store := newKept()
		for i := range int64(10) {
			c := config(t, sinks)
			c.Limits.BatchRows, c.Workers = batch, 2
			c.Checkpoints = store.config(t)
			at := total*i/10 + random.Int64N(total/10)
			checkpointAt(t, plan, c, at)
			plan.Parallelism = 6 - plan.Parallelism // 2, 4, 2, …
		}
		c := config(t, sinks)
		c.Checkpoints = store.config(t)
		run(t, plan, c)
		checkHourly(t, sinks)
	})
}

// checkpointAt runs a job until a checkpoint that was triggered behind some number
// of records is complete, and then kills it. Sinks keep what they had got.
func checkpointAt(t *testing.T, plan *job.Job, c runtime.Config, records int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	source := c.Source
	var j *runtime.Job
	var taken error = errors.New("not taken")
	c.Source = func(s *job.Source) (connector.Source, error) {
		inner, err := source(s)
		return &countingSource{Source: inner, records: records, reached: func() {
			if err := j.Checkpoint(func(err error) { taken = err; cancel() }); err != nil {
				t.Error(err)
			}
		}}, err
	}
	j, err := runtime.New(plan, c)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if taken != nil {
		t.Fatalf("no checkpoint at record %d: %v", records, taken)
	}
}

// countingSource tells when a number of records has been read. It hands chunks
// on in pieces of a few records, so that the moment is near that number and most
// of the input is still to come.
type countingSource struct {
	connector.Source
	records int64
	reached func()

	chunk connector.Chunk // of the inner source
	taken int             // records of it that were handed on
	err   error
}

const pieceRecords = 50

func (s *countingSource) Read(c *connector.Chunk) error {
	if s.taken == len(s.chunk.Ends) {
		s.chunk.Reset()
		s.taken = 0
		s.err = s.Source.Read(&s.chunk)
	}
	n := min(pieceRecords, len(s.chunk.Ends)-s.taken)
	from := uint32(0)
	if s.taken > 0 {
		from = s.chunk.Ends[s.taken-1]
	}
	c.Start = connector.Position{Offset: s.chunk.Start.Offset + int64(from), Record: s.chunk.Start.Record + int64(s.taken)}
	for _, end := range s.chunk.Ends[s.taken : s.taken+n] {
		c.Ends = append(c.Ends, end-from)
	}
	c.Data = append(c.Data, s.chunk.Data[from:]...)
	s.taken += n
	c.Next = s.chunk.Next
	if n > 0 && s.taken < len(s.chunk.Ends) {
		c.Next = connector.Position{Offset: c.Start.Offset + int64(c.Ends[n-1]), Record: c.Start.Record + int64(n)}
	}
	if s.reached != nil && (s.err != nil || c.Start.Record+int64(n) >= s.records) {
		s.reached()
		s.reached = nil
	}
	return s.err
}
