package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recordJob runs the hourly job in a folder of its own, recorded.
func recordJob(t *testing.T, flags ...string) (folder string, o outcome) {
	t.Helper()
	folder = t.TempDir()
	job := read(t, filepath.Join(testdata, "jobs", "hourly-delays-c.yaml"))
	for from, to := range map[string]string{"../wasm/delays-c.wasm": "delays.wasm", "../flights-20k.ndjson": "flights.ndjson"} {
		job = strings.ReplaceAll(job, from, to)
	}
	write(t, filepath.Join(folder, "job.yaml"), job)
	write(t, filepath.Join(folder, "delays.wasm"), read(t, wasmFile("delays-c")))
	write(t, filepath.Join(folder, "flights.ndjson"), read(t, filepath.Join(testdata, "flights-20k.ndjson")))
	return folder, run(t, folder, append([]string{"run", "job.yaml"}, flags...)...)
}

func TestRecordAndReplay(t *testing.T) {
	t.Parallel()
	folder, o := recordJob(t, "--record", "calls.rec")
	o.expect(t, exitOK, "recorded ", "calls.rec; see wasmstream replay calls.rec")
	run(t, folder, "run", "job.yaml", "--record", "calls.rec").expect(t, exitOK, "recorded ")
	flights := read(t, filepath.Join(folder, "flights.ndjson"))
	run(t, folder, "run", "job.yaml", "--record", "flights.ndjson").expect(t, exitBadInput, "flights.ndjson: it is there, and is no recording")
	if read(t, filepath.Join(folder, "flights.ndjson")) != flights {
		t.Error("the source was written over")
	}
	o = run(t, folder, "replay", "calls.rec")
	o.expect(t, exitOK)
	if !strings.HasSuffix(o.stdout, " calls of 1 instances of functions: all are as they were\n") {
		t.Error(o.stdout)
	}

	// A run that was killed has not written the end.
	text := read(t, filepath.Join(folder, "calls.rec"))
	write(t, filepath.Join(folder, "cut.rec"), text[:len(text)*2/3])
	o = run(t, folder, "replay", "cut.rec")
	var calls int
	if _, err := fmt.Sscanf(o.stdout, "cut.rec: %d calls of 1 instances of functions: all are as they were\n", &calls); err != nil || calls == 0 {
		t.Error(o.stdout, err)
	}
	o.expect(t, exitBadInput, fmt.Sprintf("cut.rec: its end is missing, so what came after these %d calls is not known: a record of ", calls))
	if o := run(t, folder, "replay", "--json", "cut.rec"); o.code != exitBadInput || !strings.Contains(o.stdout, `"cut":"a record of `) {
		t.Error(o.code, o.stdout)
	}
	// A byte before its last record, which says that it ends.
	write(t, filepath.Join(folder, "cut.rec"), text[:strings.LastIndex(text, "{")-9])
	run(t, folder, "replay", "cut.rec").expect(t, exitBadInput, "it does not say that it ends")

	// The module was built anew.
	write(t, filepath.Join(folder, "delays.wasm"), read(t, wasmFile("misbehaving-no-result")))
	run(t, folder, "replay", "calls.rec").expect(t, exitBadInput, "it is not the module delays that was recorded any more; to see what it does differently, say --module delays=")
	run(t, folder, "replay", "calls.rec", "--module", "delays.wasm").expect(t, exitBadInput, "the module delays has no function delays any more")
	run(t, folder, "replay", "calls.rec", "--module", "other=delays.wasm").expect(t, exitBadInput, "the recording has no module other; its modules are delays")
	run(t, folder, "replay", "calls.rec", "--module=").expect(t, exitBadInput, "--module is empty")
	run(t, folder, "replay", "job.yaml").expect(t, exitBadInput, "job.yaml: it is no recording")
}

// TestReplayTakesTheLimits: a function that came to a limit of its step's comes to it again.
func TestReplayTakesTheLimits(t *testing.T) {
	t.Parallel()
	folder, _ := recordJob(t)
	job := read(t, filepath.Join(folder, "job.yaml")) + "\nlimits: {output: 1KiB, fuel: 90000, fuel-per-op: 40000, memory: 1MiB}\n"
	write(t, filepath.Join(folder, "job.yaml"), job)
	run(t, folder, "run", "job.yaml", "--record", "calls.rec").expect(t, exitOK)
	if n := strings.Count(read(t, filepath.Join(folder, "calls.rec")), `"limits":{"fuel":90000,"fuelPerOp":40000,"outputBytes":1024,"memoryBytes":1048576}`); n != 1 {
		t.Fatalf("the limits are there %d times", n)
	}
	o := run(t, folder, "replay", "calls.rec")
	o.expect(t, exitOK)
	if !strings.HasSuffix(o.stdout, ": all are as they were\n") {
		t.Error(o.stdout)
	}
}

func TestReplayShowsDifferences(t *testing.T) {
	t.Parallel()
	folder, o := recordJob(t, "--record", "calls.rec", "--record-sample", "1/5", "--record-step", "hourly")
	o.expect(t, exitOK)
	write(t, filepath.Join(folder, "new.wasm"), read(t, wasmFile("misbehaving-no-result")))
	write(t, filepath.Join(folder, "m.json"), strings.Replace(read(t, "../../udfs/misbehaving/c/manifest.json"), `"misbehaving"`, `"delays"`, 1))
	run(t, folder, "module", "pack", "new.wasm", "--manifest", "m.json").expect(t, exitOK)
	o = run(t, folder, "replay", "calls.rec", "--module", "new.wasm")
	o.expect(t, exitFailed)
	for _, part := range []string{"step hourly, delays.delays, instance 0, call 0\n  op ", ", result, slot ", "\n    - emit to output 0, (flights 1, delay_sum ", " calls of 1 instances of functions: "} {
		if !strings.Contains(o.stdout, part) {
			t.Errorf("it does not show %q:\n%.2000s", part, o.stdout)
		}
	}
	o = run(t, folder, "replay", "--json", "calls.rec", "--module", "new.wasm")
	o.expect(t, exitFailed)
	lines := strings.Split(strings.TrimSpace(o.stdout), "\n")
	var sum replaySum
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &sum); err != nil || sum.Differ != len(lines)-1 || sum.Differ == 0 || sum.Calls < sum.Differ {
		t.Errorf("%+v, %v, %d lines", sum, err, len(lines))
	}
}

func TestRecordRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{[]string{"--record-step", "hourly"}, "need --record FILE"},
		{[]string{"--record", "r", "--record-sample", "1000"}, `--record-sample is "1000"; one call of a thousand is 1/1000`},
		{[]string{"--record", "r", "--record-step", "hourl"}, "did you mean hourly?"},
		{[]string{"--record", "r", "--record-key", `{"origin": "LAS"}`}, "no function reads its key"},
		{[]string{"--record", "nowhere/r"}, "nowhere/r: the folder that it is to be in is not there"},
		{[]string{"--record", "r", "--record-mb", "0"}, "--record-mb is 0: it must be from 1 to 1073741824"},
		{[]string{"--record", "r", "--record-mb=-3"}, "--record-mb is -3: it must be from 1 to 1073741824"},
		{[]string{"--record-mb", "0"}, "need --record FILE"},
		{[]string{"--record="}, "--record is empty"},
	} {
		folder, o := recordJob(t, c.flags...)
		o.expect(t, exitBadInput, c.want)
		if _, err := os.Stat(filepath.Join(folder, "r")); err == nil {
			t.Errorf("%v: a recording was begun", c.flags)
		}
	}
}
