package runtime_test

import (
	"slices"
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

// builtInOf is the job without functions that one of them is held against.
func builtInOf(name string) string {
	if strings.HasSuffix(name, " as function") {
		return strings.TrimSuffix(name, " as function")
	}
	return name[:strings.Index(name, "/")] + "/built-in"
}

// BenchmarkFunctionParts measures as BenchmarkBids does: each job with functions and the
// one with built-in parts that does the same, in turn, and the median of the ratios.
func BenchmarkFunctionParts(b *testing.B) {
	jobs, names := map[string]*bidsJob{}, []string(nil)
	eachFunctionPart(func(name string, j *bidsJob) {
		jobs[name], names = j, append(names, name)
	})
	for _, name := range names {
		if builtIn := builtInOf(name); builtIn != name && strings.TrimSuffix(name, "/count") == name {
			b.Run(name, func(b *testing.B) { benchmarkPart(b, jobs[builtIn], jobs[name]) })
		}
	}
}

func benchmarkPart(b *testing.B, builtIn, function *bidsJob) {
	run := func(j *bidsJob) func() float64 {
		plan, want := bidsPlan(b, j, false), j.want(j.events)
		return func() float64 {
			before := userTime(b)
			records := runBids(b, j, plan, j.events, want)
			return float64(userTime(b)-before) / float64(records)
		}
	}
	runs := [2]func() float64{run(builtIn), run(function)}
	var took [2][]float64
	var ratios []float64
	for n := 0; b.Loop(); n++ {
		var ns [2]float64
		for _, i := range [2]int{n % 2, 1 - n%2} {
			ns[i] = runs[i]()
			took[i] = append(took[i], ns[i])
		}
		ratios = append(ratios, ns[1]/ns[0])
	}
	slices.Sort(ratios)
	slices.Sort(took[0])
	slices.Sort(took[1])
	b.ReportMetric(took[0][len(ratios)/2], "built-in-ns/record")
	b.ReportMetric(took[1][len(ratios)/2], "function-ns/record")
	b.ReportMetric(ratios[len(ratios)/2], "times-built-in")
}
