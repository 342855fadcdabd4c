//go:build !unix || aix || solaris

package folder

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// SyncDir implements FS. Not every system here can sync a folder; where it can, its error counts for nothing, since it
// cannot be told from "cannot".
func (OS) SyncDir(path string) error {
	if d, err := os.Open(path); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
	return nil
}

// Lock implements FS by a file that is there while the lock is held. It outlives a process that is killed.
func (OS) Lock(path string) (io.Closer, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		id, _ := os.ReadFile(path)
		return nil, &Locked{
			Holder: strings.TrimSpace(string(id)),
			Advice: "if that process was killed, remove " + path,
		}
	}
	if err != nil {
		return nil, err
	}
	_, _ = f.WriteString(strconv.Itoa(os.Getpid()) + "\n")
	return lockFile{f}, nil
}

type lockFile struct{ f *os.File }

// Close gives the lock up.
func (l lockFile) Close() error { return errors.Join(l.f.Close(), os.Remove(l.f.Name())) }

// lost says whether the medium cannot give back what it was given: here nothing tells.
func lost(error) bool { return false }

// advice is what to do about an error of the disk.
func advice(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return "the folder must be writable for the user that runs the job"
	}
	return ""
}
