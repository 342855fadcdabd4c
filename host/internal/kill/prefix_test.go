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
