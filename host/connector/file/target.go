package file

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Target is the file that a sink at path replaces: absolute, without symbolic
// links, which stay and lead to the new file. The file, and folders on the way to
// it, need not be there yet; whatever is there must be a regular file.
func Target(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	switch {
	case isOpenFile(path):
		return "", errors.New("it stands for a stream of the process, and a sink replaces a file as a whole")
	case err == nil && !info.Mode().IsRegular():
		return "", fmt.Errorf("it is %s, and a sink replaces a regular file as a whole", Kind(info.Mode()))
	case err == nil:
		return filepath.EvalSymlinks(path)
	}
	if _, err := os.Lstat(path); err == nil {
		return "", errors.New("it is a symbolic link to a file that is not there; make that file, or remove the link")
	}
	return absent(path), nil
}

// absent is where a path will lead to of which the last parts are not there yet.
func absent(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	folder := filepath.Dir(path)
	if folder == path {
		return path
	}
	return filepath.Join(absent(folder), filepath.Base(path))
}

// linksMax bounds how many links one after the other are followed, as the system
// does.
const linksMax = 40

// isOpenFile tells whether a path stands for a file that the process has open, like
// /dev/stdout, whatever that file is.
func isOpenFile(path string) bool {
	for range linksMax {
		if strings.HasPrefix(path, "/proc/") || strings.HasPrefix(path, "/dev/fd/") {
			return true
		}
		link, err := os.Readlink(path)
		if err != nil {
			return false
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(path), link)
		}
		path = link
	}
	return false
}

// Part is the file beside a sink's target that everything goes to until Commit.
func Part(target string) string {
	return filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+".part")
}

// Kind says in words what a file is.
func Kind(m os.FileMode) string {
	switch {
	case m.IsRegular():
		return "a regular file"
	case m.IsDir():
		return "a folder"
	case m&os.ModeSymlink != 0:
		return "a symbolic link"
	case m&os.ModeNamedPipe != 0:
		return "a pipe"
	case m&os.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}
