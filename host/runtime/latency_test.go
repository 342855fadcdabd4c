package runtime_test

import (
	"encoding/binary"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/stream"
)

// pacedSource delivers bids as the clock goes, some each millisecond. Their event
// time is when they are due.
type pacedSource struct {
	eventSource
	perMilli   int64
	start, end int64 // ms of the clock
	ticks      *time.Ticker
}

func (s *pacedSource) Open([]connector.SplitPosition) error {
	s.ticks = time.NewTicker(time.Millisecond)
	return nil
}

func (s *pacedSource) Close() error { s.ticks.Stop(); return nil }

func (s *pacedSource) Read(c *connector.Chunk) error {
	for len(c.Ends) == 0 {
		if s.start >= s.end {
			return io.EOF
		}
		now := min((<-s.ticks.C).UnixMilli(), s.end)
		for ; s.start < now; s.start++ {
			for range s.perMilli {
				e := bidAt(s.id)
				e.at = s.start + 1
				s.id++
				s.put(c, e)
			}
		}
	}
	return nil
}

// windowEnds is an encoder of results: the end of their windows.
type windowEnds struct{ end stream.Column }

func (e windowEnds) Append(dst []byte, r stream.Row) []byte {
	return binary.LittleEndian.AppendUint64(dst, uint64(e.end.Int64(r)))
}

// latencySink notes how long after the end of their windows results come. What
// the end of input fires comes too early and is left out.
type latencySink struct {
	discard
	late []time.Duration
}

func (s *latencySink) Write(r *connector.Records) error {
	b := r.Data
	now := time.Now()
	for ; len(b) > 0; b = b[9:] { // a newline is behind each
		if d := now.Sub(time.UnixMilli(int64(binary.LittleEndian.Uint64(b)))); d >= 0 {
			s.late = append(s.late, d)
		}
	}
	return nil
}

// BenchmarkLatency counts 50,000 bids a second by bidder in windows of a second,
// for ten seconds, and tells how long after a window's end its 10,000 results are
// written.
func BenchmarkLatency(b *testing.B) {
	plan := bidsPlan(b, &bidsJob{text: countText("bidder", "tumbling: {size: 1s}")}, false)
	plan.Sources[0].Watermark.MaxOutOfOrderness = 0
	sink := &latencySink{}
	before := userTime(b)
	for b.Loop() {
		c := config(b, nil)
		now := time.Now().UnixMilli()
		c.Source = func(*job.Source) (connector.Source, error) {
			return &pacedSource{perMilli: 50, start: now, end: now + 10_000}, nil
		}
		c.Decoder = newEventDecoder
		c.Sink = func(*job.Sink) (connector.Sink, error) { return sink, nil }
		c.Encoder = func(s *job.Sink) (format.Encoder, error) {
			return windowEnds{s.Input.Column(s.Input.Len() - 1)}, nil
		}
		r, err := runtime.New(plan, c)
		if err != nil {
			b.Fatal(err)
		}
		if err := r.Run(b.Context()); err != nil {
			b.Fatal(err)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(sink.late)
	for name, part := range map[string]float64{"p50-ms": 0.5, "p99-ms": 0.99, "max-ms": 1} {
		b.ReportMetric(float64(sink.late[int(part*float64(len(sink.late)-1))].Microseconds())/1000, name)
	}
	b.ReportMetric((userTime(b)-before).Seconds()/b.Elapsed().Seconds(), "cores")
}
