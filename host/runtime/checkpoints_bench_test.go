package runtime_test

import (
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/checkpoint/folder"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
)

// What checkpoints cost. All benchmarks here write to a folder on the disk that
// TMPDIR is on. With -short they only show that they work.

// keyCount is how many keys the sums are of.
const keyCount = 1_000_000

// saleAt is event id of the keyed sums: a key drawn evenly, and a price.
func saleAt(id int64) event {
	r := random(id)
	return event{key: r.below(keyCount), price: r.below(1000)}
}

// saleSource makes the sales numbered 0..end in the process.
type saleSource struct{ eventSource }

func (s *saleSource) Read(c *connector.Chunk) error {
	if s.id >= s.end {
		return io.EOF
	}
	for to := min(s.id+chunkEvents, s.end); s.id < to; s.id++ {
		s.put(c, saleAt(s.id))
	}
	return nil
}

// sumText is Flink's keyBy().sum(): each key's sum so far, put out with every n-th
// record of the key.
func sumText(n int) string {
	return fmt.Sprintf(`version: 1
name: sums
sources:
  sales:
    file: {path: sales, format: json}
    schema: {auction: BIGINT, price: BIGINT}
steps:
  result: {from: sales, key-by: [auction], window: {global: {}, trigger: {count: %d}}, aggregate: {total: sum(price)}}
sinks:
  out: {from: result, file: {path: out, format: json}}
`, n)
}

// wantSums keeps each key's sum in a plain list.
func wantSums(end, n int64) (s rowSum) {
	var sums, counts [keyCount]int64
	for id := range end {
		e := saleAt(id)
		sums[e.key] += e.price
		if counts[e.key]++; counts[e.key]%n == 0 {
			s.add(e.key, sums[e.key])
		}
	}
	return s
}

// checkpointsJob is a job that is run with checkpoints and without.
type checkpointsJob struct {
	name   string
	text   string
	source func(end int64) connector.Source
	events int64 // enough for some 8 s
	want   func(end int64) rowSum
}

var checkpointsJobs = []checkpointsJob{
	{"tumbling", bidsJobs[0].text, bidsTo, 60_000_000, bidsJobs[0].want},
	{"sum", sumText(1), salesTo, 20_000_000, func(end int64) rowSum { return wantSums(end, 1) }},
	{"sum-seldom", sumText(16), salesTo, 25_000_000, func(end int64) rowSum { return wantSums(end, 16) }},
}

func bidsTo(end int64) connector.Source  { return &eventSource{kind: bids, end: end} }
func salesTo(end int64) connector.Source { return &saleSource{eventSource{end: end}} }

// onDisk has checkpoints taken every so often, into a folder of the disk.
func onDisk(t testing.TB, dir string, every time.Duration, reached func(runtime.Point)) *runtime.Checkpoints {
	t.Helper()
	store, err := folder.Open(folder.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() }) // a second time, if the test did
	recovery, err := checkpoint.Recover(store)
	if err != nil {
		t.Fatal(err)
	}
	return &runtime.Checkpoints{Store: store, Recovery: recovery, Schedule: checkpoint.ScheduleOptions{Interval: every}, Reached: reached}
}

// eventConfig is a config for events; what the job puts out goes through encode.
func eventConfig(t testing.TB, src connector.Source, encode func(*job.Sink) (format.Encoder, error)) runtime.Config {
	c := config(t, nil)
	c.Source = func(*job.Source) (connector.Source, error) { return src, nil }
	c.Decoder = newEventDecoder
	c.Sink = func(*job.Sink) (connector.Sink, error) { return discard{}, nil }
	c.Encoder = encode
	return c
}

// taken is what a run took.
type taken struct{ wall, user time.Duration }

// run runs the job over so many events, and holds what it puts out against want. It
// returns how many checkpoints there were, which are taken once a second.
func (j *checkpointsJob) run(t testing.TB, checkpoints bool, events int64, want rowSum) (taken, int64) {
	t.Helper()
	var got rowSum
	c := eventConfig(t, j.source(events), func(s *job.Sink) (format.Encoder, error) { return newSummingEncoder(s.Input, &got), nil })
	var made atomic.Int64
	if checkpoints {
		c.Checkpoints = onDisk(t, t.TempDir(), time.Second, func(p runtime.Point) {
			if p == runtime.NoteAfter {
				made.Add(1)
			}
		})
		defer func() { _ = c.Checkpoints.Store.Close() }()
	}
	r, err := runtime.New(parsePlan(t, j.text, t.TempDir()), c)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	began, user := time.Now(), userTime(t)
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	took := taken{time.Since(began), userTime(t) - user}
	if got != want {
		t.Fatalf("%s: the rows are %+v, want %+v", j.name, got, want)
	}
	return took, made.Load()
}

// TestCheckpointsJobs: what the benchmarks run is right.
func TestCheckpointsJobs(t *testing.T) {
	const events = 100_000
	for _, j := range checkpointsJobs {
		for _, with := range []bool{false, true} {
			if _, made := j.run(t, with, events, j.want(events)); with && made == 0 {
				t.Errorf("%s: there was no checkpoint", j.name)
			}
		}
	}
}

// checkpointsLeast is how many checkpoints a run is to have that says what they cost.
const checkpointsLeast = 5

// BenchmarkCheckpoints runs each job with checkpoints every second and without, in
// turn, and tells the median of the ratios of what they manage in a second; user time
// is told too, which others on the machine change less.
func BenchmarkCheckpoints(b *testing.B) {
	for _, j := range checkpointsJobs {
		b.Run(j.name, func(b *testing.B) {
			events, pairs, least := j.events, 5, int64(checkpointsLeast)
			if testing.Short() {
				events, pairs, least = events/4, 1, 1
			}
			want := j.want(events)
			var walls, users, rates, userRates, often []float64
			for b.Loop() {
				for i := range pairs {
					var without, with taken
					var made int64
					for turn := range 2 {
						if turn == i%2 { // who comes second finds what the first has left
							without, _ = j.run(b, false, events, want)
							continue
						}
						if with, made = j.run(b, true, events, want); made < least {
							b.Errorf("%s: %d checkpoints in %v, want at least %d", j.name, made, with.wall, least)
						}
					}
					often = append(often, float64(made)/with.wall.Seconds())
					walls = append(walls, without.wall.Seconds()/with.wall.Seconds())
					users = append(users, without.user.Seconds()/with.user.Seconds())
					rates = append(rates, float64(events)/without.wall.Seconds())
					userRates = append(userRates, float64(events)/without.user.Seconds())
				}
			}
			b.ReportMetric(middle(walls), "with/without")
			b.ReportMetric(slices.Min(walls), "with/without-least")
			b.ReportMetric(middle(users), "with/without-user")
			b.ReportMetric(middle(often), "checkpoints/s")
			b.ReportMetric(middle(rates), "events/s-without")
			b.ReportMetric(middle(userRates), "events/user-s-without")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
