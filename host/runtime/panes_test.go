package runtime_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/sandbox"
	"github.com/wasmstream/wasmstream/host/stream"
)

const panesJob = `
version: 1
name: panes
modules: {bids: {file: count-c.wasm}}
sources:
  in: {test: {}, schema: {k: BIGINT, price: BIGINT, d: DOUBLE}}
steps:
  result:
    from: in
    key-by: [k]
    window: {sliding: {size: %dms, slide: %dms, offset: %dms}, allowed-lateness: %dms, late-output: late}
    aggregate: %s
sinks:
  out: {from: result, test: {}}
  late: {from: result.late, test: {}}
`

// sliding is one job that is sent what the others are sent.
type sliding struct {
	plan     *job.Job
	job      *runtime.Job
	columns  map[string][]stream.Column
	received []string
	guest    func(*job.Function) (runtime.Guest, error)
	store    checkpoint.Store
}

func newSliding(t testing.TB, text string) *sliding {
	s := &sliding{plan: parsePlan(t, text, "../../testdata/wasm"), columns: map[string][]stream.Column{}, guest: guests(t, sandbox.Options{})}
	for _, sink := range s.plan.Sinks {
		for _, name := range []string{"k", "n", "price", "window_start", "window_end"} {
			if i := slices.IndexFunc(sink.Input.Fields(), func(f stream.Field) bool { return f.Name == name }); i >= 0 {
				s.columns[sink.Name] = append(s.columns[sink.Name], sink.Input.Column(i))
			}
		}
	}
	return s
}

// start starts the job, from the newest checkpoint or with a new store (nil).
func (s *sliding) start(t *rapid.T, store checkpoint.Store) {
	if s.store = store; store == nil {
		s.store = checkpoint.NewMemory()
	}
	recovery, err := checkpoint.Recover(s.store)
	if err != nil {
		t.Fatal(err)
	}
	c := runtime.Config{Decoders: 1, Clock: &manualClock{}, Scripted: true, Guest: s.guest, Collect: s.collect}
	c.Checkpoints = &runtime.Checkpoints{Store: s.store, Recovery: recovery}
	if s.job, err = runtime.New(s.plan, c); err != nil {
		t.Fatal(err)
	}
}

func (s *sliding) collect(sink string, r stream.Row, at stream.EventTime) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s @%d", sink, at)
	for _, c := range s.columns[sink] {
		fmt.Fprintf(&b, " %s=%d", c.Name, c.Int64(r))
	}
	s.received = append(s.received, b.String())
}

func (s *sliding) drive(t *rapid.T) {
	if err := s.job.Drive(nil); err != nil {
		t.Fatal(err)
	}
}

func (s *sliding) restart(t *rapid.T) {
	taken := errors.New("not taken")
	if err := s.job.Checkpoint(func(err error) { taken = err }); err != nil {
		t.Fatal(err)
	}
	s.drive(t)
	if taken != nil {
		t.Fatal(taken)
	}
	if err := s.job.Close(); err != nil {
		t.Fatal(err)
	}
	s.start(t, s.store)
}

// TestPanes: windows that share panes put out what windows with contents of their
// own do. A sum of DOUBLEs keeps a job from sharing. Restarts take the watermark
// back, so that windows that were over come up again.
func TestPanes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		slide := rapid.Int64Range(1, 6).Draw(r, "slide")
		size := rapid.Int64Range(slide, 5*slide).Draw(r, "size")
		offset := rapid.Int64Range(1-slide, slide-1).Draw(r, "offset")
		lateness := rapid.SampledFrom([]int64{0, 1, 5, 1 << 40}).Draw(r, "lateness")
		var jobs []*sliding
		for _, calls := range []string{"{n: count, x: sum(d)}", "{n: count}", "{wasm: bids.count}"} {
			s := newSliding(t, fmt.Sprintf(panesJob, size, slide, offset, lateness, calls))
			s.start(r, nil)
			defer func() { s.job.Close() }()
			jobs = append(jobs, s)
		}
		w := stream.NewRowWriter(jobs[0].plan.Sources[0].Output)
		for range rapid.IntRange(1, 30).Draw(r, "steps") {
			batch := randomBatch(r, w)
			restart := rapid.IntRange(0, 9).Draw(r, "restart") == 0
			for _, s := range jobs {
				s.received = nil
				if restart {
					s.restart(r)
				}
				s.job.Feed("in").Send(batch)
				s.drive(r)
				slices.Sort(s.received)
			}
			for _, s := range jobs[1:] {
				if !slices.Equal(s.received, jobs[0].received) {
					r.Fatalf("size %d, slide %d:\n%s\nwant\n%s", size, slide, strings.Join(s.received, "\n"), strings.Join(jobs[0].received, "\n"))
				}
			}
		}
	})
}

// randomBatch has some records, in and out of order, with watermarks among them.
func randomBatch(r *rapid.T, w *stream.RowWriter) *stream.Batch {
	b := new(stream.Batch)
	b.Reset()
	for range rapid.IntRange(1, 8).Draw(r, "records") {
		if rapid.IntRange(0, 2).Draw(r, "kind") == 0 {
			b.Mark(stream.MarkWatermark, rapid.Int64Range(-10, 60).Draw(r, "watermark"))
			continue
		}
		w.Begin(b, stream.Insert)
		w.SetInt64(0, rapid.Int64Range(0, 1).Draw(r, "key"))
		w.SetInt64(1, 1)
		w.SetFloat64(2, 1)
		w.End(stream.EventTime(rapid.Int64Range(-10, 60).Draw(r, "time")))
	}
	return b
}
