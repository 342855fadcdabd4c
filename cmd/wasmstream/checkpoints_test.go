//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// keptJob is the hourly-delays job with a checkpoint every 5 ms, all of them kept.
func keptJob(t *testing.T, more string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	text, err := os.ReadFile(filepath.Join(testdata, "jobs", "hourly-delays-builtin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	flights, err := filepath.Abs(filepath.Join(testdata, "flights-20k.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	job := strings.Replace(string(text), "../flights-20k.ndjson", flights, 1)
	write(t, filepath.Join(folder, "job.yaml"), job+"checkpoint: {dir: state, interval: 10ms, retained: 1000}\n"+more)
	return folder
}

// checkHourly compares both results with what was computed without any engine, as
// sorted lines.
func checkHourly(t *testing.T, folder string) {
	t.Helper()
	for _, name := range []string{"firings.ndjson", "late.ndjson"} {
		want := linesOf(t, filepath.Join(testdata, "hourly-delays", name))
		if got := linesOf(t, filepath.Join(folder, "out", name)); !slices.Equal(got, want) {
			t.Errorf("%s has %d lines, not the %d expected", name, len(got), len(want))
		}
	}
}

func linesOf(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(b), "\n")
	slices.Sort(lines)
	return lines
}

// runKilled runs the job and has it kill itself at a point; it says whether it came
// there.
func runKilled(t *testing.T, folder, at string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	cmd := command(ctx, folder, "run", "job.yaml")
	cmd.Env = append(cmd.Environ(), "WASMSTREAM_KILL_AT="+at)
	err := cmd.Run()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return true
	}
	if err != nil {
		t.Fatal(err)
	}
	return false
}

// TestRunGoesOn kills a run at each point of a checkpoint; the next one goes on, and
// in the end everything is there once.
func TestRunGoesOn(t *testing.T) {
	folder := keptJob(t, "")
	killed := 0
	for _, point := range []string{
		"handover-before:1", "handover-after:2", "manifest-before:1", "manifest-after:1", "commit-before:1", "commit-after:2", "note-before:1", "note-after:1",
	} {
		if runKilled(t, folder, point) {
			killed++
		}
	}
	if killed < 4 {
		t.Errorf("only %d runs came to the point where they were to be killed", killed)
	}
	run(t, folder, "run", "job.yaml").expect(t, 0)
	checkHourly(t, folder)
	run(t, folder, "run", "job.yaml").expect(t, 0, "had finished already")
	checkHourly(t, folder)
}

// TestRestoreFreshLineage: the three ways to say what a run starts from.
func TestRestoreFreshLineage(t *testing.T) {
	folder := keptJob(t, "")
	run(t, folder, "run", "job.yaml").expect(t, 0)
	checkHourly(t, folder)
	manifests, err := filepath.Glob(filepath.Join(folder, "state", "*.manifest"))
	if err != nil || len(manifests) < 2 {
		t.Fatalf("checkpoints: %v, %v", manifests, err)
	}
	older, newest := manifests[0], manifests[len(manifests)-1]
	for name, args := range map[string][]string{
		"an older checkpoint":       {"--restore", older},
		"it, in another lineage":    {"--restore", older, "--lineage", "second"},
		"the newest of a folder":    {"--restore", filepath.Join(folder, "state"), "--lineage", "third"},
		"the newest by its name":    {"--restore", newest, "--lineage", "fourth"},
		"the beginning":             {"--fresh"},
		"a lineage that is new":     {"--lineage", "fifth"},
		"a lineage that is not new": {"--lineage", "second", "--fresh"},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, folder, append([]string{"run", "job.yaml"}, args...)...).expect(t, 0)
			checkHourly(t, folder)
		})
	}
	run(t, folder, "run", "job.yaml").expect(t, 0, "had finished already")
}

// TestWhatComesAgain: a run that goes back says that results come again where they do:
// parts of a folder do, a plain file is there once whatever happens.
func TestWhatComesAgain(t *testing.T) {
	for sink, says := range map[string]string{
		"path: out/firings.ndjson, format: json":                                "is there once",
		"path: out/firings, format: json, rolling: {size: 20KiB, interval: 1h}": "may be put out again",
	} {
		folder := keptJob(t, "")
		path := filepath.Join(folder, "job.yaml")
		write(t, path, strings.Replace(read(t, path), "path: out/firings.ndjson, format: json", sink, 1))
		run(t, folder, "run", "job.yaml").expect(t, 0)
		manifests, err := filepath.Glob(filepath.Join(folder, "state", "*.manifest"))
		if err != nil || len(manifests) < 2 {
			t.Fatalf("checkpoints: %v, %v", manifests, err)
		}
		run(t, folder, "run", "job.yaml", "--restore", manifests[0]).expect(t, 0, "the checkpoint is not the newest", says)
	}
}

func TestStartsThatAreRefused(t *testing.T) {
	folder := keptJob(t, "")
	run(t, folder, "run", "job.yaml").expect(t, 0)
	other := keptJob(t, "")
	text, err := os.ReadFile(filepath.Join(other, "job.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "renamed.yaml"), strings.Replace(string(text), "name: hourly-delays", "name: renamed", 1))
	write(t, filepath.Join(folder, "another.yaml"), strings.Replace(string(text), "delay_sum: sum(delay)", "delay_sum: avg(delay)", 1))
	write(t, filepath.Join(folder, "none.yaml"), strings.Replace(string(text), "checkpoint:", "# checkpoint:", 1))
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"two ways at once":   {[]string{"job.yaml", "--fresh", "--restore", "state"}, "--fresh"},
		"no such path":       {[]string{"job.yaml", "--restore", "nowhere"}, "nowhere"},
		"no checkpoint":      {[]string{"job.yaml", "--restore", "out"}, "out"},
		"a bad lineage":      {[]string{"job.yaml", "--lineage", "a/b"}, `--lineage "a/b"`},
		"without checkpoint": {[]string{"none.yaml", "--fresh"}, "has no checkpoint"},
		"another job":        {[]string{"renamed.yaml"}, "those of job hourly-delays, and this is job renamed"},
		"another state":      {[]string{"another.yaml", "--restore", "state/1-000001.manifest"}, "the state of step hourly is another now"},
	} {
		t.Run(name, func(t *testing.T) {
			o := run(t, folder, append([]string{"run"}, c.args...)...)
			if o.code == 0 || !strings.Contains(o.stderr, c.want) {
				t.Errorf("exit code %d, and stderr does not say %q:\n%s", o.code, c.want, o.stderr)
			}
		})
	}
}

// TestAnotherStateIsRefused: a job that cannot go on says what to do.
func TestAnotherStateIsRefused(t *testing.T) {
	folder, _ := killedWithDelta(t)
	text := read(t, filepath.Join(folder, "job.yaml"))
	write(t, filepath.Join(folder, "another.yaml"), strings.Replace(text, "delay_sum: sum(delay)", "delay_sum: avg(delay)", 1))
	run(t, folder, "run", "another.yaml").expect(t, exitBadInput, "the state of step hourly is another now: the checkpoint has ", "to run it anew, use --fresh")
	run(t, folder, "run", "job.yaml").expect(t, 0)
	checkHourly(t, folder)
}

// lockPart holds the part file of the job's result, as another run does, until the
// function that it returns is called.
func lockPart(t *testing.T, folder string) (free func()) {
	t.Helper()
	part := filepath.Join(folder, "out", ".firings.ndjson.part")
	if err := os.MkdirAll(filepath.Dir(part), 0o755); err != nil {
		t.Fatal(err)
	}
	other, err := os.Create(part)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(other.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := errors.Join(other.Close(), os.Remove(part)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRestarts: a job that fails for a reason that passes is started again; the other
// run's lock of the result is such a one.
func TestRestarts(t *testing.T) {
	folder := keptJob(t, "restart: {fixed-delay: {attempts: 1000, delay: 100ms}}\n")
	free := lockPart(t, folder)
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	cmd := command(ctx, folder, "run", "job.yaml")
	said, _ := startUntil(t, cmd, "started again")
	free()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	checkHourly(t, folder)
}

// TestARefusedRestoreLeavesNothing: a checkpoint that is damaged is not taken, and the
// job goes on as before.
func TestARefusedRestoreLeavesNothing(t *testing.T) {
	folder, delta := killedWithDelta(t)
	damaged, err := os.ReadFile(delta)
	if err != nil {
		t.Fatal(err)
	}
	damaged[len(damaged)/2] ^= 1
	write(t, delta, string(damaged))
	name := filepath.Base(delta)
	epoch, _, _ := strings.Cut(name, "-hourly")
	run(t, folder, "run", "job.yaml", "--restore", "state/"+epoch+".manifest").expect(t, exitBadInput, "is not sound", name)
	run(t, folder, "run", "job.yaml").expect(t, 0, name) // from the one before
	checkHourly(t, folder)
}

// killedWithDelta is a job that was killed in the middle, when its newest checkpoint had a
// delta. What a checkpoint has is chance: the first of a run may come before any record, and
// the last one commits all.
func killedWithDelta(t *testing.T) (folder, delta string) {
	t.Helper()
	for i := range 1000 {
		if folder == "" || !runKilled(t, folder, fmt.Sprintf("note-after:%d", 1+i%3)) {
			folder = keptJob(t, "") // the one before was through before it had any
			continue
		}
		if _, err := os.Stat(filepath.Join(folder, "out", ".firings.ndjson.part")); err != nil {
			folder = ""
			continue
		}
		manifests, err := filepath.Glob(filepath.Join(folder, "state", "*.manifest"))
		if err != nil || len(manifests) == 0 {
			t.Fatalf("%d manifests, %v", len(manifests), err)
		}
		newest := strings.TrimSuffix(manifests[len(manifests)-1], ".manifest")
		if deltas, err := filepath.Glob(newest + "-*.delta"); err != nil {
			t.Fatal(err)
		} else if len(deltas) > 0 {
			return folder, deltas[0]
		}
	}
	t.Fatal("no newest checkpoint of 1000 had changes")
	return "", ""
}

// TestAPartFileThatIsGone: starting again would not bring it back.
func TestAPartFileThatIsGone(t *testing.T) {
	folder, _ := killedWithDelta(t)
	if err := os.Remove(filepath.Join(folder, "out", ".firings.ndjson.part")); err != nil {
		t.Fatal(err)
	}
	run(t, folder, "run", "job.yaml").expect(t, exitFailed, "cannot go on with out/firings.ndjson")
}
