//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/checkpoint/folder"
)

// interrupted is a folder with the hourly-delays job after some checkpoints, killed
// behind the newest, which has a delta of its own; and that one and the one before it.
func interrupted(t *testing.T) (dir string, newest, before *checkpoint.Manifest) {
	t.Helper()
	dir, delta := killedWithDelta(t)
	store, err := folder.OpenReadOnly(folder.OS{}, filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := checkpoint.Recover(store)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(r.Manifest.FileNames(), filepath.Base(delta)) {
		t.Fatalf("the newest checkpoint does not have %s", delta)
	}
	if before, err = checkpoint.LoadManifest(store, checkpoint.ManifestName(r.Manifest.History, r.Manifest.Epoch-1)); err != nil {
		t.Fatal(err)
	}
	return dir, r.Manifest, before
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
	own := []string{checkpoint.ManifestName(newest.History, newest.Epoch)}
	for _, name := range newest.FileNames() {
		if !slices.Contains(before.FileNames(), name) {
			own = append(own, name)
		}
	}
	if len(own) < 2 {
		t.Fatalf("the newest checkpoint has no file of its own beside %v", own)
	}
	for _, name := range own {
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
				run(t, copied, "run", "job.yaml").expect(t, exitOK, "a checkpoint is damaged and is passed over", name, "is there once",
					fmt.Sprintf("from_epoch=%d to_epoch=%d", before.Epoch, newest.Epoch))
				checkHourly(t, copied)
			})
		}
	}
}

// TestAllCheckpointsAreDamaged: there is nothing to go on from, and starting anew is
// not for the run to decide.
func TestAllCheckpointsAreDamaged(t *testing.T) {
	dir, newest, _ := interrupted(t)
	bases, err := filepath.Glob(filepath.Join(dir, "state", "*.base"))
	if err != nil {
		t.Fatal(err)
	}
	for _, base := range bases {
		if err := damages["a flipped bit"](base); err != nil {
			t.Fatal(err)
		}
	}
	run(t, dir, "run", "job.yaml").expect(t, exitBadInput, newest.FileNames()[0]+" is damaged", "no checkpoint of history 1 is sound", "--fresh")
	run(t, dir, "run", "job.yaml", "--fresh").expect(t, exitOK)
	checkHourly(t, dir)
}

// TestTwoRunsInOneFolder: a second run of a job that runs already is refused, names the
// folder and the other process, and leaves that one alone.
func TestTwoRunsInOneFolder(t *testing.T) {
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
	_, said := startUntil(t, first, "job started")
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

// TestSourceBecameAFolder: what a job read from is a folder when it is to go on, which no
// restart changes: the run ends at once, and says so.
func TestSourceBecameAFolder(t *testing.T) {
	dir, _, _ := interrupted(t)
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "job.yaml")
	text := read(t, path)
	flights := regexp.MustCompile(`path: (\S*flights-20k\.ndjson)`).FindStringSubmatch(text)
	if flights == nil {
		t.Fatal("the job reads no flights")
	}
	write(t, path, strings.Replace(text, flights[1], "folder", 1))
	o := run(t, dir, "run", "job.yaml")
	o.expect(t, exitFailed, "cannot read folder: it is a folder, not a file")
	if strings.Contains(o.stderr, "started again") {
		t.Errorf("it was tried again:\n%s", o.stderr)
	}
}
