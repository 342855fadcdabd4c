package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// greedyJob is a job of one step over records {k, n}, of functions that take more than
// others for records whose n is 13 or more.
func greedyJob(top, step string) string {
	return `version: 1
name: greedy
` + top + `modules: {greedy: {file: wasm/greedy-c.wasm}}
sources:
  in: {file: {path: in.ndjson, format: json}, schema: {k: BIGINT, n: BIGINT}}
steps:
  s: ` + step + `
sinks:
  out: {from: s, file: {path: out.ndjson, format: json}}
`
}

// greedyRecords are so many, of which each in ten is greedy.
func greedyRecords(n int) string {
	var b strings.Builder
	for i := range n {
		value := 1
		if i%10 == 9 {
			value = 13
		}
		fmt.Fprintf(&b, `{"k":%d,"n":%d}`+"\n", i, value)
	}
	return b.String()
}

// TestLimitsOfCalls: the limits of a job file hold in the sandbox, and what is beyond one
// fails with words that say what raises it. The limit of the step counts before the
// job's.
func TestLimitsOfCalls(t *testing.T) {
	folder := sandboxed(t)
	write(t, filepath.Join(folder, "in.ndjson"), greedyRecords(100))
	for name, c := range map[string]struct {
		top, step string
		word      string // why greedy records fail; "": they do not
	}{
		"fuel enough":          {"", "{from: in, map: {wasm: greedy.burn, with: {n: 100000}}, LIMITS}", ""},
		"fuel per op":          {"", "{from: in, map: {wasm: greedy.burn, with: {n: 100000}}, LIMITS, limits: {fuel-per-op: 100000}}", "limits: {fuel: …, fuel-per-op: …} of the step or the job raise them"},
		"fuel of a call":       {"limits: {fuel: 100000}\n", "{from: in, map: {wasm: greedy.burn, with: {n: 100000}}, LIMITS}", "FuelPerCall 100000"},
		"fuel of the step":     {"limits: {fuel: 100000}\n", "{from: in, map: {wasm: greedy.burn, with: {n: 100000}}, LIMITS, limits: {fuel: 10000000}}", ""},
		"more fuel":            {"", "{from: in, map: {wasm: greedy.burn, with: {n: 30000000}}, LIMITS, limits: {fuel: 1000000000, fuel-per-op: 1000000000}}", ""},
		"memory enough":        {"", "{from: in, map: {wasm: greedy.grow, with: {n: 10}}, LIMITS}", ""},
		"memory":               {"", "{from: in, map: {wasm: greedy.grow, with: {n: 200}}, LIMITS, limits: {memory: 20MiB}}", "there is no more memory; it was refused more memory than 20480 KiB: limits: {memory: …} of the step or the job raises that"},
		"more memory":          {"", "{from: in, map: {wasm: greedy.grow, with: {n: 1500}}, LIMITS, limits: {memory: 1GiB}}", ""},
		"not so much by far":   {"", "{from: in, map: {wasm: greedy.grow, with: {n: 1500}}, LIMITS}", "it was refused more memory than 65536 KiB: limits: {memory: …}"},
		"output of one record": {"", "{from: in, key-by: [k], process: {wasm: greedy.keep, with: {what: 3, size: 1000}}, LIMITS, limits: {output: 16KiB}}", "limits: {output: …} of the step or the job raises it"},
	} {
		t.Run(name, func(t *testing.T) {
			step := strings.Replace(c.step, "LIMITS", "on-fault: dead-letter, fault-rate: 1", 1)
			write(t, filepath.Join(folder, "job.yaml"), greedyJob(c.top, step)+"  failed: {from: s.failed, file: {path: failed.ndjson, format: json}}\n")
			if strings.Contains(name, "more fuel") {
				write(t, filepath.Join(folder, "in.ndjson"), greedyRecords(10))
				defer write(t, filepath.Join(folder, "in.ndjson"), greedyRecords(100))
			}
			o := run(t, folder, "run", "job.yaml")
			o.expect(t, 0)
			records := strings.Count(read(t, filepath.Join(folder, "in.ndjson")), "\n")
			faults := 0
			if c.word != "" {
				faults = records / 10
			}
			out, failed := read(t, filepath.Join(folder, "out.ndjson")), read(t, filepath.Join(folder, "failed.ndjson"))
			if strings.Count(out, "\n") != records-faults || strings.Count(failed, c.word) < faults || strings.Contains(failed, `"fuel":null`) || strings.Count(failed, "\n") != faults {
				t.Errorf("%d records of %d, want %d faults with %q:\n%.2000s", strings.Count(out, "\n"), records, faults, c.word, failed)
			}
		})
	}
}

// TestMemoryThatAModuleNeeds: a module that cannot begin with its limit is refused
// before the job runs.
func TestMemoryThatAModuleNeeds(t *testing.T) {
	folder := sandboxed(t)
	write(t, filepath.Join(folder, "in.ndjson"), greedyRecords(10))
	write(t, filepath.Join(folder, "job.yaml"), greedyJob("", "{from: in, map: {wasm: greedy.grow, with: {n: 1}}, limits: {memory: 1MiB}}"))
	for _, command := range []string{"check", "run"} {
		run(t, folder, command, "job.yaml").expect(t, exitRefused, "wasm/greedy-c.wasm needs", "the limit for s is 1024 KiB: limits: {memory: …} raises it")
	}
}

// TestLimitOfCompiling: a module that costs more to compile than limits allow is refused with what would do, and that does;
// where there is no job a flag of the same name does.
func TestLimitOfCompiling(t *testing.T) {
	folder := sandboxed(t)
	path := filepath.Join(folder, "go.wasm")
	write(t, path, read(t, wasmFile("delays-go")))
	write(t, filepath.Join(folder, "flights.ndjson"), sound)
	job := wasmJob(t, "go.wasm", "delays")
	limited := func(units string) { write(t, filepath.Join(folder, "job.yaml"), job+"limits: {compile: "+units+"}\n") }
	limited("3000000")
	var enough string
	for _, command := range [][]string{
		{"check", "job.yaml"}, {"run", "job.yaml"}, {"module", "inspect", "--compile=3000000", path}, {"module", "conform", "--compile=3000000", path},
		{"module", "pack", "--compile=3000000", path},
	} {
		o := run(t, folder, command...)
		o.expect(t, exitRefused, "compiling it takes an estimated ", " units of work; the limit is 3000000: ")
		found := regexp.MustCompile(`limits: \{compile: (\d+)\} at the top of the job file raises it, or --compile=(\d+)`).FindStringSubmatch(strings.Join(strings.Fields(o.stderr), " "))
		if found == nil || found[1] != found[2] || enough != "" && enough != found[1] {
			t.Fatalf("%q tells %q; before it was %s", command, found, enough)
		}
		enough = found[1]
	}
	limited(enough)
	run(t, folder, "run", "job.yaml").expect(t, exitOK)
	run(t, folder, "module", "conform", "--compile="+enough, path).expect(t, exitOK)
	run(t, folder, "module", "inspect", "--compile="+enough, path).expect(t, exitOK)
	run(t, folder, "module", "inspect", "--compile=-1", path).expect(t, exitBadInput, "--compile is -1; choose from 1 to 1000000000")
	write(t, filepath.Join(folder, "job.yaml"), greedyJob("", "{from: in, map: {wasm: greedy.grow, with: {n: 1}}, limits: {compile: 100000}}"))
	run(t, folder, "check", "job.yaml").expect(t, exitBadInput, "steps.s.limits", "compile")
}

// TestChattyFunction: what a function logs is bounded over all its calls, and told.
func TestChattyFunction(t *testing.T) {
	folder := sandboxed(t)
	write(t, filepath.Join(folder, "in.ndjson"), greedyRecords(100_000))
	for limit, lines := range map[string]int{"": 1000, ", limits: {log: 50}": 50, ", limits: {log: 0}": 0} {
		write(t, filepath.Join(folder, "job.yaml"), greedyJob("", "{from: in, map: {wasm: greedy.say, with: {n: 3}}"+limit+"}"))
		o := run(t, folder, "run", "job.yaml")
		o.expect(t, 0, "further lines of this minute are dropped", fmt.Sprintf("the function may log %d; limits: {log: …}", lines), "lines of the function were dropped", "function=say")
		if got := strings.Count(o.stderr, "so many lines"); got > lines {
			t.Errorf("%d lines, and the limit is %d", got, lines)
		}
		if n := strings.Count(o.stderr, "\n"); n > lines+20 {
			t.Errorf("%d lines in all", n)
		}
	}
}

// endless is a scenario whose function sets a timer of the clock for the present moment,
// again and again.
const endless = `A timer that is never done.
-- job.yaml --
version: 1
name: endless
modules: {greedy: {file: wasm/greedy-c.wasm}}
sources:
  in: {test: {}, schema: {k: BIGINT, n: BIGINT}}
steps:
  s: {from: in, key-by: [k], process: {wasm: greedy.keep, with: {what: 5, size: 0}}, on-fault: dead-letter}
sinks:
  out: {from: s, test: {}}
  failed: {from: s.failed, test: {}}
-- script --
clock 100
emit in {"k":1,"n":13} @1
want out {"k":1,"n":13} @1
clock 101
emit in {"k":2,"n":1} @1
want out {"k":2,"n":1} @1
`

// TestEndlessTimers: a test of a function that never is done ends.
func TestEndlessTimers(t *testing.T) {
	folder := sandboxed(t)
	write(t, filepath.Join(folder, "endless.scenario"), endless)
	o := run(t, folder, "test", "endless.scenario")
	if o.code != exitFailed || !strings.Contains(o.stdout, "timers of one key that were set in one advance of time are due in it, more than 100000 of them") {
		t.Errorf("exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}

// TestFullStateIsNotTriedAgain: a job that keeps too much without a function would do so
// after each restart.
func TestFullStateIsNotTriedAgain(t *testing.T) {
	folder := sandboxed(t)
	write(t, filepath.Join(folder, "in.ndjson"), greedyRecords(1000))
	job := greedyJob("checkpoint: {dir: state}\n", "{from: in, key-by: [k], window: {tumbling: {size: 1h, time: processing}}, aggregate: {n: count}, limits: {entries: 500}}")
	write(t, filepath.Join(folder, "job.yaml"), strings.Replace(job, "modules: {greedy: {file: wasm/greedy-c.wasm}}\n", "", 1))
	o := run(t, folder, "run", "job.yaml")
	o.expect(t, exitFailed, "step s: it keeps", "entries in one task, and its limit is 500: limits: {entries: …} of the step or the job raises it")
	if strings.Contains(o.stderr, "started again") {
		t.Error(o.stderr)
	}
}
