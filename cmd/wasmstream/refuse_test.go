package main

import (
	varint "encoding/binary"
	"path/filepath"
	"strings"
	"testing"
)

func TestBadCommandLines(t *testing.T) {
	for line, want := range map[string]string{
		"rum":                         `did you mean "run"?`,
		"run":                         "<job>",
		"run --jsn x":                 `did you mean "--json"?`,
		"test --batchsize 3 x":        `did you mean "--batch"?`,
		"test --fresh-instnaces x":    `did you mean "--fresh-instance"?`,
		"test --batch 0 .":            "--batch is 0; choose from 1 to 1048576",
		"test --parallelism 0 .":      "--parallelism is 0; choose from 1 to 1024",
		"test --parallelism 1025 .":   "--parallelism is 1025; choose from 1 to 1024",
		"run --workers=many x":        "--workers",
		"run --workers=-1 x":          "--workers",
		"run --log-level=loud x":      "--log-level",
		"run nowhere.yaml":            "nowhere.yaml: there is no such file",
		"run main_tset.go":            "did you mean main_test.go?",
		"check .":                     ".: is a directory",
		"module":                      `"inspect"`,
		"module inspect":              "<file>",
		"module inspect nowhere.wasm": "nowhere.wasm: there is no such file; has it been built?",
		"module pack":                 "<file>",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			run(t, ".", strings.Fields(line)...).expect(t, exitBadInput, want)
		})
	}
	o := run(t, ".")
	o.expect(t, exitBadInput)
	if !strings.Contains(o.stdout, "Usage: wasmstream") {
		t.Error("without arguments there is no help")
	}
}

func TestHelpTellsTheExitCodes(t *testing.T) {
	for _, line := range []string{"--help", "run --help", "check --help", "module --help", "module inspect --help", "version --help"} {
		o := run(t, ".", strings.Fields(line)...)
		o.expect(t, exitOK)
		if !strings.Contains(o.stdout, exitCodesHelp) {
			t.Errorf("%s does not tell the exit codes:\n%s", line, o.stdout)
		}
	}
}

func TestBadJobs(t *testing.T) {
	for name, c := range map[string]struct {
		job  string
		want []string
	}{
		"unknown field":    {change(t, "key-by", "key-bye"), []string{`job.yaml:12:5: steps.hourly.key-bye`, "did you mean key-by?"}},
		"unknown stream":   {change(t, "from: hourly,", "from: hurly,"), []string{`job.yaml:16:18: sinks.delays.from`, `"hurly"; did you mean hourly?`}},
		"unknown source":   {change(t, "from: flights", "from: flight"), []string{`job.yaml:11:11: steps.hourly.from`, "did you mean flights?"}},
		"unknown type":     {change(t, "delay: INT", "delay: IMT"), []string{`job.yaml:6:62: sources.flights.schema.delay`, "did you mean INT?"}},
		"unknown column":   {change(t, "sum(delay)", "sum(dely)"), []string{`job.yaml:14:`, "did you mean delay?"}},
		"unknown function": {change(t, "sum(delay)", "summ(delay)"), []string{`job.yaml:14:`, "did you mean sum"}},
		"a cycle":          {change(t, "steps:\n", "steps:\n  a: {from: b}\n  b: {from: a}\n"), []string{"job.yaml:1", "a", "b"}},
		"two operations":   {change(t, "    aggregate:", "    interval-join: {left: flights}\n    aggregate:"), []string{"job.yaml:1", "interval-join"}},
		"two sinks on one file": {
			base + "  twice: {from: hourly, file: {path: ./out/firings.ndjson, format: json}}\n",
			[]string{"job.yaml:17:38: sinks.twice.file.path", "also written by sinks.delays in line 16"},
		},
		"a sink on the source": {change(t, "out/firings", "flights"), []string{"job.yaml:16:", "sinks.delays.file.path", "sources.flights"}},
		"not set":              {change(t, "flights.ndjson", `"${NO_SUCH_THING}.ndjson"`), []string{"job.yaml:5:", "NO_SUCH_THING"}},
		"no YAML":              {"version: [", []string{"job.yaml:1:"}},
		"empty":                {"", []string{"job.yaml"}},
		"all at once":          {change(t, "key-by", "key-bye", "sum(delay)", "summ(delay)"), []string{"job.yaml:12:", "job.yaml:14:"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			write(t, filepath.Join(folder, "flights.ndjson"), sound)
			write(t, filepath.Join(folder, "job.yaml"), c.job)
			for _, verb := range []string{"run", "check"} {
				o := run(t, folder, verb, "job.yaml")
				o.expect(t, exitBadInput, c.want...)
				if !strings.HasPrefix(o.stderr, "job.yaml:") {
					t.Errorf("%s: the message does not begin with the place", verb)
				}
			}
			nothingThere(t, filepath.Join(folder, "out"))
		})
	}
}

// wasmJob is the base job with a function of a module in the folder.
func wasmJob(t *testing.T, file, function string) string {
	t.Helper()
	return change(t, "sources:\n", "modules:\n  m: {file: "+file+"}\nsources:\n",
		"{flights: count, delay_sum: sum(delay)}", "{wasm: m."+function+"}")
}

func TestBadModules(t *testing.T) {
	wasm := func(name string) string { return filepath.Join(testdata, "wasm", name+".wasm") }
	for name, c := range map[string]struct {
		module   string
		function string
		edit     func(string) string
		code     int
		want     []string
	}{
		"no Wasm":           {"main_test.go", "delays", nil, exitRefused, []string{"job.yaml:4:13: modules.m.file: The module m.wasm cannot be used", "no Wasm module"}},
		"lacks an export":   {wasm("misbehaving-no-call"), "delays", nil, exitRefused, []string{"job.yaml:4:13: modules.m.file", "does not export the function wasmstream_call"}},
		"other ABI version": {wasm("misbehaving-version"), "delays", nil, exitRefused, []string{"job.yaml:4:13: modules.m.file", "version"}},
		"unknown function":  {wasm("delays-c"), "delay", nil, exitBadInput, []string{"job.yaml:16:23: steps.hourly.aggregate.wasm", "did you mean m.delays?"}},
		"lacks a column": {wasm("delays-c"), "delays", func(job string) string { return strings.Replace(job, "delay: INT", "dely: INT", 1) }, exitBadInput,
			[]string{"job.yaml:16:23: steps.hourly.aggregate.wasm", "takes a column delay INT", "did you mean dely?"}},
		"other type": {wasm("delays-c"), "delays", func(job string) string { return strings.Replace(job, "delay: INT", "delay: BIGINT", 1) }, exitBadInput,
			[]string{"job.yaml:16:23: steps.hourly.aggregate.wasm", "takes the column delay as INT", "it is BIGINT"}},
		"is not there": {"", "delays", nil, exitBadInput, []string{"job.yaml:4:13: modules.m.file", "there is no such file; did you mean n.wasm?"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			write(t, filepath.Join(folder, "flights.ndjson"), sound)
			write(t, filepath.Join(folder, "n.wasm"), "")
			if c.module != "" {
				write(t, filepath.Join(folder, "m.wasm"), read(t, c.module))
			}
			job := wasmJob(t, "m.wasm", c.function)
			if c.edit != nil {
				job = c.edit(job)
			}
			write(t, filepath.Join(folder, "job.yaml"), job)
			run(t, folder, "run", "job.yaml").expect(t, c.code, c.want...)
			run(t, folder, "check", "job.yaml").expect(t, c.code, c.want...)
		})
	}
}

// TestAModuleWithInvalidCode is about what only the engine's validation finds.
func TestAModuleWithInvalidCode(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "m.wasm"), invalid(t, read(t, wasmFile("delays-c"))))
	write(t, filepath.Join(folder, "flights.ndjson"), sound)
	write(t, filepath.Join(folder, "job.yaml"), wasmJob(t, "m.wasm", "delays"))
	for _, verb := range []string{"run", "check"} {
		o := run(t, folder, verb, "job.yaml")
		o.expect(t, exitRefused, "job.yaml:4: modules.m: The module m.wasm cannot be used: its code is not valid")
	}
}

// invalid replaces the byte before the end of a module's last function by one that
// is no instruction there, and in an operand would name what does not exist.
func invalid(t *testing.T, wasm string) string {
	t.Helper()
	const codeSection = 10
	for at := 8; at < len(wasm); {
		size, n := varint.Uvarint([]byte(wasm[at+1:]))
		next := at + 1 + n + int(size)
		if wasm[at] == codeSection {
			return wasm[:next-2] + "\x92" + wasm[next-1:]
		}
		at = next
	}
	t.Fatal("the module has no code")
	return ""
}

func TestGuestsThatMisbehave(t *testing.T) {
	for name, want := range map[string]string{
		"trap":            "trap: ",
		"fail":            "failed: ",
		"effects-pointer": "bad-effects: ",
		"effects-kind":    "bad-effect: ",
		"no-result":       "was not answered",
		"two-results":     "bad-answer: ",
		"emit-for-add":    "bad-effect: ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			write(t, filepath.Join(folder, "m.wasm"), read(t, filepath.Join(testdata, "wasm/misbehaving-"+name+".wasm")))
			write(t, filepath.Join(folder, "flights.ndjson"), sound)
			write(t, filepath.Join(folder, "job.yaml"), wasmJob(t, "m.wasm", "misbehaving"))
			run(t, folder, "run", "job.yaml").expect(t, exitFailed, "wasmstream: step hourly: function misbehaving: ", want, "    in module m (m.wasm)", "    in a call for ", " at key origin \"LAS\"")
			nothingThere(t, filepath.Join(folder, "out"))
		})
	}
}

// TestFaultAsItIsOpened: it is told from one of a record. lookup refuses a long url when it
// is opened.
func TestFaultAsItIsOpened(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "m.wasm"), read(t, filepath.Join(testdata, "wasm/lookup-c.wasm")))
	write(t, filepath.Join(folder, "keys.ndjson"), "")
	write(t, filepath.Join(folder, "job.yaml"), strings.Replace(`
version: 1
name: opened
modules: {m: {file: m.wasm}}
sources:
  keys: {file: {path: keys.ndjson, format: json}, schema: {key: STRING}}
steps:
  found: {from: keys, enrich: {wasm: m.lookup, with: {url: "LONG"}, http: {allow: ["http://localhost/*"]}}}
sinks:
  out: {from: found, file: {path: out, format: json}}
`, "LONG", strings.Repeat("x", 1025), 1))
	run(t, folder, "run", "job.yaml").expect(t, exitFailed,
		"wasmstream: step found: function lookup: failed: the url is too long\n    in module m (m.wasm)\n    as it was opened\n    at ")
}
