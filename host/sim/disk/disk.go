// Package disk is a disk in memory that can lose what a real one may lose: it implements folder.FS for tests.
//
// It promises:
//
//	A. After Crash it has, of each file, what was synced, and of what was written since then a part: cut anywhere, and
//	   with sectors of it in disorder. Of each folder it has the names as of its last sync, and of the changes since
//	   then either the first few, as a file system with a journal leaves them, or any of them; a rename is done as a
//	   whole or not at all. Which, follows from the seed.
//	B. Kill ends the process only: what it wrote is there.
//	C. Operations are numbered from 1, in the order in which they come. A fault hits one by its number, or by what it is.
//	D. A write that fails may have written a part of its bytes; a sync that fails makes nothing durable, and what it was
//	   to make durable never becomes so by a later sync (as on Linux, where that one succeeds); any other operation that
//	   fails does nothing. Injected faults may instead ask that it was done and only its answer was lost.
//
// Its caveats: folders are made durably at once; there are no links, and names are compared byte by byte.
package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/checkpoint/folder"
)

// Op is one operation.
type Op struct {
	Number int
	Kind   Kind
	Path   string // the new one of a rename
	Bytes  int    // of a read or write
}

// Kind is what an operation does.
type Kind string

// The operations.
const (
	MakeDir Kind = "make-dir"
	Create  Kind = "create"
	Open    Kind = "open"
	Read    Kind = "read"
	Write   Kind = "write"
	Sync    Kind = "sync"
	Close   Kind = "close"
	Rename  Kind = "rename"
	Remove  Kind = "remove"
	List    Kind = "list"
	SyncDir Kind = "sync-dir"
	Lock    Kind = "lock"
)

// ErrGone is that the process whose handle this is has ended, by Kill or Crash.
var ErrGone = errors.New("the process has ended")

// Done wraps an error that a fault returns for an operation that is done nevertheless.
type Done struct{ Err error }

// Error is that of the error inside.
func (d Done) Error() string { return d.Err.Error() }

// Unwrap is the error inside.
func (d Done) Unwrap() error { return d.Err }

// Disk is a disk, and the process that uses it: Kill and Crash end that one, and the next may open files at once.
type Disk struct {
	mu       sync.Mutex
	rand     *rand.Rand
	dirs     map[string]*dir
	locks    map[string]int // the process that holds it
	process  int
	ops      int
	fault    func(Op) error
	stopped  bool
	dyingAt  int // 0: never
	capacity int64
	full     error
}

// dir is a folder: its names, as they are and as they are on the medium, and what changed since then, in order.
type dir struct {
	now, durable map[string]*inode
	changes      []change
}

// change is what one operation does to names, as a whole. A nil inode removes the name.
type change map[string]*inode

// inode is a file's bytes.
type inode struct {
	data   []byte
	synced int  // so many are on the medium
	broken bool // a sync has failed: nothing more of it gets there
}

// New makes an empty disk. What is random about it follows from the seed.
func New(seed uint64) *Disk {
	return &Disk{rand: rand.New(rand.NewPCG(seed, 0)), dirs: map[string]*dir{}, locks: map[string]int{}}
}

// Inject makes every operation ask fault first; an error is the operation's. Nil takes the fault away. The disk is not
// to be used from within.
func (d *Disk) Inject(fault func(Op) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = fault
}

// FailAt makes the operation with that number fail.
func (d *Disk) FailAt(number int, err error) {
	d.Inject(func(op Op) error {
		if op.Number == number {
			return err
		}
		return nil
	})
}

// StopAt makes the process end before the operation with that number: it and all later ones fail with ErrGone, until
// Kill or Crash says how it ended.
func (d *Disk) StopAt(number int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dyingAt = number
}

// Limit makes writes fail with err that would need more than so many bytes in all; 0 is no limit.
func (d *Disk) Limit(bytes int64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.capacity, d.full = bytes, err
}

// Ops is how many operations there were.
func (d *Disk) Ops() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ops
}

// Stopped says whether the operation of StopAt has come.
func (d *Disk) Stopped() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stopped
}

// begin counts an operation of a process and returns why it fails. The lock is held.
func (d *Disk) begin(process int, kind Kind, path string, bytes int) error {
	if process != d.process || d.stopped {
		return &fs.PathError{Op: string(kind), Path: path, Err: ErrGone}
	}
	d.ops++
	if d.ops == d.dyingAt {
		d.stopped = true
		return &fs.PathError{Op: string(kind), Path: path, Err: ErrGone}
	}
	if d.fault != nil {
		if err := d.fault(Op{Number: d.ops, Kind: kind, Path: path, Bytes: bytes}); err != nil {
			return &fs.PathError{Op: string(kind), Path: path, Err: err}
		}
	}
	return nil
}

// do runs an operation.
func (d *Disk) do(kind Kind, path string, act func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.doLocked(d.process, kind, path, act)
}

func (d *Disk) doLocked(process int, kind Kind, path string, act func() error) error {
	err := d.begin(process, kind, path, 0)
	if err != nil && !errors.As(err, new(Done)) {
		return err
	}
	if acted := act(); acted != nil {
		return &fs.PathError{Op: string(kind), Path: path, Err: acted}
	}
	return err
}

// folderOf returns the folder that a path is in, and the name there.
func (d *Disk) folderOf(path string) (*dir, string, error) {
	in, name := filepath.Split(filepath.Clean(path))
	if f := d.dirs[filepath.Clean(in)]; f != nil {
		return f, name, nil
	}
	return nil, "", fs.ErrNotExist
}

func (f *dir) change(c change) {
	c.apply(f.now)
	f.changes = append(f.changes, c)
}

func (c change) apply(names map[string]*inode) {
	for name, file := range c {
		if file == nil {
			delete(names, name)
		} else {
			names[name] = file
		}
	}
}

// MakeDir implements folder.FS.
func (d *Disk) MakeDir(path string) error {
	return d.do(MakeDir, path, func() error {
		for at := filepath.Clean(path); d.dirs[at] == nil; at = filepath.Dir(at) {
			d.dirs[at] = &dir{now: map[string]*inode{}, durable: map[string]*inode{}}
		}
		return nil
	})
}

// Create implements folder.FS.
func (d *Disk) Create(path string) (folder.File, error) {
	h := &handle{disk: d, path: path}
	err := d.do(Create, path, func() error {
		f, name, err := d.folderOf(path)
		if err != nil {
			return err
		}
		h.process, h.inode = d.process, &inode{}
		f.change(change{name: h.inode})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

// Open implements folder.FS.
func (d *Disk) Open(path string) (checkpoint.Object, error) {
	h := &handle{disk: d, path: path}
	err := d.do(Open, path, func() error {
		f, name, err := d.folderOf(path)
		if err != nil {
			return err
		}
		if h.inode = f.now[name]; h.inode == nil {
			return fs.ErrNotExist
		}
		h.process, h.size = d.process, int64(len(h.inode.data))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

// Rename implements folder.FS.
func (d *Disk) Rename(from, to string) error {
	return d.do(Rename, to, func() error {
		f, old, err := d.folderOf(from)
		if err != nil {
			return err
		}
		g, name, err := d.folderOf(to)
		switch file := f.now[old]; {
		case err != nil:
			return err
		case file == nil:
			return fs.ErrNotExist
		case f != g:
			return errors.New("this disk renames within a folder only")
		case name != old:
			f.change(change{old: nil, name: file})
		}
		return nil
	})
}

// Remove implements folder.FS.
func (d *Disk) Remove(path string) error {
	return d.do(Remove, path, func() error {
		f, name, err := d.folderOf(path)
		if err != nil || f.now[name] == nil {
			return fs.ErrNotExist
		}
		f.change(change{name: nil})
		return nil
	})
}

// List implements folder.FS.
func (d *Disk) List(path string) ([]string, error) {
	var names []string
	err := d.do(List, path, func() error {
		f := d.dirs[filepath.Clean(path)]
		if f == nil {
			return fs.ErrNotExist
		}
		names = slices.Sorted(maps.Keys(f.now))
		d.rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		return nil
	})
	return names, err
}

// SyncDir implements folder.FS.
func (d *Disk) SyncDir(path string) error {
	return d.do(SyncDir, path, func() error {
		f := d.dirs[filepath.Clean(path)]
		if f == nil {
			return fs.ErrNotExist
		}
		f.durable, f.changes = maps.Clone(f.now), nil
		return nil
	})
}

// Lock implements folder.FS.
func (d *Disk) Lock(path string) (io.Closer, error) {
	l := &lock{disk: d, path: filepath.Clean(path)}
	err := d.do(Lock, path, func() error {
		if _, _, err := d.folderOf(path); err != nil {
			return err
		}
		if holder, held := d.locks[l.path]; held {
			return &folder.Locked{Holder: fmt.Sprint(holder)}
		}
		l.process, d.locks[l.path] = d.process, d.process
		return nil
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

type lock struct {
	disk    *Disk
	path    string
	process int
}

// Close gives the lock up.
func (l *lock) Close() error {
	l.disk.mu.Lock()
	defer l.disk.mu.Unlock()
	return l.disk.doLocked(l.process, Close, l.path, func() error {
		delete(l.disk.locks, l.path)
		return nil
	})
}
