package runtime_test

import (
	"strings"
	"testing"
)

// functionParts are windows over bids with built-in parts, and with functions of guests
// in C that do the same.
var functionParts = []struct {
	name, job, window string
	want              func(end int64) rowSum // nil: the job's
}{
	{"built-in", "tumbling", "tumbling: {size: 10s}, allowed-lateness: 1ms", nil}, // without it, what repeats is not asked
	{"assigner", "tumbling", "wasm: roles.tumbling, with: {size: 10000}", nil},
	{"trigger", "tumbling", "tumbling: {size: 10s}, trigger: {wasm: windows.at-end}", nil},
	{"assigner and trigger", "tumbling", "wasm: roles.tumbling, with: {size: 10000}, trigger: {wasm: windows.at-end}", nil},
	{"count", "tumbling", "tumbling: {size: 10s}, trigger: {count: 10}", wantTenths},
	{"count as function", "tumbling", "tumbling: {size: 10s}, trigger: {wasm: windows.counted, with: {size: 10}}", wantTenths},
	{"built-in", "session", "session: {gap: 10s}", nil},
	{"assigner", "session", "wasm: roles.gap, with: {size: 10000}", nil},
	{"trigger", "session", "session: {gap: 10s}, trigger: {wasm: windows.at-end}", nil},
	{"assigner and trigger", "session", "wasm: roles.gap, with: {size: 10000}, trigger: {wasm: windows.at-end}", nil},
}

// wantTenths are the firings of a trigger at every tenth record.
func wantTenths(end int64) (s rowSum) {
	counts := map[[2]int64]int64{}
	bids.each(0, end, func(e event) {
		at := [2]int64{e.bidder, e.at - e.at%10_000}
		if counts[at]++; counts[at]%10 == 0 {
			s.add(e.bidder, counts[at], at[1], at[1]+10_000)
		}
	})
	return s
}

// eachFunctionPart calls f with the jobs over bids that have them.
func eachFunctionPart(f func(name string, j *bidsJob)) {
	for _, p := range functionParts {
		j := bidsJob{name: p.job + "/" + p.name, events: 4_000_000, want: p.want}
		key := "bidder"
		for i := range bidsJobs {
			if b := &bidsJobs[i]; b.name == p.job && j.want == nil {
				j.want = b.want
			}
		}
		if p.job == "session" {
			key = "person"
		}
		j.text = strings.Replace(countText(key, p.window), "sources:",
			"modules: {roles: {file: roles-c.wasm}, windows: {file: windows-c.wasm}}\nsources:", 1)
		f(j.name, &j)
	}
}

// TestFunctionParts: what the benchmarks run is right.
func TestFunctionParts(t *testing.T) {
	const events = 300_000
	eachFunctionPart(func(name string, j *bidsJob) {
		t.Run(name, func(t *testing.T) {
			runBids(t, j, bidsPlan(t, j, false), events, j.want(events))
		})
	})
}

// BenchmarkFunctionParts measures as BenchmarkBids does.
func BenchmarkFunctionParts(b *testing.B) {
	eachFunctionPart(func(name string, j *bidsJob) {
		b.Run(name, func(b *testing.B) {
			plan, want, records := bidsPlan(b, j, false), j.want(j.events), int64(0)
			before := userTime(b)
			for b.Loop() {
				records += runBids(b, j, plan, j.events, want)
			}
			b.ReportMetric(float64(records)/b.Elapsed().Seconds(), "records/s")
			b.ReportMetric(float64(records)/(userTime(b)-before).Seconds(), "records/user-s")
		})
	})
}
