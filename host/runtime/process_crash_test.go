package runtime_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/wasmstream/wasmstream/host/job"
)

// processCrashJob has process functions in C with states of all kinds and timers.
const processCrashJob = `
version: 1
name: crash
parallelism: 2
modules: {p: {file: process-c.wasm}}
sources:
  a: &source
    file: {path: in, format: json}
    schema: {k: STRING, v: BIGINT, t: TIMESTAMP(3)}
    event-time: t
    watermark: {max-out-of-orderness: 200ms, emit: on-event}
  b: *source
steps:
  ledger: {from: [a, b], key-by: [k], process: {wasm: p.ledger}}
  rates: {from: a, key-by: [k], broadcast-process: {broadcast: b, function: {wasm: p.rates}}}
sinks:
  out: {from: [ledger, rates], file: {path: out, format: json}}
`

// processCrashWant computes what the job is to put out from all records at once.
func processCrashWant() map[string][]string {
	type sums struct {
		total, all, ofA, ofB int64
		times                map[int64]bool
		counts               map[int64]int64
	}
	keys := map[string]*sums{}
	for _, source := range []string{"a", "b"} {
		for i := range int64(crashPerSource) {
			r := crashRecordAt(source, i)
			k := keys[r.key]
			if k == nil {
				k = &sums{times: map[int64]bool{}, counts: map[int64]int64{}}
				keys[r.key] = k
			}
			k.total += r.v
			k.all++
			k.times[r.v%7] = true
			k.counts[r.v%8]++
			if source == "a" {
				k.ofA++
			} else {
				k.ofB += r.v
			}
		}
	}
	var want []string
	for key, k := range keys {
		put := func(what, at, n int64) {
			want = append(want, fmt.Sprintf("{\"k\":%q,\"what\":%d,\"at\":%d,\"n\":%d}\n", key, what, at, n))
		}
		put(0, int64(len(k.times)), k.total)
		for at, n := range k.counts {
			put(1, at, n)
		}
		put(2, k.all, k.total)
		if k.ofA > 0 {
			put(3, k.ofA, k.ofB)
		}
	}
	slices.Sort(want)
	return map[string][]string{"out": want}
}

// TestProcessCrashes ends a job of process functions three times anywhere, goes on with
// another parallelism each time, and has it end: nothing is lost, and nothing there
// twice.
func TestProcessCrashes(t *testing.T) {
	want, resumed := processCrashWant(), 0
	for seed := range uint64(30) {
		w, r := newWorld(seed), rand.New(rand.NewPCG(seed, 5))
		w.crashThrice(t, r, 900, func() *job.Job { return spread(t, r, processCrashJob) })
		if w.check(t, want); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		resumed += w.merged
	}
	if t.Logf("%d lives went on from merged files", resumed); resumed < 30 {
		t.Errorf("only %d lives went on from merged files", resumed)
	}
}
