package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The cache on disk has a directory for each module, named by its digest:
//
//	CacheDir/<digest>/seal                       one line per entry: digest, path
//	CacheDir/<digest>/poisoned                   why it is not compiled again, or not yet; see mark
//	CacheDir/<digest>/wazero-<version>-…/<key>   entries, written by the engine: compiled code
//	CacheDir/<digest>/rewritten/<version>        entries: what was compiled (see rewrite.go)
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

// passingCache is a cache that is there until remove is called: from the process that
// compiles a module to this one. Without a place for it there is none.
func passingCache() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "wasmstream-compiled-")
	if err != nil {
		return "", func() {}
	}
	return dir, func() { _ = os.RemoveAll(dir) } // what is left is small, and the system's to clear away
}

// entry is one file in a module's directory.
type entry struct{ digest, path string }

// holdCode tells whether compiled code is among the entries: then the module was found valid.
func holdCode(entries []entry) bool {
	return slices.ContainsFunc(entries, func(e entry) bool { return filepath.Dir(e.path) != rewrittenDir })
}

// line is an entry as the seal holds it.
func (e entry) line() string { return e.digest + " " + e.path }

// dropUnsealed deletes the entries that are not what was sealed and returns the
// others.
func dropUnsealed(dir string) ([]entry, error) {
	sealed, err := os.ReadFile(filepath.Join(dir, sealFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the seal of the cache cannot be read: %w", err)
	}
	found, err := entries(dir, nil)
	if err != nil {
		return nil, err
	}
	lines, kept := strings.Split(string(sealed), "\n"), found[:0]
	for _, e := range found {
		if slices.Contains(lines, e.line()) {
			kept = append(kept, e)
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("a broken entry of the cache cannot be deleted: %w", err)
		}
	}
	return kept, nil
}

// rewrittenDir holds, in a module's directory of the cache, what runs in its place.
const rewrittenDir = "rewritten"

// rewrittenPath is the entry of the cache with what runs in a module's place.
func (m *Module) rewrittenPath() string {
	path := filepath.Join(rewrittenDir, rewritingVersion())
	if m.options.unmetered {
		path += "-unmetered"
	}
	return path
}

func isAmong(entries []entry, path string) bool {
	return slices.ContainsFunc(entries, func(e entry) bool { return e.path == path })
}

// rewritten returns what runs in place of a module, from the cache if it is there.
func (m *Module) rewritten(dir string, sealed []entry, wasm []byte) ([]byte, error) {
	path := m.rewrittenPath()
	if isAmong(sealed, path) {
		if kept, err := os.ReadFile(filepath.Join(dir, path)); err == nil {
			return kept, nil
		}
	}
	return m.rewrite(wasm)
}

// keep leaves in the cache what runs in place of a module, unless it is there, and seals
// that and what the engine has written.
func (m *Module) keep(dir string, sealed []entry, rewritten []byte) error {
	path := m.rewrittenPath()
	if isAmong(sealed, path) {
		return seal(dir, sealed)
	}
	err := os.MkdirAll(filepath.Join(dir, rewrittenDir), 0o700)
	if err == nil {
		err = replaceFile(dir, path, rewritten)
	}
	return errors.Join(err, seal(dir, sealed))
}

// seal writes the digests of the entries there are, if any is new. Those known
// are not read again. Two processes may do so at once: the file is replaced whole,
// and a line that is missing or wrong costs a compilation only.
func seal(dir string, known []entry) error {
	found, err := entries(dir, known)
	if err != nil || slices.Equal(found, known) {
		return err
	}
	var content strings.Builder
	for _, e := range found {
		content.WriteString(e.line() + "\n")
	}
	return replaceFile(dir, sealFile, []byte(content.String()))
}

// replaceFile writes a file of a module's directory whole.
func replaceFile(dir, path string, content []byte) error {
	file, err := os.CreateTemp(dir, filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), filepath.Join(dir, path))
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// entries lists the entries of a module's directory by path. A file that is being
// written is none: the engine opens entries by their final names only.
func entries(dir string, known []entry) ([]entry, error) {
	var found []entry
	err := filepath.WalkDir(dir, func(path string, file fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // nothing there yet, or another process has just deleted it
		}
		if err != nil || file.IsDir() || filepath.Dir(path) == filepath.Clean(dir) || strings.HasSuffix(path, ".tmp") {
			return err
		}
		if len(found) >= entriesMax {
			return fmt.Errorf("the cache %s holds more than %d entries for one module; delete it", dir, entriesMax)
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if at := slices.IndexFunc(known, func(e entry) bool { return e.path == relative }); at >= 0 {
			found = append(found, known[at])
			return nil
		}
		digest, err := digestFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		found = append(found, entry{digest, relative})
		return err
	})
	slices.SortFunc(found, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	return found, err
}

// digestFile reads a file piece by piece: in a broken cache it may have any size.
func digestFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return hex.EncodeToString(hash.Sum(nil)), errors.Join(err, file.Close())
}
