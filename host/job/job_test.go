package job

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/wasmstream/wasmstream/abi"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata and docs/job.schema.json")

// run parses the job of an archive with the archive's modules (manifests as
// JSON in files NAME.wasm) and environment, and tells plan and warnings or
// problems.
func run(t *testing.T, a *txtar.Archive) string {
	o := Options{File: "job.yaml", Dir: "/jobs", Getenv: func(string) (string, bool) { return "", false }, Zone: time.LoadLocation}
	var text []byte
	manifests, answers := map[string][]byte{}, map[string]map[uint32]string{}
	for _, f := range a.Files {
		switch {
		case f.Name == "job.yaml":
			text = f.Data
		case f.Name == "test":
			o.Test = true
		case f.Name == "env":
			vars := map[string]string{}
			for line := range strings.Lines(string(f.Data)) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
				vars[name] = value
			}
			o.Getenv = func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
		case strings.HasPrefix(f.Name, "open "):
			// What a function answers for its output of that number: open NAME NUMBER.
			var name string
			var output uint32
			if _, err := fmt.Sscanf(f.Name, "open %s %d", &name, &output); err != nil {
				t.Fatal(err)
			}
			if answers[name] == nil {
				answers[name] = map[uint32]string{}
			}
			answers[name][output] = string(f.Data)
		case strings.HasSuffix(f.Name, ".wasm"):
			manifests[filepath.Join(o.Dir, f.Name)] = f.Data
		}
	}
	if len(answers) > 0 {
		o.Open = func(f *Function) (map[uint32]string, error) {
			if answers[f.Name] == nil {
				return nil, errors.New("no such luck\nwith " + SchemaText(f.Inputs[0].Schema))
			}
			return answers[f.Name], nil
		}
	}
	o.Manifest = func(m Module) (*abi.Manifest, error) {
		text, ok := manifests[m.Path]
		if !ok {
			return nil, errors.New("there is no such file")
		}
		return abi.ParseManifestJSON(text)
	}
	j, err := Parse(text, o)
	if err == nil {
		checkPlan(t, j)
	}
	return outcome(j, err)
}

// outcome writes what Parse gave; what is not offered yet is marked by a ~.
func outcome(j *Job, err error) string {
	var b strings.Builder
	var problems Problems
	if errors.As(err, &problems) {
		for _, p := range problems {
			if p.Unsupported {
				b.WriteString("~ ")
			}
			b.WriteString(p.String() + "\n")
		}
		return b.String()
	}
	for _, w := range j.Warnings {
		b.WriteString("warning: " + w.String() + "\n")
	}
	return b.String() + j.String()
}

// TestText runs testdata/*.txtar: the section "want" of each case is the plan,
// or all problems. Cases follow each other, each begun by a section "case NAME".
func TestText(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no testdata", err)
	}
	for _, path := range files {
		whole, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out := &txtar.Archive{Comment: whole.Comment}
		for _, c := range cases(whole) {
			want := -1
			for i, f := range c.Files {
				if f.Name == "want" {
					want = i
				}
			}
			got := run(t, c)
			switch {
			case *update && want < 0:
				c.Files = append(c.Files, txtar.File{Name: "want", Data: []byte(got)})
			case *update:
				c.Files[want].Data = []byte(got)
			case want < 0:
				t.Errorf("%s: %s: no section want", path, c.Files[0].Name)
			default:
				if d := cmp.Diff(string(c.Files[want].Data), got); d != "" {
					t.Errorf("%s: %s (-want +got):\n%s", path, c.Files[0].Name, d)
				}
			}
			out.Files = append(out.Files, c.Files...)
		}
		if *update {
			if err := os.WriteFile(path, txtar.Format(out), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// cases splits an archive at its sections "case …".
func cases(a *txtar.Archive) []*txtar.Archive {
	var list []*txtar.Archive
	for _, f := range a.Files {
		if strings.HasPrefix(f.Name, "case ") {
			list = append(list, &txtar.Archive{})
		}
		c := list[len(list)-1]
		c.Files = append(c.Files, f)
	}
	return list
}

// TestJSONSchema holds docs/job.schema.json to the table (invariant T).
func TestJSONSchema(t *testing.T) {
	const path = "../../docs/job.schema.json"
	got := JSONSchema()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("docs/job.schema.json is not what the table says; go test ./host/job -run JSONSchema -update rewrites it (-want +got):\n%s", d)
	}
}

// TestOtherEditors: a byte order mark and CRLF change nothing.
func TestOtherEditors(t *testing.T) {
	text := "version: 1\nname: j\nsources:\n  in: {test: {}, schema: {k: STRING}}\nsinks:\n  out: {from: in, test: {}}\n"
	want := outcome(Parse([]byte(text), Options{Test: true}))
	got := outcome(Parse([]byte("\ufeff"+strings.ReplaceAll(text, "\n", "\r\n")), Options{Test: true}))
	if got != want || !strings.Contains(got, "sink out: test from in") {
		t.Errorf("got %s want %s", got, want)
	}
}

// TestDocumentation: the job in docs/enrich.md is one.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/enrich.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	part, _, _ := strings.Cut(rest, "```")
	manifest, err := os.ReadFile("../../udfs/lookup/c/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	whole := "version: 1\nname: j\nsources: {keys: {file: {path: k, format: {wasm: m.line}}, schema: {key: STRING}}}\nsinks: {out: {from: found, file: {path: o, format: {wasm: m.told}}}}\n" + part
	_, err = Parse([]byte(whole), Options{File: "docs", Dir: "/d", Manifest: func(Module) (*abi.Manifest, error) { return abi.ParseManifestJSON(manifest) }})
	if err != nil {
		t.Error(err)
	}
}

// TestStepsOfTwoStreams: the steps in docs/functions.md that read two streams are sound.
func TestStepsOfTwoStreams(t *testing.T) {
	text, err := os.ReadFile("../../docs/functions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n## Steps that read two streams\n")
	_, rest, _ = strings.Cut(rest, "```yaml\n")
	steps, _, _ := strings.Cut(rest, "```")
	const head = `version: 1
name: two
modules: {m: {file: m.wasm}}
sources:
  payments: {file: {path: p, format: json}, schema: {user: STRING, amount: BIGINT, at: TIMESTAMP(3)}, event-time: at}
  refunds: {file: {path: r, format: json}, schema: {user: STRING, amount: BIGINT, at: TIMESTAMP(3)}, event-time: at}
  rates: {file: {path: q, format: json}, schema: {amount: BIGINT, at: TIMESTAMP(3)}, event-time: at}
sinks: {out: {from: [within, together, balance, settled, rated], file: {path: o, format: json}}}
`
	amounts := `{"fields": [{"name": "amount", "type": "BIGINT"}]}`
	var functions []string
	for name, role := range map[string]string{"pair": abi.RoleJoin, "balance": abi.RoleCoGroup, "settle": abi.RoleCoProcess, "rate": abi.RoleBroadcastProcess} {
		functions = append(functions, fmt.Sprintf(`{"name": %q, "role": %q, "input": %s, "secondInput": %[3]s, "output": %[3]s}`, name, role, amounts))
	}
	manifest, err := abi.ParseManifestJSON([]byte(`{"functions": [` + strings.Join(functions, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	j, err := Parse([]byte(head+steps), Options{File: "docs", Dir: "/d", Manifest: func(Module) (*abi.Manifest, error) { return manifest, nil }})
	if err != nil || len(j.Steps) != 5 {
		t.Error(err)
	}
}

// TestKeysWithoutEnd: of whatever keeps something for each key, check says so where
// nothing ever forgets it, and not where something does.
func TestKeysWithoutEnd(t *testing.T) {
	const (
		number = `{"fields": [{"name": "v", "type": "BIGINT"}]}`
		input  = `"input": ` + number + `, "output": ` + number
		forms  = `"states": [{"name": "kept", "kind": "value", "value": ` + number
	)
	manifest := []byte(`{"functions": [
		{"name": "process", "role": "process", ` + input + `, ` + forms + `}]},
		{"name": "ttl", "role": "process", ` + input + `, ` + forms + `, "ttl": "1d"}]},
		{"name": "list", "role": "process", ` + input + `, "states": [{"name": "kept", "kind": "list", "value": ` + number + `}]},
		{"name": "map", "role": "process", ` + input + `, "states": [{"name": "kept", "kind": "map", "key": ` + number + `, "value": ` + number + `}]},
		{"name": "none", "role": "process", ` + input + `},
		{"name": "two", "role": "co-process", ` + input + `, "secondInput": ` + number + `, ` + forms + `}]},
		{"name": "shared", "role": "broadcast-process", ` + input + `, "secondInput": ` + number + `, ` + forms + `}]},
		{"name": "apply", "role": "apply", ` + input + `, ` + forms + `}]},
		{"name": "apply-window", "role": "apply", ` + input + `, ` + forms + `, "scope": "window"}]},
		{"name": "trigger", "role": "trigger", ` + forms + `, "scope": "window"}]},
		{"name": "trigger-ttl", "role": "trigger", ` + forms + `, "scope": "window", "ttl": "1d"}]},
		{"name": "reduce", "role": "reduce", "input": ` + number + `},
		{"name": "sum", "role": "aggregate", ` + input + `, "accumulator": ` + number + `}
	]}`)
	const keyed, flagged, global = "from: in, key-by: [k], ", "from: in, key-by: [flag], ", "from: in, key-by: [k], window: {global: {}, trigger: "
	for step, want := range map[string]string{
		keyed + "process: {wasm: m.process}":   "keeps kept of the function process for every key",
		keyed + "process: {wasm: m.list}":      "keeps kept of the function list for every key",
		keyed + "process: {wasm: m.map}":       "keeps kept of the function map for every key",
		keyed + "process: {wasm: m.ttl}":       "",
		keyed + "process: {wasm: m.none}":      "",
		flagged + "process: {wasm: m.process}": "",
		"co-process: {left: in, right: in, left-key: [k], right-key: [k], function: {wasm: m.two}}": "keeps kept of the function two for every key",
		keyed + "broadcast-process: {broadcast: in, function: {wasm: m.shared}}":                    "keeps kept of the function shared for every key",
		keyed + "window: {tumbling: {size: 1s}}, apply: {wasm: m.apply}":                            "keeps kept of the function apply for every key",
		keyed + "window: {tumbling: {size: 1s}}, apply: {wasm: m.apply-window}":                     "",
		keyed + "window: {tumbling: {size: 1s}, trigger: {wasm: m.trigger}}, aggregate: {n: count}": "",
		global + "{count: 3}}, aggregate: {n: count}":                                               "keeps the window of every key",
		global + "{count: 3}}, aggregate: {wasm: m.sum}":                                            "keeps the window of every key",
		global + "{count: 3}}, reduce: {wasm: m.reduce}":                                            "keeps the window of every key",
		global + "{count: 3}}, apply: {wasm: m.apply-window}":                                       "keeps the window, and kept of the function apply-window, of every key",
		global + "{wasm: m.trigger}}, aggregate: {n: count}":                                        "keeps the window, and kept of the function trigger, of every key",
		global + "{wasm: m.trigger-ttl}}, aggregate: {n: count}":                                    "keeps the window of every key",
		global + "{purging: {wasm: m.trigger}}, evictor: {count: 3}}, aggregate: {n: count}":        "keeps the window, and kept of the function trigger, of every key",
		global + "{purging: {count: 3}}}, aggregate: {n: count}":                                    "keeps the window of every key",
		global + "{purging: {count: 1}}}, aggregate: {n: count}":                                    "",
		global + "{purging: {timeout: {trigger: {count: 3}, after: 1h}}}}, aggregate: {n: count}":   "",
		global + "{timeout: {trigger: {purging: {count: 3}}, after: 1h}}}, aggregate: {n: count}":   "keeps the window of every key",
		global + "end-of-stream}, aggregate: {n: count}":                                            "",
		flagged + "window: {global: {}, trigger: {count: 3}}, aggregate: {n: count}":                "",
	} {
		text := "version: 1\nname: j\nmodules: {m: {file: m.wasm}}\nsources:\n  in: {test: {}, schema: {k: STRING, v: BIGINT, flag: BOOLEAN}}\nsteps:\n  s: {" + step + "}\nsinks:\n  out: {from: s, test: {}}\n"
		plan, err := Parse([]byte(text), Options{File: "j", Dir: "/d", Test: true, Manifest: func(Module) (*abi.Manifest, error) { return abi.ParseManifestJSON(manifest) }})
		if err != nil {
			t.Errorf("%s: %v", step, err)
			continue
		}
		var got []string
		for _, w := range plan.Warnings {
			if strings.Contains(w.Message, "every key that ever comes") {
				got = append(got, w.Message)
			}
		}
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
			t.Errorf("%s: %q; want one with %q", step, got, want)
		}
	}
}
