package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// scenarioText is a scenario of one sum; SUM is what its want line claims.
const scenarioText = `A sum.
-- job.yaml --
version: 1
name: sums
sources:
  in: {test: {}, schema: {k: STRING, v: BIGINT}}
steps:
  sums: {from: in, key-by: [k], window: {tumbling: {size: 10ms}}, aggregate: {v: sum(v)}}
sinks:
  out: {from: sums, test: {}}
-- script --
emit in {"k":"<a>","v":1} @1
watermark in 9
want out {"k":"<a>","v":SUM,"window_start":0,"window_end":10} @9
`

// scenarios is a folder of scenarios that pass and others that do not.
func scenarios(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"a.scenario":                     strings.Replace(scenarioText, "SUM", "1", 1),
		"b/b.scenario":                   strings.Replace(scenarioText, "SUM", "2", 1),
		"b/refused.scenario":             strings.Replace(scenarioText, "tumbling: {size: 10ms}", "wasm: m.assign", 1),
		"b/note.txt":                     "no scenario",
		"b/restart-sensitive/c.scenario": strings.Replace(scenarioText, "SUM", "1", 1),
		"broken/d.scenario":              strings.Replace(scenarioText, "watermark in", "watermark", 1),
	} {
		write(t, filepath.Join(folder, name), text)
	}
	return folder
}

func (o outcome) expectStdout(t *testing.T, want string) {
	t.Helper()
	if o.stdout != want {
		t.Errorf("stdout:\n%s\nwant:\n%s", o.stdout, want)
	}
}

const failedSum = `b/b.scenario:13: fail: after "watermark in 9":
  missing    want out {"k":"<a>","v":2,"window_start":0,"window_end":10} @9   (line 14)
  unexpected want out {"k":"<a>","v":1,"window_start":0,"window_end":10} @9
`

func TestScenarios(t *testing.T) {
	folder := scenarios(t)
	o := run(t, folder, "test", "a.scenario", "./a.scenario")
	o.expect(t, 0)
	o.expectStdout(t, "1 passed, 0 failed\n")

	o = run(t, folder, "test", "b", "a.scenario")
	o.expect(t, 1)
	o.expectStdout(t, failedSum+"b/refused.scenario:8: error: steps.sums.window.wasm: There is no module \"m\": the job's modules declare none\n2 passed, 2 failed\n")

	o = run(t, folder, "test", "--restart-every", "--batch=3", "--parallelism=2", "--fresh-instance", "a.scenario", "b/restart-sensitive", "b/restart-sensitive/c.scenario")
	o.expect(t, 0)
	o.expectStdout(t, "1 passed, 0 failed\n")

	o = run(t, folder, "test", "broken", "a.scenario")
	o.expect(t, 2)
	o.expectStdout(t, "broken/d.scenario:13: error: watermark lacks a part; the form is: watermark SOURCE T\n1 passed, 1 failed\n")
}

func TestScenariosAsJSON(t *testing.T) {
	o := run(t, scenarios(t), "test", "--json", "b")
	o.expect(t, 1, "1 passed, 2 failed\n")
	var results []map[string]any
	for d := json.NewDecoder(strings.NewReader(o.stdout)); d.More(); {
		var r map[string]any
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
	}
	if len(results) != 3 || strings.Count(o.stdout, "\n") != 3 {
		t.Fatalf("stdout:\n%s", o.stdout)
	}
	for i, want := range []string{"fail", "error", "pass"} {
		if results[i]["result"] != want {
			t.Errorf("result %d is %v, want %s", i, results[i], want)
		}
	}
	if r := results[0]; r["file"] != "b/b.scenario" || r["line"] != 13.0 || !strings.Contains(r["message"].(string), `"<a>"`) {
		t.Errorf("got %v", r)
	}
}

// TestScenariosAreUpdated follows a link, keeps the permissions and leaves alone
// what is right already.
func TestScenariosAreUpdated(t *testing.T) {
	folder := scenarios(t)
	if err := os.Chmod(filepath.Join(folder, "b/b.scenario"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("b/b.scenario", filepath.Join(folder, "link.scenario")); err != nil {
		t.Fatal(err)
	}
	o := run(t, folder, "test", "--update", "a.scenario", "link.scenario")
	o.expect(t, 0)
	o.expectStdout(t, "link.scenario: updated\n2 passed, 0 failed\n")
	if got, want := read(t, filepath.Join(folder, "b/b.scenario")), read(t, filepath.Join(folder, "a.scenario")); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	info, err := os.Lstat(filepath.Join(folder, "b/b.scenario"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is now %v, %v", info.Mode(), err)
	}
	if info, err := os.Lstat(filepath.Join(folder, "link.scenario")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is now %v, %v", info.Mode(), err)
	}
}

// TestUpdatesOfTooManyBytes has a file that is read, and would not be any more.
func TestUpdatesOfTooManyBytes(t *testing.T) {
	folder := scenarios(t)
	before := regexp.MustCompile(`(?m)^want.*\n`).ReplaceAllString(read(t, filepath.Join(folder, "b/b.scenario")), "")
	before = strings.Repeat(strings.Repeat("x", 1023)+"\n", 64<<10-1) + before // a description
	before += "#" + strings.Repeat("x", 64<<20-len(before)-1)
	if err := os.WriteFile(filepath.Join(folder, "b/b.scenario"), []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	o := run(t, folder, "test", "--update", "b/b.scenario")
	o.expect(t, 2)
	o.expectStdout(t, "b/b.scenario: error: with its want lines it would have more than 67108864 bytes; it stays as it is\n0 passed, 1 failed\n")
	if read(t, filepath.Join(folder, "b/b.scenario")) != before {
		t.Error("the file is another now")
	}
}

func TestBadScenarioArguments(t *testing.T) {
	folder := scenarios(t)
	for line, want := range map[string]string{
		"test":                               "path",
		"test a.scenari":                     "a.scenari: there is no such file; did you mean a.scenario?",
		"test b/note.txt/x":                  "b/note.txt/x: ",
		"test --state=disk a.scenario":       "--state disk is not offered yet",
		"test --state=tape a.scenario":       "--state",
		"test --wasm-twins=go a.scenario":    "there is no testdata/wasm/twins-go.wasm in this folder or above it",
		"test --wasm-twins=java a.scenario":  "--wasm-twins",
		"test --batch=-1 a.scenario":         "batch is -1; choose from 1 to 1048576",
		"test --update --batch=3 a.scenario": "leave the batch out",
	} {
		t.Run(line, func(t *testing.T) { run(t, folder, strings.Fields(line)...).expect(t, 2, want) })
	}
	if err := os.Mkdir(filepath.Join(folder, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, folder, "test", "empty").expect(t, 2, "empty: there is no file *.scenario below it")
}

// TestScenariosOfWasmJobs runs the scenarios of the README's jobs.
func TestScenariosOfWasmJobs(t *testing.T) {
	o := run(t, testdata, "test", "--fresh-instance", "--batch=3", "scenarios/hourly-delays")
	o.expect(t, 0)
	o.expectStdout(t, "3 passed, 0 failed\n")
}
