package main

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

const wasmDir = "testdata/wasm"

// digestLine is what DIGESTS says of a guest.
type digestLine struct{ wasm, sources string }

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// sourceDigest is over the names and texts of all that a guest is built from: its folder, its SDK, and this command's
// flags. Not over the compilers: their versions differ from machine to machine, and the built guests are committed.
func sourceDigest(root string, g guest) (string, error) {
	sdk := "guest-sdk/" + g.language
	var paths []string
	for _, dir := range []string{g.dir, sdk} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "target" {
				return filepath.SkipDir // what cargo built
			}
			if err != nil || d.IsDir() {
				return err
			}
			if isSource(path) {
				paths = append(paths, path)
			}
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	paths = append(paths, filepath.Join(root, "udfs/build/main.go"))
	if g.language == "rust" {
		paths = append(paths, filepath.Join(root, "udfs/build/rust.go"))
	}
	slices.Sort(paths)
	h := sha256.New()
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %s\n", filepath.ToSlash(relative), digest(text))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func isSource(path string) bool {
	name := filepath.Base(path)
	for _, forTests := range []string{"/wasmstreamtest/", "/test/", "/testdata/", "/tests/", "/testing/"} {
		if strings.Contains(filepath.ToSlash(path), forTests) {
			return false
		}
	}
	if strings.HasSuffix(name, "_test.go") || name == "tests.rs" || name == "native.rs" {
		return false
	}
	return slices.Contains([]string{".go", ".c", ".h", ".mod", ".json", ".rs", ".toml"}, filepath.Ext(name))
}

// readDigests reads DIGESTS; there may be none yet.
func readDigests(root string) (map[string]digestLine, error) {
	lines := map[string]digestLine{}
	text, err := os.ReadFile(filepath.Join(root, wasmDir, "DIGESTS"))
	if errors.Is(err, fs.ErrNotExist) {
		return lines, nil
	} else if err != nil {
		return nil, err
	}
	for _, line := range strings.Split(withoutComments(string(text)), "\n") {
		if f := strings.Fields(line); len(f) == 3 {
			lines[f[0]] = digestLine{wasm: f[1], sources: f[2]}
		}
	}
	return lines, nil
}

func writeDigests(root string, guests []guest, lines map[string]digestLine) error {
	var b bytes.Buffer
	fmt.Fprintln(&b, "# Written by `go run ./udfs/build`: guest, SHA-256 of the module, SHA-256 over its sources.")
	names := make([]string, 0, len(guests))
	for _, g := range guests {
		names = append(names, g.name)
	}
	slices.Sort(names)
	for _, name := range names {
		if l, ok := lines[name]; ok {
			fmt.Fprintln(&b, name, l.wasm, l.sources)
		}
	}
	return os.WriteFile(filepath.Join(root, wasmDir, "DIGESTS"), b.Bytes(), 0o644)
}

// findRoot walks up to the folder that holds udfs/build.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "udfs/build")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no udfs/build in this folder or above")
		}
	}
}
