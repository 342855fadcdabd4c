package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The cache on disk has a directory for each module, named by its digest:
//
//	CacheDir/<digest>/seal                       one line per entry: digest, path
//	CacheDir/<digest>/wazero-<version>-…/<key>   entries, written by the engine
//
// The engine checks the code in an entry but not the lengths and offsets beside
// it, so that a broken file could make it allocate or jump at will. The seal
// holds the digest of each entry as it was written, and an entry without a seal
// is deleted before the engine looks (invariant H). It guards against broken
// disks and crashes; whoever can write to the directory can run code as the host.

// sealFile names the list of sealed entries.
const sealFile = "seal"

// entriesMax bounds the files that a module's directory is believed to hold:
// one for each version of the engine and kind of processor that used it.
const entriesMax = 1000

// cacheEntryDir is where a module's compiled code is kept.
func cacheEntryDir(dir string, digest [sha256.Size]byte) string {
	return filepath.Join(dir, hex.EncodeToString(digest[:]))
}

// dropUnsealed deletes the entries that are not what was sealed.
func dropUnsealed(dir string) error {
	sealed, err := os.ReadFile(filepath.Join(dir, sealFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the seal of the cache cannot be read: %w", err)
	}
	lines, err := entries(dir)
	if err != nil {
		return err
	}
	for _, line := range lines {
		if slices.Contains(strings.Split(string(sealed), "\n"), line) {
			continue
		}
		_, path, _ := strings.Cut(line, " ")
		if err := os.Remove(filepath.Join(dir, path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("a broken entry of the cache cannot be deleted: %w", err)
		}
	}
	return nil
}

// seal writes the digests of the entries there are, if they are not sealed yet.
// Two processes may do so at once: the file is replaced whole, and a line that is
// missing or wrong costs a compilation only.
func seal(dir string) error {
	lines, err := entries(dir)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, sealFile)
	content := []byte(strings.Join(lines, "\n") + "\n")
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	file, err := os.CreateTemp(dir, sealFile+".*.tmp")
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// entries lists the entries of a module's directory as lines of a seal, sorted. A
// file that is being written is none: the engine opens entries by their final
// names only.
func entries(dir string) ([]string, error) {
	var lines []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // nothing there yet, or another process has just deleted it
			}
			return err
		}
		if entry.IsDir() || filepath.Dir(path) == filepath.Clean(dir) || strings.HasSuffix(path, ".tmp") {
			return nil
		}
		if len(lines) >= entriesMax {
			return fmt.Errorf("the cache %s holds more than %d entries for one module; delete it", dir, entriesMax)
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%x %s", sha256.Sum256(content), filepath.ToSlash(relative)))
		return nil
	})
	slices.Sort(lines)
	return lines, err
}
