package main

import (
	varint "encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/wasmstream/wasmstream/abi"
)

func wasmFile(name string) string { return filepath.Join(testdata, "wasm", name+".wasm") }

func TestModuleInspect(t *testing.T) {
	o := run(t, ".", "module", "inspect", wasmFile("delays-c"), wasmFile("delays-go"), wasmFile("stores-c"))
	o.expect(t, exitOK)
	for _, part := range []string{
		wasmFile("delays-c") + "\n  size      ", "  sha256    ", "  memory    ", "  ABI       version 0\n",
		"  function  delays (aggregate)", "takes delay INT\n", "gives flights BIGINT, delay_sum BIGINT, delay_max INT\n",
		"  imports   wasmstream.fail (i32, i32) -> ()\n", "function wasmstream_call (i32, i32, i32) -> (i64)\n",
		"\n\n" + wasmFile("delays-go") + "\n", "wasmstream.manifest, ",
		"state users, map of a window: user STRING to n BIGINT\n",
	} {
		if !strings.Contains(o.stdout, part) {
			t.Errorf("it does not show %q", part)
		}
	}
	if t.Failed() {
		t.Log(o.stdout)
	}
}

func TestModuleInspectJSON(t *testing.T) {
	o := run(t, ".", "module", "inspect", "--json", wasmFile("delays-c"), wasmFile("misbehaving-version"), "main_test.go", "nowhere.wasm")
	o.expect(t, exitRefused, "misbehaving-version.wasm: refused: ", "main_test.go: refused: it is no Wasm module", "nowhere.wasm: there is no such file")
	decoder := json.NewDecoder(strings.NewReader(o.stdout))
	var found []inspection
	for decoder.More() {
		var one inspection
		if err := decoder.Decode(&one); err != nil {
			t.Fatal(err)
		}
		found = append(found, one)
	}
	if len(found) != 3 {
		t.Fatalf("%d objects:\n%s", len(found), o.stdout)
	}
	sound, version, text := found[0], found[1], found[2]
	if sound.Refused != nil || len(sound.SHA256) != 64 || !strings.Contains(string(sound.Manifest), `"delays"`) || sound.Memory.BytesMin == 0 {
		t.Errorf("of the sound module: %+v", sound)
	}
	if version.Refused == nil || version.Refused.Kind != "abi-version" || version.ABI[0] == "0" {
		t.Errorf("of the other version: %+v", version)
	}
	if text.Refused == nil || text.Refused.Kind != "not-wasm" || text.Bytes == 0 || string(text.Manifest) != "null" {
		t.Errorf("of the text: %+v", text)
	}
}

func TestModulePack(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	module := filepath.Join(folder, "m.wasm")
	write(t, module, read(t, wasmFile("delays-go")))
	run(t, folder, "module", "pack", "m.wasm", "-o", "described.wasm").expect(t, exitOK)
	if read(t, module) != read(t, wasmFile("delays-go")) {
		t.Error("the input was changed")
	}

	write(t, module, read(t, wasmFile("delays-c")))
	write(t, filepath.Join(folder, "m.json"), strings.Replace(read(t, "../../udfs/delays/c/manifest.json"), `"delays"`, `"lateness"`, 1))
	run(t, folder, "module", "pack", "m.wasm", "--manifest", "m.json").expect(t, exitOK)
	run(t, folder, "module", "pack", "m.wasm", "--manifest", "m.json").expect(t, exitOK) // replaces the section
	o := run(t, folder, "module", "inspect", "m.wasm", "described.wasm")
	o.expect(t, exitOK)
	if !strings.Contains(o.stdout, "lateness (aggregate)") || !strings.Contains(o.stdout, "delays (aggregate)") || strings.Count(o.stdout, "wasmstream.manifest") != 2 {
		t.Error(o.stdout)
	}
	list, err := os.ReadDir(folder)
	if err != nil || len(list) != 3 {
		t.Errorf("the folder holds %v, %v", list, err)
	}
}

func TestModulePackRefuses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "text.wasm"), "text")
	for _, name := range []string{"delays-c", "misbehaving-no-call"} {
		write(t, filepath.Join(folder, name+".wasm"), read(t, wasmFile(name)))
	}
	write(t, filepath.Join(folder, "broken.json"), "{\n  \"functions\": [\n}")
	write(t, filepath.Join(folder, "wrong.json"), `{"functions": [{"name": "f", "role": "agregate"}]}`)
	write(t, filepath.Join(folder, "sound.json"), read(t, "../../udfs/delays/c/manifest.json"))
	for line, want := range map[string]struct {
		code int
		text string
	}{
		"text.wasm":                                        {exitRefused, "text.wasm: refused: it is no Wasm module"},
		"delays-c.wasm":                                    {exitRefused, "wasmstream_describe"},
		"delays-c.wasm --manifest broken.json":             {exitBadInput, "broken.json: "},
		"delays-c.wasm --manifest wrong.json":              {exitBadInput, `did you mean "aggregate"?`},
		"delays-c.wasm --manifest sond.json":               {exitBadInput, "did you mean sound.json?"},
		"misbehaving-no-call.wasm --manifest sound.json":   {exitRefused, "does not export the function wasmstream_call"},
		"delays-c.wasm --manifest sound.json -o no/m.wasm": {exitFailed, "no"},
	} {
		t.Run(line, func(t *testing.T) {
			run(t, folder, append([]string{"module", "pack"}, strings.Fields(line)...)...).expect(t, want.code, want.text)
		})
	}
	if read(t, filepath.Join(folder, "delays-c.wasm")) != read(t, wasmFile("delays-c")) {
		t.Error("a refused module was changed")
	}
}

// TestCheckWindowsOfFunctions: the plan says so of windows that are a function's.
func TestCheckWindowsOfFunctions(t *testing.T) {
	folder := sandboxed(t)
	for function, want := range map[string]string{
		"tumbling": "by k, windows of a function, sum(v), Wasm function roles.tumbling\n",
		"gap":      "by k, windows of a function, which merge, sum(v), Wasm function roles.gap\n",
	} {
		write(t, filepath.Join(folder, "in.ndjson"), "")
		write(t, filepath.Join(folder, "job.yaml"), `version: 1
name: assigned
modules: {roles: {file: wasm/roles-c.wasm}}
sources:
  in: {file: {path: in.ndjson, format: json}, schema: {k: STRING, v: BIGINT, t: TIMESTAMP(3)}, event-time: t}
steps:
  s: {from: in, key-by: [k], window: {wasm: roles.`+function+`}, aggregate: {v: sum(v)}}
sinks:
  out: {from: s, file: {path: out.ndjson, format: json}}
`)
		o := run(t, folder, "check", "job.yaml")
		o.expect(t, exitOK)
		if !strings.Contains(o.stdout, want) {
			t.Errorf("it does not show %q\n%s", want, o.stdout)
		}
	}
}

// TestCheckOutputs: the plan shows what functions put out beside their main output.
func TestCheckOutputs(t *testing.T) {
	folder := sandboxed(t)
	write(t, filepath.Join(folder, "in.ndjson"), "")
	write(t, filepath.Join(folder, "job.yaml"), `version: 1
name: splits
modules: {roles: {file: wasm/roles-c.wasm}}
sources:
  in: {file: {path: in.ndjson, format: json}, schema: {user: STRING, amount: BIGINT}}
steps:
  s: {from: in, flat-map: {wasm: roles.split}}
sinks:
  out: {from: [s, s.last], file: {path: out.ndjson, format: json}}
`)
	o := run(t, folder, "check", "job.yaml")
	o.expect(t, exitOK)
	if !strings.Contains(o.stdout, "gives n BIGINT\n               and s.last: n BIGINT\n") {
		t.Error(o.stdout)
	}
	o = run(t, folder, "check", "--json", "job.yaml")
	o.expect(t, exitOK)
	var plan checkResult
	if err := json.Unmarshal([]byte(o.stdout), &plan); err != nil || len(plan.Steps) != 1 || len(plan.Steps[0].Outputs) != 1 || plan.Steps[0].Outputs[0].Name != "s.last" {
		t.Errorf("%v, %+v", err, plan)
	}
}

func TestCheck(t *testing.T) {
	o := run(t, testdata+"/jobs", "check", "hourly-delays.yaml")
	o.expect(t, exitOK)
	for _, part := range []string{
		"hourly-delays is sound\n", "  source  flights  ", "reads 6 of 6 columns: flight, scheduled, ",
		"from flights: by origin, tumbling windows of 1h, 2h late allowed, Wasm function delays.delays\n",
		"gives origin STRING, flights BIGINT, ", "from hourly.late to out/late.ndjson\n",
	} {
		if !strings.Contains(o.stdout, part) {
			t.Errorf("it does not show %q", part)
		}
	}
	if t.Failed() {
		t.Log(o.stdout)
	}
}

func TestCheckJSON(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "job.yaml"), base)
	o := run(t, folder, "check", "--json", "job.yaml")
	o.expect(t, exitOK)
	var got checkResult
	if err := json.Unmarshal([]byte(o.stdout), &got); err != nil {
		t.Fatal(err)
	}
	if got.Status != "ok" || len(got.Sources) != 1 || strings.Join(got.Sources[0].Used, " ") != "scheduled delay origin" || len(got.Warnings) != 1 {
		t.Error(o.stdout)
	}
	write(t, filepath.Join(folder, "job.yaml"), change(t, "version", "versoin"))
	o = run(t, folder, "check", "--json", "job.yaml")
	o.expect(t, exitBadInput, "job.yaml:1:1: ")
	if err := json.Unmarshal([]byte(o.stdout), &got); err != nil || got.Status != "refused" || len(got.Problems) == 0 {
		t.Error(err, o.stdout)
	}
}

func TestVersion(t *testing.T) {
	o := run(t, ".", "version")
	o.expect(t, exitOK)
	if !strings.HasPrefix(o.stdout, "wasmstream ") || !strings.Contains(o.stdout, "ABI version 0") {
		t.Error(o.stdout)
	}
	var v version
	if err := json.Unmarshal([]byte(run(t, ".", "version", "--json").stdout), &v); err != nil || v.Go == "" {
		t.Error(v, err)
	}
}

func TestModulePackKeepsWhatTheFileIs(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	module, link := filepath.Join(folder, "m.wasm"), filepath.Join(folder, "link.wasm")
	write(t, module, read(t, wasmFile("delays-go")))
	if err := errors.Join(os.Chmod(module, 0o600), os.Symlink("m.wasm", link)); err != nil {
		t.Fatal(err)
	}
	run(t, folder, "module", "pack", "link.wasm").expect(t, exitOK)
	if to, err := os.Readlink(link); to != "m.wasm" {
		t.Errorf("the link became %q, %v", to, err)
	}
	if info, err := os.Stat(module); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	run(t, folder, "module", "pack", "m.wasm", "-o", "/dev/null").expect(t, exitFailed, "/dev/null: it is a device")
	run(t, folder, "module", "pack", "m.wasm", "-o", "no/m.wasm").expect(t, exitFailed, "no/m.wasm: its folder is not there")
}

// TestManifestsThatAreWrong: what pack refuses, and what inspect, check and run
// refuse of a module that some other tool packed.
func TestManifestsThatAreWrong(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	sound := read(t, "../../udfs/delays/c/manifest.json")
	write(t, filepath.Join(folder, "flights.ndjson"), "")
	write(t, filepath.Join(folder, "job.yaml"), wasmJob(t, "m.wasm", "delays"))
	parameter := func(p string) func(string) string {
		return func(m string) string { return strings.Replace(m, `"role":`, `"parameters": [`+p+`], "role":`, 1) }
	}
	for name, c := range map[string]struct {
		edit func(string) string
		want string
	}{
		"empty":      {func(string) string { return "{}" }, "no functions"},
		"input type": {func(m string) string { return strings.Replace(m, `"INT"`, `"INTEGER"`, 1) }, "there is no type INTEGER; did you mean INT?"},
		"output type": {func(m string) string {
			return m[:strings.LastIndex(m, "BIGINT")] + "BIGNT" + m[strings.LastIndex(m, "BIGINT")+6:]
		}, "there is no type BIGNT; did you mean BIGINT?"},
		"parameter type":     {parameter(`{"name": "p", "type": "STRNG"}`), "parameter \"p\": there is no type STRNG; did you mean STRING?"},
		"default of text":    {parameter(`{"name": "p", "type": "INT", "default": "\"1\""}`), "its default \"\\\"1\\\"\" is no INT"},
		"default too large":  {parameter(`{"name": "p", "type": "INT", "default": "3000000000"}`), "its default \"3000000000\" is no INT"},
		"default of no JSON": {parameter(`{"name": "p", "type": "STRING", "default": "x"}`), "its default \"x\" is not one JSON value"},
	} {
		edited := c.edit(sound)
		if edited == sound {
			t.Fatalf("%s: nothing was changed", name)
		}
		write(t, filepath.Join(folder, "m.json"), edited)
		write(t, filepath.Join(folder, "m.wasm"), read(t, wasmFile("delays-c")))
		run(t, folder, "module", "pack", "m.wasm", "--manifest", "m.json", "-o", "packed.wasm").expect(t, exitBadInput, "m.json: ", c.want)
		if _, err := os.Stat(filepath.Join(folder, "packed.wasm")); err == nil {
			t.Errorf("%s: it was packed", name)
		}

		manifest, err := abi.ParseManifestJSON([]byte(edited))
		if err != nil {
			t.Fatal(err)
		}
		section, err := proto.Marshal(manifest)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, "m.wasm"), withManifest(t, read(t, wasmFile("delays-c")), section))
		run(t, folder, "module", "inspect", "m.wasm").expect(t, exitRefused, "m.wasm: refused: its manifest is wrong: ", c.want)
		run(t, folder, "check", "job.yaml").expect(t, exitRefused, c.want)
		run(t, folder, "run", "job.yaml").expect(t, exitRefused, c.want)
		write(t, filepath.Join(folder, "sound.json"), sound)
		run(t, folder, "module", "pack", "m.wasm", "--manifest", "sound.json").expect(t, exitOK)
	}
}

// TestManifestsThatHarmTerminals: whatever text of a module is shown has no character that a terminal obeys.
func TestManifestsThatHarmTerminals(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	const evil, shown = `\u001b[2J\u202e\u0085`, "<1b>[2J<202e><85>"
	write(t, filepath.Join(folder, "in.ndjson"), "")
	write(t, filepath.Join(folder, "job.yaml"), wasmJob(t, "m.wasm", "delays"))
	sound := read(t, "../../udfs/delays/c/manifest.json")
	output := strings.LastIndex(sound, `"name": "`) + len(`"name": "`)
	for name, c := range map[string]struct {
		manifest string
		code     int // of check
	}{
		"output": {sound[:output] + evil + sound[output:], exitOK},
		"input":  {strings.Replace(sound, `"name": "delay"`, `"name": "`+evil+`"`, 1), exitBadInput},
		"doc":    {strings.Replace(sound, `"doc": "`, `"doc": "`+evil, 1), exitOK},
		"role":   {strings.Replace(sound, `"role": "`, `"role": "`+evil, 1), exitRefused},
		"type":   {strings.Replace(sound, `"type": "`, `"type": "`+evil, 1), exitRefused},
		"sdk":    {strings.Replace(sound, `"sdk": "`, `"sdk": "`+evil, 1), exitOK},
	} {
		manifest, err := abi.ParseManifestJSON([]byte(c.manifest))
		if err != nil || c.manifest == sound {
			t.Fatalf("%s: %v", name, err)
		}
		section, err := proto.Marshal(manifest)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, "m.wasm"), withManifest(t, read(t, wasmFile("delays-c")), section))
		inspected, checked := run(t, folder, "module", "inspect", "m.wasm"), run(t, folder, "check", "job.yaml")
		checked.expect(t, c.code)
		for _, text := range []string{inspected.stdout + inspected.stderr, checked.stdout + checked.stderr} {
			if strings.ContainsAny(text, "\x1b\u202e\u0085") {
				t.Errorf("%s: %q", name, text)
			}
		}
		if !strings.Contains(inspected.stdout+inspected.stderr, shown) && !strings.Contains(inspected.stderr, evil) {
			t.Errorf("%s is not shown by inspect: %s", name, inspected.stdout)
		}
		if named := strings.Contains(checked.stdout+checked.stderr, shown); (name == "output" || name == "input") && !named {
			t.Errorf("%s is not shown by check: %s%s", name, checked.stdout, checked.stderr)
		}
	}
}

// withManifest is a module with another content in its last section, the manifest.
func withManifest(t *testing.T, wasm string, content []byte) string {
	t.Helper()
	name := "\x13" + abi.ManifestSection
	at := strings.LastIndex(wasm, name) - len("\x00\xff\x01") // the section's id and size
	if at < 0 || wasm[at] != 0 {
		t.Fatal("the manifest is not the last section")
	}
	body := name + string(content)
	return wasm[:at] + string(varint.AppendUvarint([]byte{0}, uint64(len(body)))) + body
}

func TestModuleConform(t *testing.T) {
	o := run(t, ".", "module", "conform", wasmFile("delays-c"))
	o.expect(t, exitOK)
	if !strings.Contains(o.stdout, "1 functions, ") || !strings.HasSuffix(o.stdout, ": all passed\n") {
		t.Error(o.stdout)
	}
	run(t, ".", "module", "conform", wasmFile("count-c")).expect(t, exitBadInput, "it has no function of the suites: they are delays, ")
	run(t, ".", "module", "conform", wasmFile("misbehaving-version")).expect(t, exitRefused, "refused: ")
	run(t, ".", "module", "conform", "--suite", "delays", wasmFile("delays-c")).expect(t, exitOK)
	run(t, ".", "module", "conform", "--suite", "roles", wasmFile("delays-c")).expect(t, exitBadInput, "it has no function of the suites: they are ")
	run(t, ".", "module", "conform", "--suite", "delay", wasmFile("delays-c")).expect(t, exitBadInput, `there is no suite "delay"; there are delays, `)
	run(t, ".", "module", "conform", "nowhere.wasm").expect(t, exitBadInput, "there is no such file")
}

// A module that only says that it is `delays` fails, and it is told where.
func TestModuleConformFails(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "m.wasm"), read(t, wasmFile("misbehaving-no-result")))
	write(t, filepath.Join(folder, "m.json"), strings.Replace(read(t, "../../udfs/misbehaving/c/manifest.json"), `"misbehaving"`, `"delays"`, 1))
	run(t, folder, "module", "pack", "m.wasm", "--manifest", "m.json").expect(t, exitOK)
	o := run(t, folder, "module", "conform", "m.wasm")
	o.expect(t, exitFailed)
	const told = "FAILED  delays (aggregate): one flight\n        frame 1, result 0\n        missing: for op 2 emit to output 0, (flights 1, delay_sum 7, delay_max 7)\n"
	if !strings.Contains(o.stdout, told) {
		t.Error(o.stdout)
	}
	write(t, filepath.Join(folder, "cases.txt"), "function delays\ncase one flight\ncreate 0\nadd 0 {\"delay\": 7}\nresult 0 => {\"flights\": 2}\n")
	o = run(t, folder, "module", "conform", "m.wasm", "--cases", "cases.txt")
	o.expect(t, exitFailed)
	// Played in several ways it is told once; what comes then is something else.
	const once = "FAILED  delays (aggregate): one flight\n        frame 1, line 5: result 0\n        missing: for op 2 emit to output 0, (flights 2, delay_sum NULL, delay_max NULL)\nFAILED  delays (aggregate): a frame of another version, as a later version would have it\n"
	if !strings.HasPrefix(o.stdout, once) {
		t.Errorf("got  %s\nwant %s", o.stdout, once)
	}
	o = run(t, folder, "module", "conform", "--json", "m.wasm")
	o.expect(t, exitFailed)
	var found conformity
	if err := json.Unmarshal([]byte(o.stdout), &found); err != nil {
		t.Fatal(err)
	}
	if found.Passed || found.Vectors < 20 || len(found.Failures) == 0 || found.Failures[0].Problem == "" {
		t.Errorf("got %+v", found)
	}
}

// TestModuleInspectRun runs functions on the cases beside them, on cases that are named,
// and on rows that are made up.
func TestModuleInspectRun(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "delays.wasm"), read(t, wasmFile("delays-c")))
	made := run(t, folder, "module", "inspect", "--run", "delays.wasm")
	made.expect(t, exitOK)
	write(t, filepath.Join(folder, "cases.txt"), read(t, "../../udfs/delays/cases.txt"))
	cases := run(t, folder, "module", "inspect", "--run", "delays.wasm")
	cases.expect(t, exitOK)
	for _, c := range []struct {
		o    outcome
		want []string
	}{
		{made, []string{"delays (aggregate), run on rows that are made up\n", "  start ", " of fuel for its opening\n", "  memory ", "  together ", "  alone ", "fuel: least", "  create ", "  add ", "  merge ", "  result "}},
		{cases, []string{"delays (aggregate), run on cases.txt\n", "  merge "}},
	} {
		for _, part := range c.want {
			if !strings.Contains(c.o.stdout, part) {
				t.Errorf("it does not show %q\n%s", part, c.o.stdout)
			}
		}
	}
	write(t, filepath.Join(folder, "cases.txt"), "function other\n")
	o := run(t, folder, "module", "inspect", "--run", "delays.wasm")
	o.expect(t, exitOK)
	if !strings.Contains(o.stdout, `not used: cases.txt: line 1: no function "other" in the manifest`) || !strings.Contains(o.stdout, "made up") {
		t.Error(o.stdout)
	}
	run(t, folder, "module", "inspect", "--run", "--cases", "cases.txt", "delays.wasm").expect(t, exitBadInput, `cases.txt: line 1: no function "other"`)
	run(t, folder, "module", "inspect", "--cases", "cases.txt", "delays.wasm").expect(t, exitBadInput, "--cases needs --run")
}

// TestModuleInspectRunJSON: fuel is the same each time, and each op costs some.
func TestModuleInspectRunJSON(t *testing.T) {
	t.Parallel()
	costs := func() (found inspection) {
		o := run(t, ".", "module", "inspect", "--run", "--json", wasmFile("delays-c"))
		o.expect(t, exitOK)
		if err := json.Unmarshal([]byte(o.stdout), &found); err != nil {
			t.Fatal(err)
		}
		return found
	}
	first, again := costs(), costs()
	f := first.Run.Functions[0]
	if f.Problem != "" || !f.Generated || f.Function != "delays" || f.MemoryBytes < 1<<16 || f.Start <= 0 || f.Opening.Fuel <= 0 || f.Together == nil || f.Together.OpsMax < 100 {
		t.Errorf("got %+v", f)
	}
	var kinds []string
	for i, op := range f.Ops {
		kinds = append(kinds, op.Op)
		if op.Fuel.Least <= 0 || op.Fuel.Least > op.Fuel.Median || op.Fuel.Median > op.Fuel.Most || op.Time <= 0 || op.Asked == 0 {
			t.Errorf("%+v", op)
		}
		if got := again.Run.Functions[0].Ops[i]; got.Fuel != op.Fuel || got.Effects != op.Effects {
			t.Errorf("%+v the first time, then %+v", op, got)
		}
		// A result has a row of three columns behind the effect's header.
		if want := int64(16 + 8 + 3*8); op.Op == "result" && (op.Effects.Least != want || op.Effects.Most != want) {
			t.Errorf("a result's effects have %+v bytes, want %d", op.Effects, want)
		}
	}
	if strings.Join(kinds, " ") != "create add merge result" {
		t.Errorf("asked %v", kinds)
	}
}

// TestModuleInspectRunRoles: rows can be made up for functions of all roles, and what a
// function sets a timer for, or merges, is asked too.
func TestModuleInspectRunRoles(t *testing.T) {
	t.Parallel()
	asked := map[string][]string{}
	for _, name := range []string{"roles-c", "stores-c", "keeps-c", "windows-c"} {
		o := run(t, ".", "module", "inspect", "--run", "--json", wasmFile(name))
		var found inspection
		if err := json.Unmarshal([]byte(o.stdout), &found); err != nil {
			t.Fatal(err, o.stderr)
		}
		for _, f := range found.Run.Functions {
			if f.Problem != "" {
				t.Errorf("%s: %s (%s): %s", name, f.Function, f.Role, f.Problem)
			}
			for _, op := range f.Ops {
				asked[f.Role] = append(asked[f.Role], op.Op)
			}
		}
	}
	for role, ops := range map[string][]string{
		"process": {"on-record", "on-timer"}, "trigger": {"on-element", "on-event-time", "on-merge", "clear"},
		"aggregate": {"merge", "result"}, "reduce": {"reduce"},
	} {
		for _, op := range ops {
			if !slices.Contains(asked[role], op) {
				t.Errorf("of the role %s no %s was asked, only %v", role, op, asked[role])
			}
		}
	}
}

// TestModuleInspectRunBad: a fault is told, with what was asked, and what else the module
// has is run all the same.
func TestModuleInspectRunBad(t *testing.T) {
	t.Parallel()
	list, err := filepath.Glob(wasmFile("misbehaving-*"))
	if err != nil || len(list) < 5 {
		t.Fatal(list, err)
	}
	failed := 0
	for _, path := range list {
		o := run(t, ".", "module", "inspect", "--run", path)
		switch o.code {
		case exitOK, exitRefused:
		case exitFailed:
			failed++
			if !strings.Contains(o.stderr, filepath.Base(path)+": function misbehaving failed: generated (a frame for each op): ") || !strings.Contains(o.stdout, "  FAILED: ") {
				t.Errorf("%s\n%s", o.stderr, o.stdout)
			}
		default:
			t.Errorf("%s: exit code %d\n%s", path, o.code, o.stderr)
		}
	}
	if failed < 5 {
		t.Errorf("only %d of %d bad modules fail", failed, len(list))
	}
	run(t, ".", "module", "inspect", "--run", "nowhere.wasm").expect(t, exitBadInput, "there is no such file")
}

// TestModulePackManifests: what is wrong in a manifest's JSON, with its place.
func TestModulePackManifests(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "m.wasm"), read(t, wasmFile("delays-c")))
	const function = `"name": "f", "role": "process", "input": {"any": true}, "output": {"fields": [{"name": "n", "type": "INT"}]}`
	state := func(more string) string {
		return `{"functions": [{` + function + `, "states": [{"name": "last", "kind": "value", "value": {"fields": [{"name": "v", "type": "INT"}]}` + more + `}]}]}`
	}
	for text, want := range map[string]string{
		state(`, "ttl": "-5"`):    `function "f": state "last": its ttl "-5" is no duration: `,
		state(`, "ttl": "-5s"`):   `function "f": state "last": its ttl "-5s" is not positive`,
		state(`, "ttl": "0s"`):    `its ttl "0s" is not positive`,
		state(`, "ttl": "1 day"`): `its ttl "1 day" is no duration: a duration is numbers with the units`,
		state(`, "tll": "5s"`):    `functions[0].states[0].tll: there is no such field; did you mean "ttl"?`,
		state(`, "ttl_update": "write", "ttl": "5s", "ttlVisibilty": "once"`):      `functions[0].states[0].ttlVisibilty: there is no such field; did you mean "ttlVisibility"?`,
		"{\n \"functions\": [{\n  \"name\": \"f\", \"second\": {\"any\": true}}]}": `(line 3:16): functions[0].second: there is no such field; did you mean "secondInput"?`,
		`{"functions": [{"name": "f", "role": 5}]}`:                                `(line 1:38): invalid value for string field role: 5`,
		`{"function": []}`: `(line 1:2): function: there is no such field; did you mean "functions"?`,
		`{"functions": [{` + function + `, "input_schema": {}}]}`:                                               `functions[0].input_schema: there is no such field; fields are [name role input`,
		`{"functions": [{"name": "f", "role": "filter", "input": {"fields": [{"nmae": "v", "type": "INT"}]}}]}`: `functions[0].input.fields[0].nmae: there is no such field; did you mean "name"?`,
	} {
		write(t, filepath.Join(folder, "m.json"), text)
		run(t, folder, "module", "pack", "m.wasm", "--manifest", "m.json").expect(t, exitBadInput, "m.json: ", want)
	}
	write(t, filepath.Join(folder, "m.json"), state(`, "ttl_update": "write", "ttl": "1h30m"`))
	run(t, folder, "module", "pack", "m.wasm", "--manifest", "m.json").expect(t, exitOK)
}
