package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// builders build an example's folder of a language as a module; the manifest is packed in.
var builders = map[string]func(t *testing.T, sdk, source, wasm string){
	"c": func(t *testing.T, sdk, source, wasm string) {
		files, err := filepath.Glob(filepath.Join(source, "*.c"))
		if err != nil {
			t.Fatal(err)
		}
		build(t, source, nil, "clang-19", append([]string{"--target=wasm32", "-nostdlib", "-O3", "-mbulk-memory", "-Wall", "-Wextra", "-Werror",
			"-Wl,--no-entry", "-Wl,-z,stack-size=65536", "-Wl,--strip-all", "-I" + sdk, "-o", wasm}, files...)...)
		run(t, source, "module", "pack", wasm, "--manifest", "manifest.json").expect(t, 0)
	},
	"go": func(t *testing.T, _, source, wasm string) {
		build(t, source, []string{"GOOS=wasip1", "GOARCH=wasm"}, "go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", wasm, ".")
		run(t, source, "module", "pack", wasm).expect(t, 0)
	},
	"rust": func(t *testing.T, _, source, wasm string) {
		target, name := t.TempDir(), strings.ReplaceAll(strings.TrimSuffix(filepath.Base(wasm), ".wasm"), "-", "_")
		build(t, source, []string{"RUSTFLAGS=-C link-arg=-zstack-size=65536"}, "cargo", "build", "--quiet", "--offline", "--release", "--lib",
			"--target", "wasm32-unknown-unknown", "--target-dir", target)
		write(t, wasm, read(t, filepath.Join(target, "wasm32-unknown-unknown/release", name+".wasm")))
		run(t, source, "module", "pack", wasm).expect(t, 0)
	},
}

func build(t *testing.T, folder string, env []string, program string, args ...string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
}

// TestExamples builds each example of udfs/examples and plays its cases and its job's scenario. In Go and Rust, whose
// modules take long to be built, that is done for one; the cases of the others are played natively by their own tests.
func TestExamples(t *testing.T) {
	folders, err := filepath.Glob("../../udfs/examples/*/cases.txt")
	if err != nil || len(folders) == 0 {
		t.Fatal("no examples: ", err)
	}
	for _, cases := range folders {
		for language, builder := range builders {
			name := filepath.Base(filepath.Dir(cases))
			if language != "c" && name != "fraud" && os.Getenv("WASMSTREAM_ALL_EXAMPLES") == "" {
				continue
			}
			t.Run(name+" "+language, func(t *testing.T) {
				if _, err := exec.LookPath(offered[language]); err != nil {
					if os.Getenv("WASMSTREAM_REQUIRE_TOOLS") == "1" {
						t.Fatal(err)
					}
					t.Skip("SKIPPED: ", err)
				}
				source, err := filepath.Abs(filepath.Join(filepath.Dir(cases), language))
				if err != nil {
					t.Fatal(err)
				}
				folder := t.TempDir()
				builder(t, filepath.Join(source, "../../../../guest-sdk", language), source, filepath.Join(folder, name+".wasm"))
				write(t, filepath.Join(folder, "cases.txt"), read(t, cases))
				write(t, filepath.Join(folder, name+".scenario"), read(t, strings.TrimSuffix(cases, "cases.txt")+name+".scenario"))
				run(t, folder, "module", "conform", name+".wasm", "--cases", "cases.txt").expect(t, 0)
				run(t, folder, "test", name+".scenario").expect(t, 0)
				run(t, folder, "test", "--restart-every", "--batch=3", name+".scenario").expect(t, 0)
			})
		}
	}
}

// firstFiles are files that docs/functions.md has its reader write: their names stand before the blocks.
func firstFiles(t *testing.T) map[string]string {
	t.Helper()
	text, _ := document(t, "docs/functions.md")
	_, text, _ = strings.Cut(text, "\n## The first one, in five minutes\n")
	text, _, _ = strings.Cut(text, "\n## ")
	files := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)`([a-z-]+\\.[a-z]+)`[^`\n]*:\n\n```[a-z]+\n((?:[^`].*\n|\n)+)```").FindAllStringSubmatch(text, -1) {
		files[m[1]] = m[2]
	}
	return files
}

// TestFiveMinutes does what docs/functions.md says of the first function.
func TestFiveMinutes(t *testing.T) {
	folder := t.TempDir()
	sdk, err := filepath.Abs("../../guest-sdk/go")
	if err != nil {
		t.Fatal(err)
	}
	run(t, folder, "new", "function", "first-seen", "--language", "go", "--role", "process", "--sdk", sdk).expect(t, 0)
	made := filepath.Join(folder, "first-seen")
	files := firstFiles(t)
	if len(files) != 5 {
		t.Fatalf("the page has %d files", len(files))
	}
	for name, text := range files {
		write(t, filepath.Join(made, name), text)
	}
	_, blocks := document(t, "docs/functions.md")
	at := slices.IndexFunc(blocks, func(b readmeBlock) bool { return b.language == "console" })
	for _, line := range blocks[at].lines {
		switch words := strings.Fields(strings.TrimPrefix(line, "$ ")); words[0] {
		case "make":
			makeIn(t, made, words[1:]...)
		default:
			run(t, made, words[1:]...).expect(t, 0)
		}
	}
	script := read(t, filepath.Join(made, "first-seen.scenario"))
	if _, wants, _ := strings.Cut(script, "-- script --\n"); wants != `emit events {"id":"a","payload":"one"}
want out {"id":"a","payload":"one"}
emit events {"id":"a","payload":"two"}
` {
		t.Errorf("the page says what the scenario then has; it has\n%s", script)
	}
	if got, want := read(t, filepath.Join(made, "out/result.ndjson")), "{\"id\":\"a\",\"payload\":\"one\"}\n{\"id\":\"b\",\"payload\":\"one\"}\n"; got != want {
		t.Errorf("got %s", got)
	}
}

// TestFunctionsPage: the code of docs/functions.md stands in the examples, which TestExamples builds and plays, or is
// what TestFiveMinutes writes and does.
func TestFunctionsPage(t *testing.T) {
	var sources []string
	for _, pattern := range []string{"*/*.scenario", "*/cases.txt", "*/go/*.go", "*/c/*.c", "*/rust/src/*.rs"} {
		files, err := filepath.Glob("../../udfs/examples/" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			sources = append(sources, read(t, f))
		}
	}
	_, blocks := document(t, "docs/functions.md")
	for _, text := range firstFiles(t) {
		sources = append(sources, text)
	}
	for _, b := range blocks {
		code := strings.Join(b.lines, "\n")
		if b.language == "console" || strings.Contains(code, "interval-join:") { // TestStepsOfTwoStreams in host/job
			continue
		}
		if !slices.ContainsFunc(sources, func(s string) bool { return strings.Contains(s, code) }) {
			t.Errorf("no example has\n%s", code)
		}
	}
	if len(blocks) < 7 {
		t.Errorf("only %d pieces of code were found", len(blocks))
	}
}

// TestFunctionsPageNamesLimits: the page has all fields of limits, with their defaults.
func TestFunctionsPageNamesLimits(t *testing.T) {
	text, _ := document(t, "docs/functions.md")
	var schema struct {
		Properties struct {
			Limits struct {
				Properties map[string]struct{ Description string }
			}
		}
	}
	if err := json.Unmarshal([]byte(read(t, "../../docs/job.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	fields := schema.Properties.Limits.Properties
	if len(fields) != 11 {
		t.Errorf("the page says that there are eleven fields; there are %d", len(fields))
	}
	for name, field := range fields {
		found := regexp.MustCompile(`[Dd]efault (\w+)\.`).FindStringSubmatch(field.Description)
		if found == nil {
			t.Errorf("%s: the schema tells no default: %s", name, field.Description)
		} else if row := "| `" + name + "` | " + found[1] + " |"; !strings.Contains(text, row) {
			t.Errorf("the page lacks %s", row)
		}
	}
}

// TestFunctionsPageLimits: what the page says of limits and faults is what SECURITY.md and the job file have, and its links
// lead somewhere.
func TestFunctionsPageLimits(t *testing.T) {
	text, _ := document(t, "docs/functions.md")
	for _, m := range regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join("../../docs", m[1])); err != nil {
			t.Errorf("a link leads nowhere: %v", err)
		}
	}
	_, limits, found := strings.Cut(text, "\n## Limits\n")
	if !found || !strings.Contains(limits, "(../SECURITY.md)") {
		t.Fatal("the page has no section on limits that leads to SECURITY.md")
	}
	security, _ := document(t, "SECURITY.md")
	for _, what := range []string{"fuel", "memory", "depth", "size"} {
		if !strings.Contains(limits, what) || !regexp.MustCompile(`(?m)^\| `+what).MatchString(security) {
			t.Errorf("%s is not a limit of both pages", what)
		}
	}
	schema := read(t, "../../docs/job.schema.json")
	_, onFault, _ := strings.Cut(schema, `"on-fault"`)
	_, onFault, _ = strings.Cut(onFault, `"enum": [`)
	onFault, _, _ = strings.Cut(onFault, "]")
	for _, m := range regexp.MustCompile(`"([a-z-]+)"`).FindAllStringSubmatch(onFault, -1) {
		if !strings.Contains(limits, "| `"+m[1]+"`") {
			t.Errorf("on-fault: %s is not on the page", m[1])
		}
	}
	// The share and the least number of faults, as the schema has them.
	for _, part := range []string{"and at least 100;", "Default 0.1."} {
		if !strings.Contains(schema, part) {
			t.Errorf("the schema does not say %q any more; the page says that it is 0.1, never for fewer than 100 faults", part)
		}
	}
	if !strings.Contains(limits, "(0.1 by default, never for fewer than 100 faults)") {
		t.Error("the page does not say when a job fails of its faults")
	}
}
