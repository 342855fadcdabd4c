package runtime_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/wasmstream/wasmstream/host/job"
)

// windowStatesJob has functions of windows in C with lists, maps and values of a key and
// of a window, where windows merge, too.
const windowStatesJob = `
version: 1
name: crash
parallelism: 2
modules: {m: {file: keeps-c.wasm}}
sources:
  a: &source
    file: {path: in, format: json}
    schema: {k: STRING, v: BIGINT, t: TIMESTAMP(3)}
    event-time: t
    watermark: {max-out-of-orderness: 200ms, emit: on-event}
  b: *source
steps:
  recalled: {from: [a, b], key-by: [k], window: {tumbling: {size: 100ms}}, apply: {wasm: m.recall}}
  sessions:
    from: [a, b]
    key-by: [k]
    window: {session: {gap: 60ms}, trigger: {wasm: m.distinct, with: {size: 1000000}}}
    aggregate: {n: count, v: sum(v)}
sinks:
  recalled: {from: recalled, file: {path: recalled, format: json}}
  sessions: {from: sessions, file: {path: sessions, format: json}}
`

// windowStatesWant computes what the job is to put out from all records at once. A
// window has fired once, in the order of windows; a trigger that counts to a million
// fires each session at its end, if its list still has what came.
func windowStatesWant() map[string][]string {
	sums := map[string]map[int64]int64{}
	for _, source := range []string{"a", "b"} {
		for i := range int64(crashPerSource) {
			r := crashRecordAt(source, i)
			if sums[r.key] == nil {
				sums[r.key] = map[int64]int64{}
			}
			sums[r.key][r.t/100*100] += r.v
		}
	}
	var recalled []string
	for _, windows := range sums {
		var starts []int64
		for start := range windows {
			starts = append(starts, start)
		}
		slices.Sort(starts)
		total := int64(0)
		for i, start := range starts {
			total += windows[start]
			recalled = append(recalled, fmt.Sprintf("{\"start\":%d,\"sum\":%d,\"before\":0,\"fired\":0,\"windows\":%d,\"total\":%d,\"listed\":%d}\n",
				start, windows[start], i+1, total, total))
		}
	}
	slices.Sort(recalled)
	return map[string][]string{"recalled": recalled, "sessions": crashWant()["sessions"]}
}

// TestWindowStatesCrashes ends a job three times anywhere, goes on with another
// parallelism each time, and has it end: no state is lost, and none there twice.
func TestWindowStatesCrashes(t *testing.T) {
	want, resumed := windowStatesWant(), 0
	for seed := range uint64(20) {
		w, r := newWorld(seed), rand.New(rand.NewPCG(seed, 6))
		last := w.crashThrice(t, r, 900, func() *job.Job { return spread(t, r, windowStatesJob) })
		checkKept(t, last, want["recalled"])
		if w.check(t, want); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		resumed += w.merged
	}
	if t.Logf("%d lives went on from merged files", resumed); resumed < 20 {
		t.Errorf("only %d lives went on from merged files", resumed)
	}
}

// checkKept: when all windows are over, states of keys are all that is left: an entry
// for each key, and for each of its windows an element of a list and one of a map.
func checkKept(t *testing.T, l *life, recalled []string) {
	t.Helper()
	if l.job == nil {
		return // the life before had come to the end
	}
	want := map[string]int{"recalled": crashKeys + 2*len(recalled), "sessions": 0}
	got := map[string]int{}
	for _, task := range l.job.Metrics().Tasks {
		if task.State != nil {
			got[task.Name] += task.State.Entries
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("at the end there are entries %v, want %v", got, want)
	}
}
