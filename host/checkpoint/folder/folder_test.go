package folder_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/checkpoint/folder"
	"github.com/wasmstream/wasmstream/host/checkpoint/storetest"
	"github.com/wasmstream/wasmstream/host/sim/disk"
)

func TestContractOnRealDisk(t *testing.T) {
	paths := map[checkpoint.Store]string{}
	open := func(t *testing.T, path string) checkpoint.Store {
		s, err := folder.Open(folder.OS{}, path)
		if err != nil {
			t.Fatal(err)
		}
		paths[s] = path
		return s
	}
	storetest.Run(t, storetest.Harness{
		Open:   func(t *testing.T) checkpoint.Store { return open(t, filepath.Join(t.TempDir(), "deep", "state")) },
		Reopen: func(t *testing.T, closed checkpoint.Store) checkpoint.Store { return open(t, paths[closed]) },
	})
}

const path = "/jobs/state"

func open(t testing.TB, d *disk.Disk) *folder.Store {
	t.Helper()
	s, err := folder.Open(d, path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestContractOnCrashingDisk cuts the power where the suite opens a store again.
func TestContractOnCrashingDisk(t *testing.T) {
	for seed := range uint64(10) {
		var d *disk.Disk
		storetest.Run(t, storetest.Harness{
			Open: func(t *testing.T) checkpoint.Store {
				d = disk.New(seed)
				return open(t, d)
			},
			Reopen: func(t *testing.T, _ checkpoint.Store) checkpoint.Store {
				if err := d.SyncDir(path); err != nil { // else what was deleted may be there again
					t.Fatal(err)
				}
				d.Crash()
				return open(t, d)
			},
		})
	}
}

func put(s checkpoint.Store, name, text string) error {
	return s.Put(name, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

func get(t testing.TB, s checkpoint.Store, name string) string {
	t.Helper()
	o, err := s.Get(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "absent"
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(io.NewSectionReader(o, 0, o.Size()))
	if err := errors.Join(err, o.Close()); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// ends are how a process can end.
var ends = map[string]func(*disk.Disk){"killed": (*disk.Disk).Kill, "power cut": (*disk.Disk).Crash}

// TestPutAndCrash ends the process before each operation of two Puts. Afterwards each object is as before or new, and
// new if Put said so.
func TestPutAndCrash(t *testing.T) {
	large := strings.Repeat("new", 2000)
	stopped, kept := 0, 0
	for how, end := range ends {
		for seed := range uint64(40) {
			for n := 1; ; n++ {
				d := disk.New(seed)
				s := open(t, d)
				if err := put(s, "replaced", "old"); err != nil {
					t.Fatal(err)
				}
				d.StopAt(d.Ops() + n)
				replaced, added := put(s, "replaced", large), put(s, "added", large)
				last := !d.Stopped()
				end(d)
				s = open(t, d)
				where := fmt.Sprintf("%s before operation %d, seed %d", how, n, seed)
				if got := get(t, s, "replaced"); got != large && (got != "old" || replaced == nil) {
					t.Errorf("%s: Put returned %v, and the object is %.20q", where, replaced, got)
				} else if got == "old" {
					kept++
				}
				if got := get(t, s, "added"); got != large && (got != "absent" || added == nil) {
					t.Errorf("%s: Put returned %v, and the object is %.20q", where, added, got)
				}
				if files := d.Files(path); slices.ContainsFunc(files, func(f string) bool { return strings.HasPrefix(f, ".put") }) {
					t.Errorf("%s: files %q are left", where, files)
				}
				if last {
					break
				}
				stopped++
			}
		}
	}
	if stopped < 800 || kept == 0 || kept == stopped {
		t.Errorf("%d times stopped, the old object kept %d times: the test shows little", stopped, kept)
	}
}

// TestListedIsDurable has a Put of which only the sync of the folder fails, so that nobody knows whether the object is
// durable. Once it was listed, by this process or the next one, no power cut takes it back.
func TestListedIsDurable(t *testing.T) {
	for _, again := range []bool{false, true} {
		unlisted := 0
		for seed := range uint64(40) {
			for _, listed := range []bool{false, true} {
				d := disk.New(seed)
				s := open(t, d)
				d.FailAt(d.Ops()+6, syscall.EIO) // behind create, write, sync, close and rename
				if err := put(s, "note", "new"); err == nil || !strings.Contains(err.Error(), "sync the folder") {
					t.Fatalf("Put returned %v", err)
				}
				if again {
					d.Kill()
					s = open(t, d)
				}
				if listed {
					if names, err := s.List(); err != nil || len(names) != 1 {
						t.Fatalf("listed %q, %v", names, err)
					}
				}
				d.Crash()
				switch got := get(t, open(t, d), "note"); {
				case got == "new":
				case listed:
					t.Errorf("seed %d: it was listed, and is %s", seed, got)
				default:
					unlisted++
				}
			}
		}
		if unlisted == 0 {
			t.Error("no power cut took anything back: the test shows nothing")
		}
	}
}

// TestPutAndErrors fails each operation of a Put once, with its effect and without.
func TestPutAndErrors(t *testing.T) {
	for _, fail := range []error{syscall.ENOSPC, syscall.EROFS, syscall.EIO, disk.Done{Err: syscall.EIO}} {
		for n := 1; ; n++ {
			d := disk.New(1)
			s := open(t, d)
			if err := put(s, "o", "old"); err != nil {
				t.Fatal(err)
			}
			at := d.Ops() + n
			d.FailAt(at, fail)
			err := put(s, "o", "new")
			if d.Ops() < at {
				break // all have had their turn
			}
			if !errors.Is(err, fail) || !checkpoint.Retryable(err) || !strings.Contains(err.Error(), path) {
				t.Errorf("operation %d fails with %v: Put returned %v, which should be that, retryable, and name the folder", n, fail, err)
			}
			if got := get(t, s, "o"); got != "old" && got != "new" {
				t.Errorf("operation %d fails with %v: the object is %q", n, fail, got)
			}
			if err := put(s, "o", "newer"); err != nil {
				t.Errorf("after operation %d had failed: %v", n, err)
			}
			d.Crash()
			if got := get(t, open(t, d), "o"); got != "newer" {
				t.Errorf("after operation %d had failed, another Put and a crash the object is %q", n, got)
			}
		}
	}
}

func TestAdvice(t *testing.T) {
	d := disk.New(1)
	s := open(t, d)
	d.Limit(10, syscall.ENOSPC)
	err := put(s, "o", "more than ten bytes")
	if !checkpoint.Retryable(err) || !strings.Contains(err.Error(), "checkpoint store /jobs/state: write o: ") || !strings.Contains(err.Error(), "make room") {
		t.Errorf("a full disk: %v", err)
	}
	d.Limit(0, nil)
	if err := put(s, "o", "more than ten bytes"); err != nil {
		t.Errorf("a disk that has room again: %v", err)
	}
	d.Inject(func(op disk.Op) error {
		if op.Kind == disk.Create {
			return syscall.EROFS
		}
		return nil
	})
	if err := put(s, "o", ""); !checkpoint.Retryable(err) || !strings.Contains(err.Error(), "must be writable") {
		t.Errorf("a read-only disk: %v", err)
	}
}

// TestDiskCannotRead: what the medium has lost is damage of that object, and nothing to try again.
func TestDiskCannotRead(t *testing.T) {
	d := disk.New(1)
	s := open(t, d)
	if err := put(s, "o", "bytes"); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []disk.Kind{disk.Open, disk.Read} {
		for _, c := range []struct {
			err  error
			lost bool
		}{{syscall.EIO, true}, {syscall.EACCES, false}} {
			d.Inject(func(op disk.Op) error {
				if op.Kind == kind {
					return c.err
				}
				return nil
			})
			o, err := s.Get("o")
			if err == nil {
				_, err = o.ReadAt(make([]byte, 3), 0)
			}
			var damaged *checkpoint.Damaged
			if errors.As(err, &damaged) != c.lost || checkpoint.Retryable(err) == c.lost {
				t.Errorf("%s fails with %v: %v", kind, c.err, err)
			}
			if c.lost && damaged.Object != "o" {
				t.Errorf("the damaged object is %q", damaged.Object)
			}
		}
	}
}

// TestOneProcess: two on one folder is the mistake that a lock is for.
func TestOneProcess(t *testing.T) {
	dir := t.TempDir()
	s, err := folder.Open(folder.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = folder.Open(folder.OS{}, dir)
	var locked *folder.Locked
	if !errors.As(err, &locked) || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("a second store in one folder: %v; it should be locked, with the folder and the process named", err)
	}
	if err := put(s, "o", "x"); err != nil {
		t.Errorf("the first one, after that: %v", err)
	}
	r, err := folder.OpenReadOnly(folder.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := get(t, r, "o"); got != "x" {
		t.Errorf("read beside it: %q", got)
	}
	if err := errors.Join(put(r, "p", ""), r.Delete("o")); err == nil {
		t.Error("a store that is only read was written")
	}
	if err := errors.Join(r.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := put(s, "p", ""); err == nil {
		t.Error("a store that is closed was written: it no longer has the lock")
	}
	s, err = folder.Open(folder.OS{}, dir)
	if err != nil {
		t.Fatalf("after the first was closed: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestOthersFilesStay(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"README.md", ".hidden", ".put-3", "object"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := folder.Open(folder.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	names, err := s.List()
	if err != nil || !slices.Equal(names, []string{"object"}) {
		t.Errorf("objects %q, error %v", names, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range left {
		got = append(got, e.Name())
	}
	if want := []string{".hidden", ".lock", "README.md", "folder", "object"}; !slices.Equal(got, want) {
		t.Errorf("in the folder are %q, not %q", got, want)
	}
}

func TestWrongFolders(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Open(folder.OS{}, file); err == nil || !strings.Contains(err.Error(), "there is a file of that name") {
		t.Errorf("a file as folder: %v", err)
	}
	if _, err := folder.OpenReadOnly(folder.OS{}, filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading a folder that is not there: %v", err)
	}
}
