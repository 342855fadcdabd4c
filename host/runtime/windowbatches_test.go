package runtime_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const batchesJob = `
version: 1
name: batches
modules: {p: {file: picky-c.wasm}}
sources:
  in: {file: {path: in, format: json}, schema: {k: INT, n: BIGINT, t: TIMESTAMP(3)}, event-time: t, watermark: {max-out-of-orderness: 5ms, emit: on-event}}
steps:
  s: {from: in, key-by: [k], window: {WINDOW}, FUNCTION, on-fault: dead-letter, fault-rate: 1}
sinks:
  out: {from: s, file: {path: e, format: json}}
  failed: {from: s.failed, file: {path: f, format: json}}
`

// What the windows of that job may be made of. Of the functions, strict fails on lists of
// which no single record is to blame, and newest with the size 0 on all.
var (
	batchesAssigners = []string{"tumbling: {size: 10ms}", "sliding: {size: 20ms, slide: 10ms}", "session: {gap: 6ms}", "wasm: p.both", "global: {}"}
	batchesTriggers  = []string{
		"", ", trigger: {wasm: p.at-end}", ", trigger: {purging: {wasm: p.at-end}}", ", trigger: {wasm: p.counted, with: {size: 2}}", ", trigger: {purging: {wasm: p.counted, with: {size: 3}}}",
		", trigger: {count: 2}", ", trigger: {purging: {count: 2}}", ", trigger: {continuous-event-time: 3ms}",
	}
	batchesEvictors = []string{
		"", ", evictor: {count: 2}", ", evictor: {count: 1, when: after}", ", evictor: {wasm: p.newest, with: {size: 2}}", ", evictor: {wasm: p.newest, with: {size: 2}, when: after}",
		", evictor: {wasm: p.newest, with: {size: 0}}",
	}
	batchesLateness  = []string{"", ", allowed-lateness: 3ms", ", allowed-lateness: 15ms"}
	batchesFunctions = []string{"aggregate: {wasm: p.sum}", "apply: {wasm: p.strict}", "apply: {wasm: p.strict}", "apply: {wasm: p.listed}"}
)

// TestBatchesDoNotMatter: what a windowed step puts out, and what its functions fail on, is
// the same however many records come together, so a run that goes on from a checkpoint
// puts out what the one before would have.
func TestBatchesDoNotMatter(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 78))
		pick := func(of []string) string { return of[random.IntN(len(of))] }
		assigner, trigger := pick(batchesAssigners), pick(batchesTriggers)
		lateness := pick(batchesLateness)
		if strings.HasPrefix(assigner, "global") {
			trigger, lateness = pick(batchesTriggers[3:7]), ""
		}
		window, function := assigner+trigger+pick(batchesEvictors)+lateness, pick(batchesFunctions)
		text, at := strings.NewReplacer("WINDOW", window, "FUNCTION", function).Replace(batchesJob), 0
		var lines []string
		for range 80 {
			at += random.IntN(4)
			n := []int{1, 13, 60, 14, 60, 3, 60, 60}[random.IntN(8)]
			lines = append(lines, fmt.Sprintf(`{"k":%d,"n":%d,"t":"1970-01-01T00:00:00.%03d"}`, random.IntN(3), n, max(0, at-random.IntN(12))))
		}
		want := runBatches(t, text, lines, 1)
		for _, batch := range []int{7, 1000} {
			if d := cmp.Diff(want, runBatches(t, text, lines, batch)); d != "" {
				t.Errorf("seed %d, %s, %s: batches of 1 and %d (-one +many):\n%s", seed, window, function, batch, d)
			}
		}
	}
}

// runBatches returns what a job puts out, sorted; of dead letters all but what a call took.
func runBatches(t *testing.T, text string, lines []string, batch int) (all []string) {
	for name, sink := range runLetters(t, text, lines, false, batch) {
		for _, quoted := range sink.all {
			row, err := strconv.Unquote(quoted)
			must(t, err)
			row, _, _ = strings.Cut(row, `,"fuel"`)
			all = append(all, name+" "+row)
		}
	}
	slices.Sort(all)
	return all
}
