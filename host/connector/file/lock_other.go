//go:build !unix || aix || solaris

package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// unfollowed would be the flags of an open that follows no links; there are none.
const unfollowed = 0

// openFilesMove says that an open file can be renamed and removed.
const openFilesMove = false

// errLocked is that another holds the lock.
var errLocked = errors.New("it is locked")

// lock takes a file for this run alone by a file beside it. Unlike a lock of the
// system's, that one outlives a run that is killed, so its name is told.
func lock(f *os.File) error {
	name := lockName(f.Name())
	l, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w by %s; if the run that made it was killed, remove it", errLocked, name)
	}
	if err != nil {
		return err
	}
	return l.Close()
}

func lockName(path string) string { return path + ".lock" }

// unlock gives up the lock of the file that was at path.
func unlock(path string) error { return os.Remove(lockName(path)) }

// names is how many names a file has, as far as one can tell here.
func names(os.FileInfo) uint64 { return 1 }
