//go:build unix

package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/checkpoint"
)

// TestRestoreSaidTwice: a run was killed before its sinks had committed, and the first restore of its checkpoint fails. The
// same command again commits what was handed over, though the history that the first one began is newer.
func TestRestoreSaidTwice(t *testing.T) {
	folder := keptJob(t, "")
	job, in := filepath.Join(folder, "job.yaml"), filepath.Join(folder, "in.ndjson")
	flights, err := filepath.Abs(filepath.Join(testdata, "flights-20k.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, in, read(t, flights))
	write(t, job, strings.NewReplacer(
		flights, "in.ndjson", "interval: 10ms", "interval: 1h",
		"path: out/firings.ndjson, format: json", "path: out/firings, format: json, rolling: {size: 20KiB, interval: 1h}",
	).Replace(read(t, job)))
	if !runKilled(t, folder, "manifest-after:1") {
		t.Fatal("the run came to its end")
	}
	restore := []string{"run", "job.yaml", "--restore", "state/1-000001.manifest"}
	if err := os.Rename(in, in+".away"); err != nil {
		t.Fatal(err)
	}
	run(t, folder, restore...).expect(t, exitFailed, "in.ndjson")
	if err := os.Rename(in+".away", in); err != nil {
		t.Fatal(err)
	}
	o := run(t, folder, restore...)
	o.expect(t, 0)
	if strings.Contains(o.stderr, "not the newest") {
		t.Errorf("results are said to come again: %s", o.stderr)
	}
	parts, err := filepath.Glob(filepath.Join(folder, "out", "firings", "part-*.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, part := range parts {
		all.WriteString(read(t, part))
	}
	write(t, filepath.Join(folder, "out", "firings.ndjson"), all.String())
	checkHourly(t, folder)
}

// TestRestoreByName: a checkpoint that is named is taken whatever the newest history is like: one that has no checkpoint yet,
// or only a damaged one.
func TestRestoreByName(t *testing.T) {
	folder := keptJob(t, "")
	run(t, folder, "run", "job.yaml").expect(t, 0)
	for newest, says := range map[string]string{"2-000000.begun": "newest=1-", "7-000009.manifest": "newest=7-000009.manifest"} {
		t.Run(newest, func(t *testing.T) {
			copied := t.TempDir()
			if err := os.CopyFS(copied, os.DirFS(folder)); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(copied, "state", newest), "")
			run(t, copied, "run", "job.yaml", "--restore", "state/1-000001.manifest").expect(t, 0, "the checkpoint is not the newest", says)
			checkHourly(t, copied)
		})
	}
}

// TestRestoreIsSaidOnce: that results may be put out again holds for the checkpoint that was restored, also when the run
// fails and is started again in the same process. From the first checkpoint of its own on the run is refused, as any is,
// if another copy has put out results meanwhile.
func TestRestoreIsSaidOnce(t *testing.T) {
	e := &Env{Log: slog.New(slog.DiscardHandler)}
	k := &keeping{store: checkpoint.NewMemory(), chosen: true}
	for _, step := range []struct {
		epoch    int64
		goesBack bool
	}{{3, true}, {3, true}, {4, false}, {4, false}} {
		m := &checkpoint.Manifest{Job: "j", History: 2, Epoch: step.epoch, MaxParallelism: 1}
		if err := checkpoint.PutManifest(k.store, m); err != nil {
			t.Fatal(err)
		}
		start := k.again
		if k.recovery.Manifest == nil {
			start = k.recover
		}
		if err := start(e); err != nil {
			t.Fatal(err)
		}
		if k.goesBack() != step.goesBack {
			t.Errorf("from checkpoint %d: goes back is %t", step.epoch, k.goesBack())
		}
	}
}

// TestAFinishedJobAnew: with a transactional prefix --fresh would be refused, so it is not what is named. No broker is asked.
func TestAFinishedJobAnew(t *testing.T) {
	folder := keptJob(t, "")
	run(t, folder, "run", "job.yaml").expect(t, 0)
	run(t, folder, "run", "job.yaml").expect(t, 0, "had finished already", "use --fresh")
	path := filepath.Join(folder, "job.yaml")
	write(t, path, strings.Replace(read(t, path), "file: {path: out/late.ndjson, format: json",
		"kafka: {brokers: [\"127.0.0.1:1\"], topic: late, format: json, delivery: exactly-once, transactional-id-prefix: p", 1))
	run(t, folder, "run", "job.yaml").expect(t, 0, "had finished already", "use --lineage with a NAME", "stay in late")
}
