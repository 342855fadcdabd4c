package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pages are how many blocks each page has. What shows code or commands is compiled and run by a test: a new block is to
// be one of those of a test, and to be counted here.
var pages = map[string]int{
	"README.md":                11, // TestReadme…
	"SECURITY.md":              0,
	"abi/README.md":            2, // TestManifestOfThePage in abi; the other one is a picture
	"docs/delivery.md":         0,
	"docs/enrich.md":           1,  // TestDocumentation in host/job
	"docs/functions.md":        12, // TestFunctionsPage, TestFiveMinutes, TestStepsOfTwoStreams in host/job
	"docs/monitoring.md":       24, // TestPage in host/server, TestMonitoringPage
	"docs/recording.md":        4,  // TestRecordingPage
	"docs/testing.md":          3,  // TestReadmeCommands
	"guest-sdk/c/README.md":    22, // TestFirstExamples, TestExamplesOfRoles, TestPagesOfSDKs
	"guest-sdk/go/README.md":   22,
	"guest-sdk/rust/README.md": 14, // TestRustReadme in udfs/build, TestPagesOfSDKs
	"udfs/README.md":           0,
	"udfs/twins/README.md":     0,
	"udfs/examples/README.md":  1, // TestPagesOfSDKs
}

func TestPagesAreTested(t *testing.T) {
	for _, pattern := range []string{"*.md", "docs/*.md", "abi/*.md", "guest-sdk/*/*.md", "udfs/*.md", "udfs/*/*.md"} {
		files, err := filepath.Glob("../../" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			name := strings.TrimPrefix(filepath.ToSlash(f), "../../")
			if name == "DESIGN.md" || name == "RATIONALE.md" || name == "CHANGELOG.md" {
				continue // for people who change wasmstream
			}
			_, blocks := document(t, name)
			if want, known := pages[name]; !known || len(blocks) != want {
				t.Errorf("%s has %d blocks, and %d are known to be tested", name, len(blocks), want)
			}
		}
	}
}

// page are the blocks of a page in one language, one behind the other.
func page(t *testing.T, name, language string) string {
	t.Helper()
	_, blocks := document(t, name)
	text := ""
	for _, b := range blocks {
		if b.language == language {
			text += strings.Join(b.lines, "\n") + "\n"
		}
	}
	if text == "" {
		t.Fatalf("%s has no block in %q", name, language)
	}
	return text
}

// block is one of a page, that which has a text.
func block(t *testing.T, name, with string) string {
	t.Helper()
	_, blocks := document(t, name)
	for _, b := range blocks {
		if text := strings.Join(b.lines, "\n"); strings.Contains(text, with) {
			return text + "\n"
		}
	}
	t.Fatalf("%s has no block with %q", name, with)
	return ""
}

// shell runs commands that call wasmstream.
func shell(t *testing.T, folder, commands string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-ec", commands)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "WASMSTREAM_CACHE_DIR="+cache, "PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"), "CARGO_NET_OFFLINE=true")
	finish(t, ctx, cmd).expect(t, 0)
}

// TestPagesOfSDKs builds what pages show by the commands that they show.
func TestPagesOfSDKs(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for language, c := range map[string]struct {
		page, commands string
		files          func(page string) map[string]string
	}{
		"c": {"guest-sdk/c/README.md", "clang-19 ", func(page string) map[string]string {
			return map[string]string{"names.c": block(t, page, "The longest name"), "manifest.json": block(t, page, `"abiVersion"`)}
		}},
		"go": {"guest-sdk/go/README.md", "go build", func(page string) map[string]string {
			return map[string]string{"go.mod": block(t, page, "replace "), "slow.go": block(t, page, "package main")}
		}},
		"rust": {"guest-sdk/rust/README.md", "cargo build", func(name string) map[string]string {
			return map[string]string{"Cargo.toml": block(t, name, "[package]"), "src/lib.rs": page(t, name, "rust"), "cases.txt": page(t, name, "cases")}
		}},
		"examples": {"udfs/examples/README.md", "clang-19 ", func(string) map[string]string { return nil }},
	} {
		t.Run(language, func(t *testing.T) {
			program := offered[language]
			if program == "" {
				program = offered["c"]
			}
			if _, err := exec.LookPath(program); err != nil {
				t.Skip("SKIPPED: ", err) // TestNewFunction says so where it must not be
			}
			beside := t.TempDir()
			folder := filepath.Join(beside, "mine")
			if err := os.Mkdir(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, place := range []string{beside, folder} { // in C it is in the project's own folder
				if err := os.Symlink(root, filepath.Join(place, "wasmstream")); err != nil {
					t.Fatal(err)
				}
			}
			for name, text := range c.files(c.page) {
				write(t, filepath.Join(folder, name), text)
			}
			if language == "examples" {
				if err := os.CopyFS(filepath.Join(folder, "udfs/examples/fraud"), os.DirFS("../../udfs/examples/fraud")); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(filepath.Join(root, "guest-sdk"), filepath.Join(folder, "guest-sdk")); err != nil {
					t.Fatal(err)
				}
				folder = filepath.Join(folder, "udfs/examples")
			}
			// Whoever runs tests in Rust has its target.
			commands := regexp.MustCompile(`(?m)^rustup .*\n`).ReplaceAllString(block(t, c.page, c.commands), "")
			shell(t, folder, commands)
		})
	}
}

// TestRecordingPage: what docs/recording.md says of a module that takes the least delay in place of the greatest.
func TestRecordingPage(t *testing.T) {
	if _, err := exec.LookPath(offered["c"]); err != nil {
		t.Skip("SKIPPED: ", err) // TestNewFunction says so where it must not be
	}
	folder, _ := recordJob(t)
	sdk, err := filepath.Abs("../../guest-sdk/c")
	if err != nil {
		t.Fatal(err)
	}
	source := read(t, "../../udfs/delays/c/delays.c")
	write(t, filepath.Join(folder, "new/new.c"), strings.Replace(source, "longest > ws_get", "longest < ws_get", 1))
	write(t, filepath.Join(folder, "new/manifest.json"), read(t, "../../udfs/delays/c/manifest.json"))
	builders["c"](t, sdk, filepath.Join(folder, "new"), filepath.Join(folder, "new.wasm"))
	write(t, filepath.Join(folder, "my.wasm"), read(t, wasmFile("delays-c")))
	const name = "docs/recording.md"
	shown := ""
	for line := range strings.Lines(page(t, name, "console")) {
		args := strings.Fields(strings.TrimPrefix(line, "$ wasmstream "))
		code := exitOK
		if strings.Contains(line, "--module") {
			code = exitFailed
		}
		o := run(t, folder, args...)
		o.expect(t, code)
		shown += o.stdout
	}
	if want := block(t, name, "step hourly"); strings.Count(shown, want) != 2 {
		t.Errorf("the page shows\n%s\nthe command shows\n%.2000s", want, shown)
	}
}

// TestMonitoringPage: the commands of docs/monitoring.md, and what one shows but for its numbers.
func TestMonitoringPage(t *testing.T) {
	folder, _ := recordJob(t)
	shell(t, folder, strings.Replace(page(t, "docs/monitoring.md", "sh"), ":9249", ":0", 1))
	write(t, filepath.Join(folder, "cases.txt"), read(t, "../../udfs/delays/cases.txt"))
	shown := block(t, "docs/monitoring.md", "inspect --run")
	command, want, _ := strings.Cut(shown, "\n")
	_, want, _ = strings.Cut(want, "…\n")
	o := run(t, folder, strings.Fields(strings.TrimPrefix(command, "$ wasmstream "))...)
	o.expect(t, exitOK)
	numbers, spaces := regexp.MustCompile(`[0-9][0-9,.]*( [nµm]s)?`), regexp.MustCompile(` +`)
	plain := func(s string) string { return spaces.ReplaceAllString(numbers.ReplaceAllString(s, "N"), " ") }
	if !strings.HasSuffix(plain(o.stdout), plain(want)) {
		t.Errorf("the page shows\n%s\nthe command shows\n%s", want, o.stdout)
	}
}

// TestReadmeCheckpointLine: the line by which the README's job goes on after a crash.
func TestReadmeCheckpointLine(t *testing.T) {
	folder, _ := recordJob(t)
	path := filepath.Join(folder, "job.yaml")
	write(t, path, read(t, path)+"\n"+block(t, "README.md", "{dir: state, interval: 10s}"))
	run(t, folder, "check", "job.yaml").expect(t, exitOK)
}
