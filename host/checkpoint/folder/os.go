package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/wasmstream/wasmstream/host/checkpoint"
)

// OS is the system's own disks.
type OS struct{}

// MakeDir implements FS.
func (o OS) MakeDir(path string) error {
	switch info, err := os.Stat(path); {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return &fs.PathError{Op: "mkdir", Path: path, Err: errors.New("there is a file of that name")}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := o.MakeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return o.SyncDir(parent)
}

// Create implements FS.
func (OS) Create(path string) (File, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err // not f, which would be an interface that holds nil
	}
	return f, nil
}

// Open implements FS.
func (OS) Open(path string) (checkpoint.Object, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return osObject{f, info.Size()}, nil
}

type osObject struct {
	*os.File
	size int64
}

// Size implements checkpoint.Object.
func (o osObject) Size() int64 { return o.size }

// Rename implements FS.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements FS.
func (OS) Remove(path string) error { return os.Remove(path) }

// List implements FS.
func (OS) List(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}
