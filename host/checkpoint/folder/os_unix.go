//go:build unix && !aix && !solaris

package folder

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// SyncDir implements FS.
func (OS) SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Lock implements FS. The lock goes with the process; the file stays, with the id of whoever had the lock last.
func (OS) Lock(path string) (io.Closer, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := flock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	// The id is for people; on a full disk there is none.
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
}

func flock(f *os.File) error {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return &Locked{Holder: holder(f)}
		default:
			return err
		}
	}
}

// holder is the id that the lock's file has.
func holder(f *os.File) string {
	var b [20]byte
	n, _ := f.ReadAt(b[:], 0)
	id := strings.TrimSpace(string(b[:n]))
	if _, err := strconv.Atoi(id); err != nil {
		return ""
	}
	return id
}

// lost says whether the medium cannot give back what it was given, which trying again does not change.
func lost(err error) bool { return errors.Is(err, syscall.EIO) }

// advice is what to do about an error of the disk.
func advice(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "the disk is full, or a quota is: make room"
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return "the folder must be writable for the user that runs the job"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "raise the limit of open files (ulimit -n)"
	}
	return ""
}
