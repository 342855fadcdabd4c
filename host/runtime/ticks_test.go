package runtime_test

import (
	"math"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/job"
)

// ticksText is a job whose process function has a value state and sets a timer for each
// record. Its result does not depend on when watermarks come.
func ticksText(watermark string) string {
	return "version: 1\nname: ticks\nmodules: {p: {file: process-c.wasm}}\nsources:\n" +
		strings.Replace(bidsSource, "max-out-of-orderness: 4s, emit: on-event", watermark, 1) + `steps:
  result: {from: bids, key-by: [bidder], process: {wasm: p.tick}}
sinks:
  out: {from: result, file: {path: out, format: json}}
`
}

// wantTicks counts records and times by key in plain maps.
func wantTicks(end int64) (s rowSum) {
	records, times := map[int64]int64{}, map[int64]map[int64]bool{}
	bids.each(0, end, func(e event) {
		records[e.bidder]++
		if times[e.bidder] == nil {
			times[e.bidder] = map[int64]bool{}
		}
		times[e.bidder][e.at] = true
	})
	for key, n := range records {
		s.add(key, n, int64(len(times[key])))
	}
	return s
}

// idleText is Flink's count with a timeout, whose result depends on watermarks: they
// follow each record.
const idleText = "version: 1\nname: idle\nmodules: {p: {file: process-c.wasm}}\nsources:\n" + bidsSource + `steps:
  result: {from: bids, key-by: [bidder], process: {wasm: p.idle, with: {gap: 200}}}
sinks:
  out: {from: result, file: {path: out, format: json}}
`

// wantIdle goes through the records in order, with the watermark behind each.
func wantIdle(end int64) (s rowSum) {
	const gap, delay = 200, 4000
	type state struct {
		n, last int64
		timers  map[int64]bool
	}
	keys := map[int64]*state{}
	due := map[int64][]int64{} // keys by the time of a timer
	fire := func(t int64) {
		for _, k := range due[t] {
			if o := keys[k]; o.timers[t] {
				delete(o.timers, t)
				if o.n > 0 && o.last+gap == t {
					s.add(k, o.n)
					o.n = 0
				}
			}
		}
		delete(due, t)
	}
	watermark, greatest := int64(math.MinInt64), int64(0)
	bids.each(0, end, func(e event) {
		o := keys[e.bidder]
		if o == nil {
			o = &state{timers: map[int64]bool{}}
			keys[e.bidder] = o
		}
		o.n++
		o.last = e.at
		o.timers[e.at+gap] = true
		due[e.at+gap] = append(due[e.at+gap], e.bidder)
		greatest = max(greatest, e.at)
		for t := max(watermark+1, 0); t <= greatest-delay-1; t++ {
			fire(t)
		}
		watermark = greatest - delay - 1
	})
	for t := max(watermark+1, 0); len(due) > 0; t++ {
		fire(t)
	}
	return s
}

func processJobs() (jobs []bidsJob) {
	for _, language := range guestLanguages {
		of := func(text string) string { return strings.Replace(text, "process-c", "process-"+language, 1) }
		jobs = append(jobs,
			bidsJob{"ticks/on-event/" + language, of(ticksText("max-out-of-orderness: 4s, emit: on-event")), 1_000_000, false, wantTicks},
			bidsJob{"ticks/periodic/" + language, of(ticksText("max-out-of-orderness: 0s")), 2_000_000, false, wantTicks},
			bidsJob{"idle/" + language, of(idleText), 1_000_000, false, wantIdle})
	}
	return jobs
}

// TestProcessJobs: what the benchmarks run is right.
func TestProcessJobs(t *testing.T) {
	for _, j := range processJobs() {
		t.Run(j.name, func(t *testing.T) {
			events := few(300_000)
			want := j.want(events)
			for parallelism := range 2 {
				plan := processPlan(t, &j)
				plan.Parallelism = 1 + parallelism
				runBids(t, &j, plan, events, want)
			}
		})
	}
}

func processPlan(t testing.TB, j *bidsJob) *job.Job {
	t.Helper()
	return parsePlan(t, j.text, "../../testdata/wasm")
}

// BenchmarkProcess runs the jobs on one core with GOMAXPROCS=1, as BenchmarkBids does.
func BenchmarkProcess(b *testing.B) {
	for _, j := range processJobs() {
		b.Run(j.name, func(b *testing.B) {
			b.ReportAllocs()
			plan, want, records := processPlan(b, &j), j.want(j.events), int64(0)
			before := userTime(b)
			for b.Loop() {
				records += runBids(b, &j, plan, j.events, want)
			}
			b.ReportMetric(float64(records)/b.Elapsed().Seconds(), "records/s")
			b.ReportMetric(float64(records)/(userTime(b)-before).Seconds(), "records/user-s")
			b.ReportMetric(0, "ns/op")
		})
	}
}
