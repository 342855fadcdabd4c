//go:build unix && !aix && !solaris

package file

import (
	"errors"
	"os"
	"syscall"
)

// unfollowed are the flags of an open that neither follows a link nor waits for the
// other end of a named pipe.
const unfollowed = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// openFilesMove says that an open file can be renamed and removed.
const openFilesMove = true

// errLocked is that another holds the lock.
var errLocked = errors.New("it is locked")

// lock takes a file for this run alone, without waiting. Closing the file, which
// the end of a process does too, gives it back.
func lock(f *os.File) error {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errLocked
		default:
			return err
		}
	}
}

// unlock has nothing to do: the lock goes with the file.
func unlock(string) error { return nil }

// names is how many names, hard links, a file has.
func names(info os.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}
