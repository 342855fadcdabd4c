package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// keyedJob runs a job of process functions in a folder of its own, recorded.
func keyedJob(t *testing.T, function, input string, flags ...string) (folder string, o outcome) {
	t.Helper()
	folder = t.TempDir()
	module, _, _ := strings.Cut(function, ".")
	write(t, filepath.Join(folder, "in.ndjson"), input)
	write(t, filepath.Join(folder, "m.wasm"), read(t, wasmFile(module+"-c")))
	write(t, filepath.Join(folder, "job.yaml"), fmt.Sprintf(`version: 1
name: keyed
modules:
  %s: {file: m.wasm}
sources:
  in:
    file: {path: in.ndjson, format: json}
    schema: {user: STRING, amount: BIGINT, at: TIMESTAMP(3)}
    event-time: at
    watermark: {max-out-of-orderness: 0s, emit: on-event}
steps:
  p:
    from: in
    key-by: [user]
    process: {wasm: %s}
sinks:
  out: {from: p, file: {path: out.ndjson, format: json}}
`, module, function))
	return folder, run(t, folder, append([]string{"run", "job.yaml", "--record", "calls.rec"}, flags...)...)
}

func payments() string {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, `{"user": "user %d", "amount": %d, "at": "2024-01-01T00:%02d:%02d"}`+"\n", i%7, i%5, i/60, i%60)
	}
	return b.String()
}

// A recording of one key has fewer calls, and they can be replayed alone.
func TestRecordOfAKey(t *testing.T) {
	t.Parallel()
	folder, o := keyedJob(t, "roles.idle", payments())
	o.expect(t, exitOK)
	run(t, folder, "replay", "calls.rec").expect(t, exitOK)
	folder, o = keyedJob(t, "roles.idle", payments(), "--record-key", `{"user": "nobody"}`)
	o.expect(t, exitOK, "recorded 0 calls")
	run(t, folder, "replay", "calls.rec").expect(t, exitOK)
	folder, o = keyedJob(t, "roles.idle", payments(), "--record-key", `{"user": "user 3"}`)
	o.expect(t, exitOK, "recorded ")
	o = run(t, folder, "replay", "calls.rec")
	o.expect(t, exitOK)
	if strings.Contains(o.stdout, ": 0 calls") || !strings.Contains(o.stdout, "all are as they were") {
		t.Error(o.stdout)
	}
	_, o = keyedJob(t, "roles.idle", payments(), "--record-key", `{"user": 3}`)
	o.expect(t, exitBadInput, "--record-key: the key of idle is (user): ")
	for key, want := range map[string]string{
		`{"usr": "user 3"}`:           `it has no column "usr"`,
		`{"user": "user 3", "at": 1}`: `it has no column "at"`,
		`{}`:                          "user is missing; it may be null",
	} {
		_, o = keyedJob(t, "roles.idle", payments(), "--record-key", key)
		o.expect(t, exitBadInput, "--record-key: the key of idle is (user): "+want)
	}
}

// What a function did with list and map states in C, it does in Rust and in Go.
func TestReplayOfStates(t *testing.T) {
	t.Parallel()
	folder, o := keyedJob(t, "stores.tally", payments())
	o.expect(t, exitOK)
	for _, language := range []string{"c", "rust", "go"} {
		write(t, filepath.Join(folder, "other.wasm"), read(t, wasmFile("stores-"+language)))
		o = run(t, folder, "replay", "calls.rec", "--module", "other.wasm")
		o.expect(t, exitOK)
		if strings.Contains(o.stdout, ": 0 calls") || !strings.Contains(o.stdout, "all are as they were") {
			t.Errorf("%s: %.2000s", language, o.stdout)
		}
	}
}
