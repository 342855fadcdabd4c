package kill

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	store "github.com/wasmstream/wasmstream/host/checkpoint/folder"
	"github.com/wasmstream/wasmstream/host/internal/servers"
)

// TestAPrefixThatWasUsed: a run that begins would put out again what a former run has
// committed under the prefix; also if it is a second copy of the job in another folder,
// or the folder with the checkpoints has gone.
func TestAPrefixThatWasUsed(t *testing.T) {
	b := servers.Shared(t, servers.Kafka4)
	in, out := b.Topic(t, 1), b.Topic(t, 1)
	client := b.Client(t)
	for _, value := range []string{`{"k":"a","t":1}`, `{"k":"a","t":2}`, `{"k":"b","t":70000}`} {
		if err := client.ProduceSync(context.Background(), &kgo.Record{Topic: in, Value: []byte(value)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	command := build(t)
	command.Folder = folder(t)
	job := fmt.Sprintf(`version: 1
name: prefix
checkpoint: {dir: state, interval: 100ms}
sources:
  in:
    kafka: {brokers: [%q], topics: [%s], format: json, bounded: true}
    schema: {k: STRING, t: BIGINT}
    event-time: t
    watermark: {}
steps:
  counts: {from: in, key-by: [k], window: {tumbling: {size: 1m}}, aggregate: {n: count}}
sinks:
  out: {from: counts, kafka: {brokers: [%q], topic: %s, format: json, delivery: exactly-once, transactional-id-prefix: %s}}
`, b.Bootstrap, in, b.Bootstrap, out, servers.Name(t))
	if err := os.WriteFile(filepath.Join(command.Folder, "job.yaml"), []byte(job), 0o600); err != nil {
		t.Fatal(err)
	}
	expect := func(code int, says string, more ...string) {
		t.Helper()
		c := exec.Command(command.Program, append(command.Arguments, more...)...)
		c.Dir, c.Env = command.Folder, append(os.Environ(), command.Env...)
		said, _ := c.CombinedOutput()
		if got := c.ProcessState.ExitCode(); got != code || !strings.Contains(string(said), says) {
			t.Fatalf("exit code %d, want %d and %q:\n%s", got, code, says, said)
		}
	}
	expect(0, "finished")
	expect(0, "had finished already")
	expect(2, "has been used", "--fresh")
	if err := os.RemoveAll(filepath.Join(command.Folder, "state")); err != nil {
		t.Fatal(err)
	}
	expect(2, "has been used")
	expect(2, "has been used") // nor the second time
	expect(0, "finished", "--lineage", "again")
}

// TestTwoCopiesThatBegin: two copies are begun in folders of their own at the same moment, before either has used the
// prefix. One goes on behind kills, with checkpoints and without. The other is refused, and does not begin its results anew.
func TestTwoCopiesThatBegin(t *testing.T) {
	b := servers.Shared(t, servers.Kafka4)
	in, out := b.Topic(t, 1), b.Topic(t, 1)
	if err := b.Client(t).ProduceSync(context.Background(), &kgo.Record{Topic: in, Value: []byte(`{"k":"a"}`)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	job := fmt.Sprintf(`version: 1
name: copies
checkpoint: {dir: state, interval: 100ms}
sources:
  in: {kafka: {brokers: [%q], topics: [%s], format: json}, schema: {k: STRING}}
sinks:
  out: {from: in, kafka: {brokers: [%q], topic: %s, format: json, delivery: exactly-once, transactional-id-prefix: %s}}
`, b.Bootstrap, in, b.Bootstrap, out, servers.Name(t))
	command := build(t)
	first, second := begun(t, job), begun(t, job)
	// run is killed at a point, or refused.
	run := func(dir, at, refused string) {
		t.Helper()
		c := exec.Command(command.Program, command.Arguments...)
		c.Dir, c.Env = dir, append(append(os.Environ(), command.Env...), Variable+"="+at)
		said, _ := c.CombinedOutput()
		if code := c.ProcessState.ExitCode(); (code == -1) != (refused == "") || !strings.Contains(string(said), refused) {
			t.Fatalf("exit code %d, want it to be killed or to say %q:\n%s", code, refused, said)
		}
	}
	for range 3 {
		run(first, "manifest-before:1", "")
	}
	for run(first, "note-after:6", ""); strings.Contains(handedOver(t, filepath.Join(first, "state")), "\n0 commits"); {
		run(first, "note-after:6", "")
	}
	run(first, "note-after:1", "")
	for range 2 {
		run(second, "manifest-before:1", "this job has no checkpoint yet, and results were committed under its transactional-id-prefix")
	}
	run(first, "note-after:1", "")
}

// begun is a folder of a job that has noted that it begins.
func begun(t *testing.T, job string) string {
	t.Helper()
	dir := folder(t)
	if err := os.WriteFile(filepath.Join(dir, "job.yaml"), []byte(job), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(store.OS{}, filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.Begin(s); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}
