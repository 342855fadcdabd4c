package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/checkpoint/folder"
)

// The records of a job that lasts for many checkpoints, on any machine: one of each
// key after the other, a millisecond apart.
const (
	longRecords = 600_000
	longKeys    = 7
	longJob     = `version: 1
name: long
checkpoint: {dir: state, interval: 10ms, retained: 1000}
sources:
  in:
    file: {path: %s, format: json}
    schema: {k: BIGINT, t: TIMESTAMP(3)}
    event-time: t
    watermark: {max-out-of-orderness: 0s, emit: on-event}
steps:
  counts: {from: in, key-by: [k], window: {tumbling: {size: 1s}}, aggregate: {n: count, m: max(k)}}
sinks:
  out: {from: counts, file: {path: out/counts.ndjson, format: json}}
`
)

// checkLong holds the result of that job against what it is by arithmetic.
func checkLong(t *testing.T, dir string) {
	t.Helper()
	var want strings.Builder
	for second := range longRecords / 1000 {
		var n [longKeys]int
		for i := range 1000 {
			n[(second*1000+i)%longKeys]++
		}
		for k := range n {
			fmt.Fprintf(&want, `{"k":%d,"n":%d,"m":%d,"window_start":%d,"window_end":%d}`+"\n", k, n[k], k, second*1000, second*1000+1000)
		}
	}
	got := read(t, filepath.Join(dir, "out/counts.ndjson"))
	if !slices.Equal(sortedLines(got), sortedLines(want.String())) {
		t.Errorf("the result has %d lines, and is not the %d expected", strings.Count(got, "\n"), longRecords/1000*longKeys)
	}
}

// interrupted is a folder with that job after some checkpoints, killed behind the
// newest; and that one and the one before it.
func interrupted(t *testing.T) (dir string, newest, before *checkpoint.Manifest) {
	t.Helper()
	dir = t.TempDir()
	input := filepath.Join(t.TempDir(), "in.ndjson")
	var records strings.Builder
	for i := range longRecords {
		fmt.Fprintf(&records, `{"k":%d,"t":%d}`+"\n", i%longKeys, i)
	}
	write(t, input, records.String())
	write(t, filepath.Join(dir, "job.yaml"), fmt.Sprintf(longJob, input))
	for range 10 {
		if !runKilled(t, dir, "note-after:2") {
			t.Fatal("the run came to its end")
		}
		// A slow machine may have come to two checkpoints without a record between them.
		if newest, before = newestTwo(t, dir); len(ownObjects(newest, before)) > 1 {
			return dir, newest, before
		}
	}
	t.Fatal("no checkpoint has a file of its own")
	return
}

// newestTwo are the newest checkpoint and the one before it.
func newestTwo(t *testing.T, dir string) (newest, before *checkpoint.Manifest) {
	t.Helper()
	store, err := folder.OpenReadOnly(folder.OS{}, filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := checkpoint.Recover(store)
	if err != nil {
		t.Fatal(err)
	}
	if before, err = checkpoint.LoadManifest(store, checkpoint.ManifestName(r.Manifest.History, r.Manifest.Epoch-1)); err != nil {
		t.Fatal(err)
	}
	return r.Manifest, before
}

// ownObjects are those that the newest checkpoint has for itself.
func ownObjects(newest, before *checkpoint.Manifest) []string {
	own := []string{checkpoint.ManifestName(newest.History, newest.Epoch)}
	for _, name := range newest.FileNames() {
		if !slices.Contains(before.FileNames(), name) {
			own = append(own, name)
		}
	}
	return own
}

// damages are what can happen to a file.
var damages = map[string]func(path string) error{
	"a flipped bit": func(path string) error {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		b[len(b)/2] ^= 4
		return os.WriteFile(path, b, 0o644)
	},
	"cut short": func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, info.Size()*2/3)
	},
	"missing": os.Remove,
}

// TestDamagedCheckpoints damages each file that the newest checkpoint has for itself:
// a run names the file, goes on from the checkpoint before, and its result is right.
func TestDamagedCheckpoints(t *testing.T) {
	dir, newest, before := interrupted(t)
	for _, name := range ownObjects(newest, before) {
		for how, damage := range damages {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				copied := t.TempDir()
				if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
				if err := damage(filepath.Join(copied, "state", name)); err != nil {
					t.Fatal(err)
				}
				run(t, copied, "run", "job.yaml").expect(t, exitOK, "a checkpoint is damaged and is passed over", name,
					fmt.Sprintf("from_epoch=%d to_epoch=%d", before.Epoch, newest.Epoch))
				checkLong(t, copied)
			})
		}
	}
}

// TestNoCheckpointIsSound: there is nothing to go on from, and starting anew is not
// for the run to decide.
func TestNoCheckpointIsSound(t *testing.T) {
	dir, newest, before := interrupted(t)
	names := append(newest.FileNames(), before.FileNames()...)
	slices.Sort(names)
	names = slices.Compact(names)
	for _, name := range names {
		if err := damages["a flipped bit"](filepath.Join(dir, "state", name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, older := range olderManifests(t, dir, before) {
		if err := os.Remove(older); err != nil {
			t.Fatal(err)
		}
	}
	o := run(t, dir, "run", "job.yaml")
	o.expect(t, exitBadInput, "no checkpoint of history 1 is sound", "--fresh")
	for _, name := range names {
		o.expect(t, exitBadInput, name+" is damaged")
	}
	run(t, dir, "run", "job.yaml", "--fresh").expect(t, exitOK)
	checkLong(t, dir)
}

// olderManifests are the paths of those before a checkpoint.
func olderManifests(t *testing.T, dir string, than *checkpoint.Manifest) (older []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "state", "*.manifest"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if n, ok := checkpoint.ParseName(filepath.Base(path)); ok && n.Epoch < than.Epoch {
			older = append(older, path)
		}
	}
	return older
}

// TestTwoCopiesOfAJob: a second run of a job that runs already is refused, names the
// folder and the other process, and leaves that one alone.
func TestTwoCopiesOfAJob(t *testing.T) {
	t.Parallel()
	dir := keptJob(t, "restart: none\n")
	text, pipe := read(t, filepath.Join(dir, "job.yaml")), filepath.Join(dir, "flights.ndjson")
	flights, err := filepath.Abs(filepath.Join(testdata, "flights-20k.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "job.yaml"), strings.Replace(text, flights, pipe, 1))
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Skip(err) // a file system without named pipes
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	first := command(ctx, dir, "run", "job.yaml")
	stderr, err := first.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(stderr)
	if line, err := said.ReadString('\n'); err != nil || !strings.Contains(line, "job started") {
		t.Fatalf("%v\n%s", err, line)
	}
	input, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for the reader
	if err != nil {
		t.Fatal(err)
	}
	records := []byte(read(t, flights))
	if _, err := input.Write(records[:len(records)/2]); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"job.yaml"}, {"job.yaml", "--fresh"}, {"job.yaml", "--restore", "state"}} {
		run(t, dir, append([]string{"run"}, args...)...).expect(t, exitBadInput, "state", fmt.Sprintf("process %d is using it", first.Process.Pid))
	}
	// Another lineage has a folder of its own, but the result is the same file.
	run(t, dir, "run", "job.yaml", "--lineage", "other").expect(t, 1, "another run is writing it")
	if _, err := input.Write(records[len(records)/2:]); err != nil {
		t.Fatal(err)
	}
	if err := input.Close(); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(said)
	if err := first.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, rest)
	}
	checkHourly(t, dir)
}
