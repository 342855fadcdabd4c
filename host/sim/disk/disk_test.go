package disk_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/checkpoint/folder"
	"github.com/wasmstream/wasmstream/host/sim/disk"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newDisk(t *testing.T, seed uint64) *disk.Disk {
	t.Helper()
	d := disk.New(seed)
	check(t, d.MakeDir("/d"))
	return d
}

// create makes a file with synced and unsynced bytes.
func create(t *testing.T, d *disk.Disk, path string, synced, unsynced []byte) folder.File {
	t.Helper()
	f, err := d.Create(path)
	check(t, err)
	_, err = f.Write(synced)
	check(t, err)
	check(t, f.Sync())
	_, err = f.Write(unsynced)
	check(t, err)
	return f
}

// state tells what there is, for counting what crashes can leave.
func state(d *disk.Disk) string {
	var parts []string
	for _, name := range d.Files("/d") {
		b, _ := d.Bytes("/d/" + name)
		parts = append(parts, name+"="+string(b))
	}
	return strings.Join(parts, " ")
}

// outcomes gathers what is left of a history in many crashes.
func outcomes(t *testing.T, act func(*disk.Disk)) []string {
	t.Helper()
	seen := map[string]bool{}
	for seed := range uint64(300) {
		d := newDisk(t, seed)
		act(d)
		d.Crash()
		once := state(d)
		d.Crash()
		if again := state(d); again != once {
			t.Fatalf("a second crash turns %q into %q", once, again)
		}
		seen[once] = true
	}
	var all []string
	for s := range seen {
		all = append(all, s)
	}
	slices.Sort(all)
	return all
}

// TestWhatCrashesLeave lists by hand all that promise A allows, and wants each of it to come up.
func TestWhatCrashesLeave(t *testing.T) {
	for _, c := range []struct {
		name string
		act  func(*disk.Disk)
		want []string
	}{
		{"synced name and bytes", func(d *disk.Disk) {
			create(t, d, "/d/a", []byte("12"), nil)
			check(t, d.SyncDir("/d"))
		}, []string{"a=12"}},
		{"synced bytes, not the name", func(d *disk.Disk) {
			create(t, d, "/d/a", []byte("12"), nil)
		}, []string{"", "a=12"}},
		{"rename without a sync of the folder", func(d *disk.Disk) {
			create(t, d, "/d/a", []byte("old"), nil)
			create(t, d, "/d/t", []byte("new"), nil)
			check(t, d.SyncDir("/d"))
			check(t, d.Rename("/d/t", "/d/a"))
		}, []string{"a=new", "a=old t=new"}},
		{"remove without a sync of the folder", func(d *disk.Disk) {
			create(t, d, "/d/a", []byte("1"), nil)
			create(t, d, "/d/b", []byte("2"), nil)
			check(t, d.SyncDir("/d"))
			check(t, d.Remove("/d/a"))
			check(t, d.Remove("/d/b"))
		}, []string{"", "a=1", "a=1 b=2", "b=2"}},
		{"rename before the bytes are synced", func(d *disk.Disk) {
			create(t, d, "/d/t", nil, []byte("x"))
			check(t, d.SyncDir("/d"))
			check(t, d.Rename("/d/t", "/d/a"))
			check(t, d.SyncDir("/d"))
		}, nil}, // looked at below
	} {
		t.Run(c.name, func(t *testing.T) {
			got := outcomes(t, c.act)
			if c.want != nil && !slices.Equal(got, c.want) {
				t.Errorf("crashes leave %q, not %q", got, c.want)
			}
			if c.want == nil && (!slices.Contains(got, "a=") || !slices.Contains(got, "a=x") || len(got) < 4) {
				t.Errorf("crashes leave %q; the byte should be lost, kept, and replaced by others", got)
			}
		})
	}
}

func TestUnsyncedBytesAreTorn(t *testing.T) {
	synced, unsynced := bytes.Repeat([]byte("s"), 700), bytes.Repeat([]byte("u"), 3000)
	whole, none, torn, cut := 0, 0, 0, 0
	for seed := range uint64(2000) {
		d := newDisk(t, seed)
		create(t, d, "/d/a", synced, unsynced)
		check(t, d.SyncDir("/d"))
		d.Crash()
		got, err := d.Bytes("/d/a")
		check(t, err)
		rest, ok := bytes.CutPrefix(got, synced)
		switch {
		case !ok:
			t.Fatalf("seed %d: synced bytes are lost", seed)
		case len(rest) == 0:
			none++
		case bytes.Equal(rest, unsynced):
			whole++
		case bytes.HasPrefix(unsynced, rest):
			cut++
		default:
			torn++
		}
	}
	if torn == 0 || cut == 0 || none+whole == 0 {
		t.Errorf("torn %d, cut %d, none %d, whole %d times", torn, cut, none, whole)
	}
}

func TestKillKeepsAll(t *testing.T) {
	d := newDisk(t, 1)
	f := create(t, d, "/d/a", nil, []byte("unsynced"))
	l, err := d.Lock("/d/lock")
	check(t, err)
	if _, err := d.Lock("/d/lock"); !errors.As(err, new(*folder.Locked)) {
		t.Errorf("a lock that is held: %v", err)
	}
	d.Kill()
	if got := state(d); got != "a=unsynced" {
		t.Errorf("%q is left", got)
	}
	if _, err := f.Write([]byte("more")); !errors.Is(err, disk.ErrGone) {
		t.Errorf("a write by the process that was killed: %v", err)
	}
	again, err := d.Lock("/d/lock")
	check(t, err) // the lock went with the process
	if err := l.Close(); !errors.Is(err, disk.ErrGone) {
		t.Errorf("the old process gives up its lock: %v", err)
	}
	if _, err := d.Lock("/d/lock"); err == nil {
		t.Error("the old process gave up the new one's lock")
	}
	check(t, again.Close())
}

// history is a few operations; it returns the errors.
func history(d *disk.Disk) []error {
	var errs []error
	note := func(err error) { errs = append(errs, err) }
	f, err := d.Create("/d/t")
	note(err)
	if err == nil {
		_, err = f.Write([]byte("0123456789"))
		note(err)
		note(f.Sync())
		note(f.Close())
	}
	note(d.Rename("/d/t", "/d/a"))
	note(d.SyncDir("/d"))
	return errs
}

// TestEachOperationFails is promise C, and D as far as it shows at once.
func TestEachOperationFails(t *testing.T) {
	failure := errors.New("injected")
	d := newDisk(t, 1)
	before := d.Ops()
	history(d)
	n := d.Ops() - before
	if n != 6 {
		t.Fatalf("the history has %d operations, not 6", n)
	}
	for i := 1; i <= n; i++ {
		for _, fail := range []error{failure, disk.Done{Err: failure}} {
			d := newDisk(t, 1)
			d.FailAt(before+i, fail)
			failed := 0
			for _, err := range history(d) {
				if errors.Is(err, failure) {
					failed++
				}
			}
			if failed != 1 {
				t.Errorf("operation %d: %d errors", i, failed)
			}
		}
	}
	for i := 1; i <= n; i++ {
		d := newDisk(t, 1)
		d.StopAt(before + i)
		for j, err := range history(d) {
			if errors.Is(err, disk.ErrGone) != (j+1 >= i) && !(i == 1 && j > 0) {
				t.Errorf("stopped at operation %d: operation %d: %v", i, j+1, err)
			}
		}
		if !d.Stopped() {
			t.Errorf("not stopped at operation %d", i)
		}
	}
}

// TestFailedSync is promise D: the sync after it says nothing of the bytes before it.
func TestFailedSync(t *testing.T) {
	lost := false
	for seed := range uint64(20) {
		d := newDisk(t, seed)
		f := create(t, d, "/d/a", nil, []byte("0123456789"))
		check(t, d.SyncDir("/d"))
		d.FailAt(d.Ops()+1, errors.New("injected"))
		if f.Sync() == nil {
			t.Fatal("the sync did not fail")
		}
		check(t, f.Sync())
		d.Crash()
		lost = lost || state(d) != "a=0123456789"
	}
	if !lost {
		t.Error("the bytes are always there")
	}
}

func TestLimit(t *testing.T) {
	d := newDisk(t, 1)
	full := errors.New("full")
	d.Limit(10, full)
	f := create(t, d, "/d/a", []byte("01234567"), nil)
	if n, err := f.Write([]byte("89ab")); !errors.Is(err, full) || n >= 4 {
		t.Errorf("%d bytes written, error %v", n, err)
	}
	check(t, d.Remove("/d/a"))
	create(t, d, "/d/b", []byte("0123456789"), nil)
}

// TestSeed: a run can be had again.
func TestSeed(t *testing.T) {
	run := func(seed uint64) string {
		d := newDisk(t, seed)
		var all []string
		for i := range 20 {
			create(t, d, fmt.Sprintf("/d/f%d", i), []byte("s"), bytes.Repeat([]byte("u"), 2000))
			if i%5 == 4 {
				d.Crash()
				all = append(all, state(d))
			}
		}
		return strings.Join(all, "\n")
	}
	if run(7) != run(7) {
		t.Error("one seed gave two results")
	}
	if run(7) == run(8) {
		t.Error("two seeds gave one result")
	}
}

func TestRot(t *testing.T) {
	d := newDisk(t, 1)
	create(t, d, "/d/a", []byte("1"), nil)
	check(t, d.SyncDir("/d"))
	check(t, d.Rot("/d/a", []byte("2")))
	d.Crash()
	if got := state(d); got != "a=2" {
		t.Errorf("%q", got)
	}
	check(t, d.Rot("/d/a", nil))
	d.Crash()
	if got := state(d); got != "" {
		t.Errorf("%q", got)
	}
	if err := d.Rot("/d/a", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}
