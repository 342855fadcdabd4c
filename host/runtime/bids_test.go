package runtime_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/stream"
)

// NEXMark's events, of which the columns that are used: 1 person, 3 auctions and
// 46 bids of each 50, 100,000 a second of event time, drawn by splitmix64 from the
// number of the event.

// event is an auction or a bid.
type event struct {
	key    int64 // the auction
	bidder int64 // of a bid: one of 10,000
	person int64 // of a bid: as NEXMark draws bidders, three of four the hot one
	price  int64 // of a bid
	at     int64 // ms
}

const (
	eventsPerMilli   = 100
	eventsPerEpoch   = 50
	auctionsPerEpoch = 3
	bidders          = 10_000
)

// random draws numbers: splitmix64.
type random uint64

func (r *random) below(n int64) int64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int64((z ^ z>>31) >> 33 * uint64(n) >> 31)
}

func bidAt(id int64) event {
	r := random(id)
	epoch := id / eventsPerEpoch
	last := epoch*auctionsPerEpoch + auctionsPerEpoch - 1
	e := event{at: id / eventsPerMilli, key: last / 100 * 100, person: epoch/100*100 + 1}
	if r.below(2) == 0 {
		first := max(last-100, 0)
		e.key = first + r.below(last-first+1)
	}
	if r.below(4) == 0 {
		first := max(epoch-1000, 0)
		e.person = first + r.below(epoch-first+10)
	}
	e.key, e.person, e.bidder = e.key+1000, e.person+1000, r.below(bidders)
	e.price = r.below(10_000_000)
	return e
}

func auctionAt(id int64) event {
	return event{at: id / eventsPerMilli, key: id/eventsPerEpoch*auctionsPerEpoch + id%eventsPerEpoch - 1 + 1000}
}

// eventKind is what a source delivers.
type eventKind int

const (
	bids eventKind = iota
	auctions
)

// each calls f with the events of a kind among those numbered from..to.
func (k eventKind) each(from, to int64, f func(event)) {
	for id := from; id < to; id++ {
		switch rem := id % eventsPerEpoch; {
		case k == bids && rem > auctionsPerEpoch:
			f(bidAt(id))
		case k == auctions && rem >= 1 && rem <= auctionsPerEpoch:
			f(auctionAt(id))
		}
	}
}

// eventSource makes the events numbered 0..end in the process. A chunk has those of
// 20 ms of event time, so that two sources of a job stay abreast.
type eventSource struct {
	kind    eventKind
	id, end int64
}

const chunkEvents = 20 * eventsPerMilli

func (s *eventSource) Open([]connector.SplitPosition) error   { return nil }
func (s *eventSource) Checkpointed([]connector.SplitPosition) {}
func (s *eventSource) Size() int64                            { return 0 }
func (s *eventSource) Close() error                           { return nil }

func (s *eventSource) Read(c *connector.Chunk) error {
	if s.id >= s.end {
		return io.EOF
	}
	to := min(s.id+chunkEvents, s.end)
	s.kind.each(s.id, to, func(e event) { s.put(c, e) })
	s.id = to
	return nil
}

func (s *eventSource) put(c *connector.Chunk, e event) {
	b := binary.LittleEndian.AppendUint64(c.Data, uint64(e.key))
	b = binary.LittleEndian.AppendUint64(b, uint64(e.bidder))
	b = binary.LittleEndian.AppendUint64(b, uint64(e.person))
	b = binary.LittleEndian.AppendUint64(b, uint64(e.price))
	c.Data = binary.LittleEndian.AppendUint64(b, uint64(e.at))
	c.Ends = append(c.Ends, uint32(len(c.Data)))
}

// eventDecoder reads those columns of an event that the job uses.
type eventDecoder struct{ offsets []int }

var eventColumns = map[string]int{"auction": 0, "bidder": 8, "person": 16, "price": 24, "at": 32}

func newEventDecoder(s *job.Source) (format.Decoder, error) {
	d := &eventDecoder{}
	for _, f := range s.Output.Fields() {
		d.offsets = append(d.offsets, eventColumns[f.Name])
	}
	return d, nil
}

func (d *eventDecoder) Decode(record []byte, w *stream.RowWriter) error {
	for i, offset := range d.offsets {
		w.SetInt64(i, int64(binary.LittleEndian.Uint64(record[offset:])))
	}
	return nil
}

// rowSum is the number of rows and a sum over them that does not depend on their
// order.
type rowSum struct {
	rows int64
	sum  uint64
}

func (s *rowSum) add(values ...int64) {
	h := uint64(14695981039346656037)
	for _, v := range values {
		h = (h ^ uint64(v)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	s.rows++
	s.sum += h
}

// summingEncoder adds rows up; it writes nothing.
type summingEncoder struct {
	columns []stream.Column
	values  []int64
	*rowSum
}

func newSummingEncoder(s *stream.Schema, to *rowSum) *summingEncoder {
	e := &summingEncoder{rowSum: to}
	for i := range s.Len() {
		e.columns = append(e.columns, s.Column(i))
	}
	return e
}

func (e *summingEncoder) Append(dst []byte, r stream.Row) []byte {
	e.values = e.values[:0]
	for i := range e.columns {
		e.values = append(e.values, e.columns[i].Int64(r))
	}
	e.add(e.values...)
	return dst
}

// bidsJob is a job over bids with what it is to put out for the events 0..end.
type bidsJob struct {
	name   string
	text   string
	events int64
	guest  bool // it can be had with the count as a Wasm function
	want   func(end int64) rowSum
}

const bidsSource = `  bids:
    file: {path: bids, format: json}
    schema: {auction: BIGINT, bidder: BIGINT, person: BIGINT, price: BIGINT, at: TIMESTAMP(3)}
    event-time: at
    watermark: {max-out-of-orderness: 4s, emit: on-event}
`

func countText(key, window string) string {
	return "version: 1\nname: bids\nsources:\n" + bidsSource + fmt.Sprintf(`steps:
  result: {from: bids, key-by: [%s], window: {%s}, aggregate: {n: count}}
sinks:
  out: {from: result, file: {path: out, format: json}}
`, key, window)
}

var bidsJobs = []bidsJob{
	{"tumbling", countText("bidder", "tumbling: {size: 10s}"), 4_000_000, true, func(end int64) rowSum {
		return wantWindows(end, 10_000, 10_000, func(e event) int64 { return e.bidder })
	}},
	{"hopping", countText("auction", "sliding: {size: 10s, slide: 2s}"), 4_000_000, true, func(end int64) rowSum {
		return wantWindows(end, 10_000, 2_000, func(e event) int64 { return e.key })
	}},
	{"hopping-bidder", countText("bidder", "sliding: {size: 10s, slide: 2s}"), 4_000_000, true, func(end int64) rowSum {
		return wantWindows(end, 10_000, 2_000, func(e event) int64 { return e.bidder })
	}},
	{"session", countText("person", "session: {gap: 10s}"), 4_000_000, true, func(end int64) rowSum {
		return wantSessions(end, 10_000, func(e event) int64 { return e.person })
	}},
	{"interval", `version: 1
name: bids
sources:
  auctions:
    file: {path: auctions, format: json}
    schema: {auction: BIGINT, at: TIMESTAMP(3)}
    event-time: at
    watermark: {max-out-of-orderness: 4s, emit: on-event}
` + bidsSource + `steps:
  result:
    interval-join: {left: auctions, right: bids, left-key: [auction], right-key: [auction], lower: -10s, upper: 10s}
sinks:
  out: {from: result, file: {path: out, format: json}}
`, 2_000_000, false, wantInterval},
}

// wantWindows counts by key and window in a plain map.
func wantWindows(end, size, slide int64, key func(event) int64) (s rowSum) {
	counts := map[[2]int64]int64{}
	bids.each(0, end, func(e event) {
		for start := e.at - e.at%slide; start > e.at-size; start -= slide {
			counts[[2]int64{key(e), start}]++
		}
	})
	for at, n := range maps.All(counts) {
		s.add(at[0], n, at[1], at[1]+size)
	}
	return s
}

// wantSessions relies on the events' order.
func wantSessions(end, gap int64, key func(event) int64) (s rowSum) {
	type session struct{ start, end, n int64 }
	open := map[int64]session{}
	bids.each(0, end, func(e event) {
		o, ok := open[key(e)]
		if ok && e.at > o.end {
			s.add(key(e), o.n, o.start, o.end)
			ok = false
		}
		if !ok {
			o = session{start: e.at}
		}
		o.n++
		o.end = e.at + gap
		open[key(e)] = o
	})
	for key, o := range maps.All(open) {
		s.add(key, o.n, o.start, o.end)
	}
	return s
}

// wantInterval: auctions are opened once.
func wantInterval(end int64) (s rowSum) {
	opened := map[int64]int64{}
	auctions.each(0, end, func(e event) { opened[e.key] = e.at })
	bids.each(0, end, func(e event) {
		if at, ok := opened[e.key]; ok && e.at >= at-10_000 && e.at <= at+10_000 {
			s.add(e.key, at, e.key, e.bidder, e.person, e.price, e.at)
		}
	})
	return s
}

// bidsPlan parses a job, with a guest's count or the built-in one.
func bidsPlan(t testing.TB, j *bidsJob, guest bool) *job.Job {
	t.Helper()
	text := j.text
	if guest {
		text = strings.Replace(text, "sources:", "modules: {bids: {file: count-c.wasm}}\nsources:", 1)
		text = strings.Replace(text, "{n: count}", "{wasm: bids.count}", 1)
	}
	return parsePlan(t, text, "../../testdata/wasm")
}

// runBids runs a job over the events 0..end and holds its result against the plain
// one. It returns how many events there were.
func runBids(t testing.TB, j *bidsJob, plan *job.Job, end int64, want rowSum) int64 {
	t.Helper()
	return runSummed(t, j.name, plan, want, func(s *job.Source) connector.Source {
		if s.Name == "auctions" {
			return &eventSource{kind: auctions, end: end}
		}
		return &eventSource{kind: bids, end: end}
	})
}

// runSummed runs a job over events, holds the sum of its rows against what it is to be,
// and returns how many events there were.
func runSummed(t testing.TB, name string, plan *job.Job, want rowSum, source func(*job.Source) connector.Source) int64 {
	t.Helper()
	var got rowSum
	c := config(t, nil)
	c.Source = func(s *job.Source) (connector.Source, error) { return source(s), nil }
	c.Decoder = newEventDecoder
	c.Sink = func(*job.Sink) (connector.Sink, error) { return discard{}, nil }
	c.Encoder = func(s *job.Sink) (format.Encoder, error) { return newSummingEncoder(s.Input, &got), nil }
	r, err := runtime.New(plan, c)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Fatalf("%s: the rows are %+v, want %+v", name, got, want)
	}
	return r.Progress().Records
}

// eachBidsJob calls f for each job, with each kind of count.
func eachBidsJob(f func(name string, j *bidsJob, guest bool)) {
	for i := range bidsJobs {
		j := &bidsJobs[i]
		f(j.name+"/built-in", j, false)
		if j.guest {
			f(j.name+"/c", j, true)
		}
	}
}

// TestBids: what the benchmarks run is right.
func TestBids(t *testing.T) {
	events := few(300_000)
	eachBidsJob(func(name string, j *bidsJob, guest bool) {
		t.Run(name, func(t *testing.T) {
			want := j.want(events)
			for parallelism := range 2 {
				plan := bidsPlan(t, j, guest)
				plan.Parallelism = 1 + parallelism
				runBids(t, j, plan, events, want)
			}
		})
	})
}

// few is fewer events where a test is to be short, as under the race detector: enough for
// every task, and a hundred batches between them.
func few(events int64) int64 {
	if testing.Short() {
		return events / 10
	}
	return events
}

// BenchmarkBids runs the jobs on one core with GOMAXPROCS=1. The figures are
// records a second, and a second of user time, which a busy machine changes less.
func BenchmarkBids(b *testing.B) {
	eachBidsJob(func(name string, j *bidsJob, guest bool) {
		b.Run(name, func(b *testing.B) {
			plan, want, records := bidsPlan(b, j, guest), j.want(j.events), int64(0)
			before := userTime(b)
			for b.Loop() {
				records += runBids(b, j, plan, j.events, want)
			}
			b.ReportMetric(float64(records)/b.Elapsed().Seconds(), "records/s")
			b.ReportMetric(float64(records)/(userTime(b)-before).Seconds(), "records/user-s")
		})
	})
}

func userTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano())
}
