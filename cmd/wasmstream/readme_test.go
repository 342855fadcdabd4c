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

// readmeBlock is a fenced block of the README: its language, and its lines.
type readmeBlock struct {
	language string
	lines    []string
}

func readme(t *testing.T) (text string, blocks []readmeBlock) {
	t.Helper()
	return document(t, "README.md")
}

func document(t *testing.T, name string) (text string, blocks []readmeBlock) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	text = string(b)
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch fence, ok := strings.CutPrefix(line, "```"); {
		case ok && !inside:
			blocks = append(blocks, readmeBlock{language: fence})
			inside = true
		case ok:
			inside = false
		case inside:
			last := &blocks[len(blocks)-1]
			last.lines = append(last.lines, line)
		}
	}
	return text, blocks
}

// TestReadmeCommands runs every command of the README, and of the page on testing,
// in a copy of what it names, and compares what it shows. `make test` is what runs
// this.
func TestReadmeCommands(t *testing.T) {
	for _, name := range []string{"README.md", "docs/testing.md"} {
		t.Run(name, func(t *testing.T) { runCommands(t, name) })
	}
}

func runCommands(t *testing.T, name string) {
	_, blocks := document(t, name)
	folder := t.TempDir()
	if err := os.CopyFS(filepath.Join(folder, "testdata"), os.DirFS(testdata)); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, b := range blocks {
		if name, ok := strings.CutPrefix(first(b.lines), "# file: "); ok {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(strings.Join(b.lines, "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if b.language != "console" {
			continue
		}
		for i, line := range b.lines {
			command, ok := strings.CutPrefix(line, "$ ")
			if !ok || command == "make test" {
				continue
			}
			ran++
			checkShown(t, folder, command, shownBelow(b.lines[i+1:]))
		}
	}
	if ran < 4 {
		t.Errorf("only %d commands were found", ran)
	}
}

func first(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return lines[0]
}

// shownBelow are the lines up to the next command.
func shownBelow(lines []string) []string {
	for i, line := range lines {
		if strings.HasPrefix(line, "$ ") {
			return lines[:i]
		}
	}
	return lines
}

func checkShown(t *testing.T, folder, command string, shown []string) {
	t.Helper()
	command = strings.Replace(command, "go run ./cmd/wasmstream", "wasmstream", 1)
	args, ok := strings.CutPrefix(command, "wasmstream ")
	if !ok {
		t.Errorf("the README has a command that this test does not know: %s", command)
		return
	}
	o := run(t, folder, strings.Fields(args)...)
	if len(shown) > 0 && strings.TrimSpace(o.stdout+o.stderr) != strings.Join(shown, "\n") {
		t.Errorf("%s shows\n%s%s\nthe README says\n%s", command, o.stdout, o.stderr, strings.Join(shown, "\n"))
	}
}

// TestReadmeFirstCommand runs the first command as it stands there, from the
// top of the repository, twice.
func TestReadmeFirstCommand(t *testing.T) {
	_, blocks := readme(t)
	command, _ := strings.CutPrefix(first(blocks[0].lines), "$ ")
	varying := regexp.MustCompile(`finished in .*|[0-9,]+ per second`)
	want := varying.ReplaceAllString(strings.Join(blocks[1].lines, "\n"), "N")
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		defer cancel()
		words := strings.Fields(command)
		cmd := exec.CommandContext(ctx, words[0], words[1:]...)
		cmd.Dir = "../.."
		cmd.Env = append(os.Environ(), "WASMSTREAM_CACHE_DIR="+cache)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		if got := varying.ReplaceAllString(strings.TrimSpace(string(out)), "N"); !strings.HasPrefix(got, want) {
			t.Errorf("%s shows\n%s\nthe README says\n%s", command, got, want)
		}
	}
}

// TestReadmeJob: the job that the README shows is the file's, but for comments.
func TestReadmeJob(t *testing.T) {
	_, blocks := readme(t)
	text, err := os.ReadFile(filepath.Join(testdata, "jobs", "hourly-delays.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	for _, b := range blocks {
		if b.language == "yaml" && first(b.lines) == "version: 1" {
			if got, want := strings.Join(b.lines, "\n"), strings.Join(lines, "\n"); got != want {
				t.Errorf("the README shows\n%s\nthe file is\n%s", got, want)
			}
			return
		}
	}
	t.Error("the README does not show the job")
}

// TestReadmeNames: every link leads somewhere, and every command, exit code and
// make target that is named is there.
func TestReadmeNames(t *testing.T) {
	text, _ := readme(t)
	for _, m := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join("../..", m[1])); err != nil {
			t.Errorf("a link leads nowhere: %v", err)
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `wasmstream ([a-z ]+)").FindAllStringSubmatch(text, -1) {
		run(t, t.TempDir(), append(strings.Fields(m[1]), "--help")...).expect(t, 0)
	}
	help := run(t, t.TempDir(), "--help").stdout
	for _, code := range []string{"0", "1", "2", "3", "129", "130", "143"} {
		if !strings.Contains(help, code) || !regexp.MustCompile(`(?m)^\|.*\b`+code+`\b`).MatchString(text) {
			t.Errorf("exit code %s is not documented in both --help and the README", code)
		}
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("`?make ([a-z]+)").FindAllStringSubmatch(text, -1) {
		if !regexp.MustCompile(`(?m)^` + m[1] + `:`).Match(makefile) {
			t.Errorf("there is no make target %s", m[1])
		}
	}
}
