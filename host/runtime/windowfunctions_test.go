package runtime_test

import (
	"slices"
	"strings"
	"testing"
)

// functionPart is a window over bids: of built-in parts, or with functions of guests.
type functionPart struct {
	name, job, window string
	builtIn           string                 // the part that does the same without functions; "": it has none
	want              func(end int64) rowSum // nil: the job's
}

var functionParts = []functionPart{
	{"tumbling", "tumbling", "tumbling: {size: 10s}, allowed-lateness: 1ms", "", nil}, // without it, what repeats is not asked
	{"tumbling/assigner", "tumbling", "wasm: roles.tumbling, with: {size: 10000}", "tumbling", nil},
	{"tumbling/trigger", "tumbling", "tumbling: {size: 10s}, trigger: {wasm: windows.at-end}", "tumbling", nil},
	{"tumbling/both", "tumbling", "wasm: roles.tumbling, with: {size: 10000}, trigger: {wasm: windows.at-end}", "tumbling", nil},
	{"count", "tumbling", "tumbling: {size: 10s}, trigger: {count: 10}", "", wantTenths},
	{"count/trigger", "tumbling", "tumbling: {size: 10s}, trigger: {wasm: windows.counted, with: {size: 10}}", "count", wantTenths},
	{"session", "session", "session: {gap: 10s}", "", nil},
	{"session/assigner", "session", "wasm: roles.gap, with: {size: 10000}", "session", nil},
	{"session/trigger", "session", "session: {gap: 10s}, trigger: {wasm: windows.at-end}", "session", nil},
	{"session/both", "session", "wasm: roles.gap, with: {size: 10000}, trigger: {wasm: windows.at-end}", "session", nil},
}

// guestLanguages are those of the guests that the jobs with functions have.
var guestLanguages = []string{"c", "rust", "go"}

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

// bidsJob is the job with guests of a language.
func (p *functionPart) bidsJob(language string) *bidsJob {
	j := &bidsJob{name: p.name, events: 4_000_000, want: p.want}
	for i := range bidsJobs {
		if b := &bidsJobs[i]; b.name == p.job && j.want == nil {
			j.want = b.want
		}
	}
	key := "bidder"
	if p.job == "session" {
		key = "person"
	}
	j.text = strings.Replace(countText(key, p.window), "sources:",
		"modules: {roles: {file: roles-LANGUAGE.wasm}, windows: {file: windows-LANGUAGE.wasm}}\nsources:", 1)
	j.text = strings.ReplaceAll(j.text, "LANGUAGE", language)
	return j
}

// eachFunctionPart calls f with each job that has functions, in each language, and the one without that does the same.
func eachFunctionPart(f func(name string, builtIn, function *bidsJob)) {
	builtIn := map[string]*bidsJob{}
	for i := range functionParts {
		p := &functionParts[i]
		if p.builtIn == "" {
			builtIn[p.name] = p.bidsJob("c")
			continue
		}
		for _, language := range guestLanguages {
			f(p.name+"/"+language, builtIn[p.builtIn], p.bidsJob(language))
		}
	}
}

// TestFunctionParts: what the benchmarks run is right.
func TestFunctionParts(t *testing.T) {
	const events = 120_000
	eachFunctionPart(func(name string, builtIn, function *bidsJob) {
		t.Run(name, func(t *testing.T) {
			runBids(t, function, bidsPlan(t, function, false), events, builtIn.want(events))
		})
	})
}

// BenchmarkFunctionParts measures as BenchmarkBids does: each job with functions and the
// one with built-in parts that does the same, in turn, and the median of the ratios.
func BenchmarkFunctionParts(b *testing.B) {
	eachFunctionPart(func(name string, builtIn, function *bidsJob) {
		b.Run(name, func(b *testing.B) { benchmarkPart(b, builtIn, function) })
	})
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
	b.ReportMetric(took[1][0]/took[0][0], "times-built-in-least")
}
