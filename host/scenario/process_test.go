package scenario_test

import (
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/scenario"
)

// TestProcessScenarios runs scripts for process functions in every way that may not
// matter. What they want is what Flink did (testdata/process/README.md).
func TestProcessScenarios(t *testing.T) {
	for i, path := range find(t, "testdata/process") {
		way := 0
		for _, restart := range []bool{false, true} {
			if restart && strings.Contains(path, "restart-sensitive") {
				continue
			}
			for _, batch := range []int{0, 1, 3, 4096} {
				for _, parallelism := range []int{1, 2, 4} {
					if way++; strings.Contains(path, "flink/") && way%8 != i%8 {
						continue // each in some of the ways
					}
					o := machines()
					o.Batch, o.Parallelism, o.RestartEvery = batch, parallelism, restart
					if batch == 3 {
						o.Rescale = []int{3, 1, 5, 2}
					}
					if r := parse(t, path, read(t, path)).Run(o); r.Outcome != scenario.Pass {
						t.Errorf("restart=%t/batch=%d/parallelism=%d: %v", restart, batch, parallelism, r)
					}
				}
			}
		}
	}
}

// TestProcessGuests runs process functions in C, also on instances that are thrown away
// after every call. What they want was worked out by hand.
func TestProcessGuests(t *testing.T) {
	for _, path := range find(t, "testdata/guests") {
		for _, restart := range []bool{false, true} {
			for _, batch := range []int{0, 1, 4096} {
				for _, parallelism := range []int{1, 3} {
					o := options()
					o.Batch, o.Parallelism, o.RestartEvery = batch, parallelism, restart
					if batch == 1 {
						o.Guest, o.Rescale = fresh, []int{3, 1, 5, 2}
					}
					if r := parse(t, path, read(t, path)).Run(o); r.Outcome != scenario.Pass {
						t.Errorf("restart=%t/batch=%d/parallelism=%d: %v", restart, batch, parallelism, r)
					}
				}
			}
		}
	}
}

// TestBroadcastOutputs is case C50 of the semantics, for the broadcast side: what a
// broadcast record puts out has its time, and each task puts it out. Watermark and clock
// are those of the task.
func TestBroadcastOutputs(t *testing.T) {
	const script = `-- job.yaml --
version: 1
name: broadcast
modules: {m: {file: testdata/process/machine.json}}
sources:
  in: {test: {}, schema: {k: STRING, what: STRING, n: BIGINT, x: BIGINT}}
  rules: {test: {}, schema: {k: STRING, what: STRING, n: BIGINT, x: BIGINT}}
steps:
  p: {from: in, key-by: [k], broadcast-process: {broadcast: rules, function: {wasm: m.spread}}}
sinks:
  out: {from: p, test: {}}
-- script --
clock 3
watermark in 11
watermark rules 10
emit rules {"what":"time"} @12
`
	for _, parallelism := range []int{1, 2, 5} {
		o := machines()
		o.Parallelism = parallelism
		text := script + strings.Repeat(`want out {"what":"time","n":10,"x":3} @12`+"\n", parallelism)
		if r := parse(t, "c50.scenario", []byte(text)).Run(o); r.Outcome != scenario.Pass {
			t.Errorf("parallelism %d: %v", parallelism, r)
		}
	}
}
