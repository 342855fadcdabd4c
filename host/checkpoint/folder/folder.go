// Package folder keeps the objects of a job as files of one folder.
//
// It promises what checkpoint.Store says, for any moment at which the process is killed or the power fails, if the disk
// keeps what it was told to sync. An object is written under a temporary name, synced, renamed, and then the folder is
// synced; told as a sequence:
//
//	create .put-7, write, sync     a crash leaves a temporary file, which the next Open removes
//	rename .put-7 to NAME          a crash leaves NAME as it was, or whole: its bytes were synced before
//	sync the folder                from here on NAME is durable
//
// A crash or an error before that may leave NAME there but not durable: List syncs the folder before it tells of it.
//
// One process has a folder at a time: a lock in it says so, and goes with the process that holds it.
//
// Its caveats: on a network's file system the lock is as good as that system's. Where there is no flock (Windows,
// Solaris) the lock is a file that outlives a killed process; and where a folder cannot be synced (Windows) a rename is
// as durable as the system makes it. A name that cannot be opened may also mean that the whole folder went away.
package folder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/wasmstream/wasmstream/host/checkpoint"
)

// FS is what a folder needs of a disk. Paths are as path/filepath makes them.
type FS interface {
	// MakeDir makes a folder that is not there, and those above it, durably.
	MakeDir(path string) error
	// Create makes an empty file, in place of one that may be there.
	Create(path string) (File, error)
	// Open opens a file to read.
	Open(path string) (checkpoint.Object, error)
	// Rename gives a file another name in its folder, in place of a file that may have it.
	Rename(from, to string) error
	// Remove removes a file.
	Remove(path string) error
	// List returns the names of the files in a folder, in any order, folders left out.
	List(path string) ([]string, error)
	// SyncDir makes durable which files a folder has.
	SyncDir(path string) error
	// Lock takes a lock that lies in a file, for this process and until it is closed. It does not wait: if another has
	// it the error is *Locked.
	Lock(path string) (io.Closer, error)
}

// File is a file that is being written. Sync makes durable what was written.
type File interface {
	io.WriteCloser
	// Sync makes durable what was written.
	Sync() error
}

// Locked is that another process has the lock.
type Locked struct {
	Holder string // the id of the process, if it is known
	Advice string // what to do if no process has it
}

// Error tells who has it.
func (l *Locked) Error() string {
	text := "another process is using it"
	if l.Holder != "" {
		text = "process " + l.Holder + " is using it"
	}
	if l.Advice != "" {
		text += "; " + l.Advice
	}
	return text
}

const (
	lockName   = ".lock"
	tempPrefix = ".put-" // no object has such a name
)

// Store is a checkpoint.Store in a folder.
type Store struct {
	fs   FS
	path string

	mu     sync.Mutex
	lock   io.Closer // nil: it is only read
	temps  int       // temporary names so far
	unsure bool      // which files there are may not be durable
}

// Open makes the folder if it is not there, locks it, and removes what killed processes left half done.
func Open(fs FS, path string) (*Store, error) {
	s := &Store{fs: fs, path: path}
	if err := fs.MakeDir(path); err != nil {
		return nil, s.failed("make the folder", "", err)
	}
	lock, err := fs.Lock(filepath.Join(path, lockName))
	if err != nil {
		return nil, s.failed("lock it", "", err)
	}
	s.lock, s.unsure = lock, true
	if err := s.clean(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

// OpenReadOnly opens a folder to read, without a lock: it may be in use, or on a disk that cannot be written.
func OpenReadOnly(fs FS, path string) (*Store, error) {
	s := &Store{fs: fs, path: path}
	_, err := s.List()
	return s, err
}

func (s *Store) clean() error {
	names, err := s.fs.List(s.path)
	if err != nil {
		return s.failed("list it", "", err)
	}
	slices.Sort(names)
	for _, name := range names {
		if !strings.HasPrefix(name, tempPrefix) {
			continue
		}
		if err := s.fs.Remove(filepath.Join(s.path, name)); err != nil {
			return s.failed("remove", name, err)
		}
	}
	return nil
}

func (s *Store) failed(do, name string, err error) error {
	return &checkpoint.Failed{Store: s.path, Do: do, Name: name, Advice: advice(err), Err: err}
}

var errReadOnly = errors.New("the store is closed, or was opened to be read only")

// Put implements checkpoint.Store.
func (s *Store) Put(name string, write func(io.Writer) error) error {
	if err := s.writable(name); err != nil {
		return s.failed("write", name, err)
	}
	temp := s.tempPath()
	if err := s.writeTemp(temp, name, write); err != nil {
		// If this fails as well the next Open does it.
		_ = s.fs.Remove(temp)
		return err
	}
	// The bytes are durable. A rename that fails may have been done nevertheless, so the temporary file is gone or not.
	if err := s.fs.Rename(temp, filepath.Join(s.path, name)); err != nil {
		_ = s.fs.Remove(temp)
		return s.failed("rename", name, err)
	}
	if err := s.syncFolder(); err != nil {
		return s.failed("sync the folder of", name, err)
	}
	return nil
}

// syncFolder makes durable which files there are.
func (s *Store) syncFolder() error {
	err := s.fs.SyncDir(s.path)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsure = err != nil
	return err
}

// settle makes durable what a Put left that could not tell, of this process or one
// before: else who acts on it (commits what a manifest hands over) acts on what a power
// cut takes back.
func (s *Store) settle() error {
	s.mu.Lock()
	due := s.unsure && s.lock != nil
	s.mu.Unlock()
	if !due {
		return nil
	}
	if err := s.syncFolder(); err != nil {
		return s.failed("sync the folder", "", err)
	}
	return nil
}

func (s *Store) tempPath() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.temps++
	return filepath.Join(s.path, fmt.Sprintf("%s%d", tempPrefix, s.temps))
}

// writable tells why an object of that name cannot be written.
func (s *Store) writable(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil {
		return fmt.Errorf("%w: %w", errReadOnly, fs.ErrInvalid)
	}
	return checkpoint.CheckName(name)
}

// writeTemp writes a whole and durable temporary file.
func (s *Store) writeTemp(temp, name string, write func(io.Writer) error) error {
	f, err := s.fs.Create(temp)
	if err != nil {
		return s.failed("write", name, err)
	}
	w := &writer{w: f}
	err = write(w)
	if w.err != nil {
		err = s.failed("write", name, w.err)
	}
	if err == nil {
		// After a sync that failed nothing is known of the bytes, and another one that succeeds says nothing of them: the
		// file is given up.
		if err = f.Sync(); err != nil {
			err = s.failed("sync", name, err)
		}
	}
	if closed := f.Close(); closed != nil && err == nil {
		err = s.failed("close", name, closed)
	}
	return err
}

// writer keeps the disk's error apart from those of whoever writes: its own counts, even if they go on.
type writer struct {
	w   io.Writer
	err error
}

func (w *writer) Write(b []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.w.Write(b)
	w.err = err
	return n, err
}

// Get implements checkpoint.Store.
func (s *Store) Get(name string) (checkpoint.Object, error) {
	if err := checkpoint.CheckName(name); err != nil {
		return nil, s.failed("open", name, err)
	}
	o, err := s.fs.Open(filepath.Join(s.path, name))
	if err != nil {
		return nil, s.readFailed("open", name, err)
	}
	return &object{Object: o, store: s, name: name}, nil
}

// readFailed tells what the disk has lost from what can be tried again.
func (s *Store) readFailed(do, name string, err error) error {
	if lost(err) {
		return &checkpoint.Damaged{Object: name, Reason: "the disk cannot read it: " + err.Error()}
	}
	return s.failed(do, name, err)
}

// object is a file with our errors.
type object struct {
	checkpoint.Object
	store *Store
	name  string
}

// ReadAt implements checkpoint.Object.
func (o *object) ReadAt(b []byte, at int64) (int, error) {
	n, err := o.Object.ReadAt(b, at)
	if err != nil && err != io.EOF {
		err = o.store.readFailed("read", o.name, err)
	}
	return n, err
}

// List implements checkpoint.Store. Files that no object can be are left out. What it
// names is durable, unless the folder is only read.
func (s *Store) List() ([]string, error) {
	if err := s.settle(); err != nil {
		return nil, err
	}
	names, err := s.fs.List(s.path)
	if err != nil {
		return nil, s.failed("list it", "", err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return checkpoint.CheckName(name) != nil })
	slices.Sort(names)
	return names, nil
}

// Delete implements checkpoint.Store. The folder is not synced: what comes back after a crash is deleted again.
func (s *Store) Delete(name string) error {
	if err := s.writable(name); err != nil {
		return s.failed("delete", name, err)
	}
	if err := s.fs.Remove(filepath.Join(s.path, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s.failed("delete", name, err)
	}
	return nil
}

// Close implements checkpoint.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	lock := s.lock
	if s.lock = nil; lock == nil {
		return nil
	}
	if err := lock.Close(); err != nil {
		return s.failed("unlock it", "", err)
	}
	return nil
}
