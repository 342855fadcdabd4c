package kill

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	store "github.com/wasmstream/wasmstream/host/checkpoint/folder"
	"github.com/wasmstream/wasmstream/host/internal/servers"
)

// TestAFolderThatWasPutBack: the folder of checkpoints is copied, also when nothing has come
// for a while, the job goes on, and the copy is put back. A run is refused that would put out
// again what was committed since, until somebody says so. Runs before that, which go on behind
// kills, are not.
func TestAFolderThatWasPutBack(t *testing.T) {
	b := servers.Shared(t, servers.Kafka4)
	in, out := b.Topic(t, 1), b.Topic(t, 1)
	command := build(t)
	command.Folder = folder(t)
	job := fmt.Sprintf(`version: 1
name: putback
checkpoint: {dir: state, interval: 100ms}
sources:
  in:
    kafka: {brokers: [%q], topics: [%s], format: json}
    schema: {k: STRING}
sinks:
  out: {from: in, kafka: {brokers: [%q], topic: %s, format: json, delivery: exactly-once, transactional-id-prefix: %s}}
`, b.Bootstrap, in, b.Bootstrap, out, servers.Name(t))
	if err := os.WriteFile(filepath.Join(command.Folder, "job.yaml"), []byte(job), 0o600); err != nil {
		t.Fatal(err)
	}
	// run is killed at its sixth checkpoint, or refused with these words.
	run := func(refused string, more ...string) {
		t.Helper()
		c := exec.Command(command.Program, append(command.Arguments, more...)...)
		c.Dir, c.Env = command.Folder, append(append(os.Environ(), command.Env...), Variable+"=note-after:6")
		said, _ := c.CombinedOutput()
		if code := c.ProcessState.ExitCode(); (code == -1) != (refused == "") || !strings.Contains(string(said), refused) {
			t.Fatalf("exit code %d, want it to be killed or to say %q:\n%s", code, refused, said)
		}
	}
	state, copied := filepath.Join(command.Folder, "state"), filepath.Join(command.Folder, "copy")
	client := b.Client(t)
	if err := client.ProduceSync(context.Background(), &kgo.Record{Topic: in, Value: []byte(`{"k":"a"}`)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	for run(""); pending.MatchString(handedOver(t, state)); {
		run("") // nothing came between its last two checkpoints
	}
	stale := handedOver(t, state)
	if err := os.CopyFS(copied, os.DirFS(state)); err != nil {
		t.Fatal(err)
	}
	stop := feedSlowly(t, client, in)
	defer stop()
	run("")
	stop()
	for handedOver(t, state) == stale || pending.MatchString(handedOver(t, state)) {
		run("") // until it has results, and nothing came behind them
	}
	run("")
	if err := os.RemoveAll(state); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(copied, state); err != nil {
		t.Fatal(err)
	}
	run("results were committed after this checkpoint")
	run("go on from these with --restore") // nor the second time
	run("", "--restore", "state")
	run("")
}

// feedSlowly writes a record again and again, until it is stopped.
func feedSlowly(t *testing.T, client *kgo.Client, topic string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if err := client.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(`{"k":"a"}`)}).FirstErr(); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// pending are transactions to commit in what a sink handed over.
var pending = regexp.MustCompile(`\n\d+ \d+ \d+ \d+ `)

// handedOver is what the sink handed over to the newest checkpoint.
func handedOver(t *testing.T, state string) string {
	t.Helper()
	s, err := store.OpenReadOnly(store.OS{}, state)
	if err != nil {
		t.Fatal(err)
	}
	r, err := checkpoint.Recover(s)
	if err != nil || r.Manifest == nil {
		t.Fatalf("no checkpoint: %v", err)
	}
	return string(r.Manifest.Sinks[0].Handover)
}
