package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// binary is the command as a user has it; cache is where it keeps compiled modules.
var binary, cache string

// TestMain builds the command once for all tests.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		folder, err := os.MkdirTemp("", "wasmstream")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(folder)
		binary, cache = filepath.Join(folder, "wasmstream"), filepath.Join(folder, "cache")
		if output, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building the command: %v\n%s", err, output)
			return 1
		}
		return m.Run()
	}())
}

// testdata is the repository's folder of test data, seen from this package.
const testdata = "../../testdata"

// deadline is what no command needs, even on a machine that is busy.
const deadline = 3 * time.Minute

// outcome is what came of a command.
type outcome struct {
	code           int // -1 if a signal ended it
	stdout, stderr string
}

// command prepares the binary to run in a folder.
func command(ctx context.Context, folder string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "WASMSTREAM_CACHE_DIR="+cache)
	return cmd
}

// run runs the binary in a folder to its end.
func run(t *testing.T, folder string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	return finish(t, ctx, command(ctx, folder, args...))
}

// finish runs a command to its end.
func finish(t *testing.T, ctx context.Context, cmd *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatalf("%v did not end within %s\n%s", cmd.Args, deadline, stderr.String())
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// startUntil starts a command and waits until its standard error says something. What it says from then on is rest's.
func startUntil(t *testing.T, cmd *exec.Cmd, says string) (said string, rest io.Reader) {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	for buffer := make([]byte, 4096); err == nil && !strings.Contains(said, says); {
		var n int
		n, err = stderr.Read(buffer)
		said += string(buffer[:n])
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return said, stderr
}

// expect checks the exit code and that all words are in stderr.
func (o outcome) expect(t *testing.T, code int, stderr ...string) {
	t.Helper()
	if o.code != code {
		t.Errorf("exit code %d, want %d", o.code, code)
	}
	for _, word := range stderr {
		if !strings.Contains(o.stderr, word) {
			t.Errorf("stderr does not say %q", word)
		}
	}
	if t.Failed() {
		t.Logf("stdout:\n%s\nstderr:\n%s", o.stdout, o.stderr)
	}
}

// write makes a file with its folders.
func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// sandboxed is a copy of testdata/jobs in a folder of its own, with what the jobs
// read beside it.
func sandboxed(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(filepath.Join(folder, "jobs"), os.DirFS(filepath.Join(testdata, "jobs"))); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(folder, "jobs/out")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"flights-20k.ndjson", "wasm"} {
		target, err := filepath.Abs(filepath.Join(testdata, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// base is a small job over flights.ndjson; tests change what they are about.
const base = `version: 1
name: hourly-delays
sources:
  flights:
    file: {path: flights.ndjson, format: json}
    schema: {flight: BIGINT, scheduled: TIMESTAMP(3), delay: INT, distance: INT, origin: STRING}
    event-time: scheduled
    watermark: {max-out-of-orderness: 30m, emit: on-event}
steps:
  hourly:
    from: flights
    key-by: [origin]
    window: {tumbling: {size: 1h}, allowed-lateness: 2h, late-output: late}
    aggregate: {flights: count, delay_sum: sum(delay)}
sinks:
  delays: {from: hourly, file: {path: out/firings.ndjson, format: json}}
`

// sound is a record of that job.
const sound = `{"flight":2,"scheduled":"2001-01-01T01:24:00.000Z","delay":-5,"distance":407,"origin":"LAS"}` + "\n"

// change replaces parts of the base job, each of which must be there.
func change(t *testing.T, pairs ...string) string {
	t.Helper()
	text := base
	for pair := range slices.Chunk(pairs, 2) {
		if !strings.Contains(text, pair[0]) {
			t.Fatalf("the base job has no %q", pair[0])
		}
		text = strings.Replace(text, pair[0], pair[1], 1)
	}
	return text
}

// sortedLines are the lines of a text, sorted.
func sortedLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	slices.Sort(lines)
	return lines
}
