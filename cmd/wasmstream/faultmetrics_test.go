//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const faultsJob = `version: 1
name: faults
parallelism: 2
modules: {p: {file: picky.wasm}}
sources:
  in: {file: {path: flights.ndjson, format: json}, schema: {k: STRING, n: BIGINT}}
steps:
  sums: {from: in, key-by: [k], process: {wasm: p.running}, on-fault: dead-letter}
sinks:
  out: {from: sums, file: {path: out.ndjson, format: json}}
  failed: {from: sums.failed, file: {path: failed.ndjson, format: json}}
`

// TestRunFaultMetrics: what docs/monitoring.md says to look at when a function fails, of a
// run on a pipe: the function fails on three of 40 records. What it failed on is in the
// dead letters, as it was in the file.
func TestRunFaultMetrics(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "picky.wasm"), read(t, wasmFile("picky-c")))
	write(t, filepath.Join(folder, "job.yaml"), faultsJob)
	path := pipe(t, folder)
	w := watchRun(t, folder)
	input, err := os.OpenFile(path, os.O_WRONLY, 0) // waits for the reader
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	var want []string
	for i := range 40 {
		n := i % 10
		if i%17 == 3 {
			n = 13
		}
		line := fmt.Sprintf(`{"more": %d, "k":"k%d",  "n":%d}`, i, i%3, n)
		if n == 13 {
			want = append(want, line)
		}
		if _, err := input.WriteString(line + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	count := func(name string, labels ...string) (sum float64) {
		for _, subtask := range []string{"0", "1"} {
			n, _ := w.value(name, append(labels[:len(labels):len(labels)], subtask)...)
			sum += n
		}
		return sum
	}
	function := []string{"p.running", "faults", "step", "sums", "process"}
	w.until("all records are there, and all dead letters", func() bool {
		return count("wasmstream_task_numRecordsIn", "faults", "step", "sums") == 40 && count("wasmstream_task_numRecordsIn", "faults", "sink", "failed") == 3
	})
	for name, got := range map[string]float64{
		"faults of the step":     count("wasmstream_task_numFunctionFaults", "faults", "step", "sums"),
		"faults of the function": count("wasmstream_function_numFaults", append([]string{"failed"}, function...)...),
		"rebuilt instances":      min(3, count("wasmstream_function_numInstancesRebuilt", function...)), // some are for one fault
	} {
		if got != 3 {
			t.Errorf("%s: %v, want 3", name, got)
		}
	}
	if n := count("wasmstream_function_numFaults", append([]string{"out-of-fuel"}, function...)...); n != 0 {
		t.Errorf("%v times out of fuel", n)
	}
	if n := count("wasmstream_function_instances", function...); n != 2 {
		t.Errorf("%v instances, want one of each task", n)
	}
	if fuel := count("wasmstream_function_fuel", function...) / count("wasmstream_function_numOps", function...); fuel < 5 || fuel > 2000 {
		t.Errorf("%v of fuel for an op", fuel)
	}
	if err := input.Close(); err != nil {
		t.Fatal(err)
	}
	if code, stderr := w.end(); code != exitOK {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	var got []string
	for line := range strings.Lines(read(t, filepath.Join(folder, "failed.ndjson"))) {
		var letter struct{ Original []byte }
		if err := json.Unmarshal([]byte(line), &letter); err != nil {
			t.Fatal(err)
		}
		got = append(got, string(letter.Original))
	}
	slices.Sort(want)
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("originals (-want +got):\n%s", d)
	}
}
