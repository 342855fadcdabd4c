package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
)

// TestFresh fails when a committed guest was not built from the sources beside it, or is not what was built.
func TestFresh(t *testing.T) {
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	guests, err := findGuests(root)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := readDigests(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range guests {
		sources, err := sourceDigest(root, g)
		if err != nil {
			t.Fatal(err)
		}
		wasm, err := os.ReadFile(filepath.Join(root, wasmDir, g.name+".wasm"))
		if err != nil {
			t.Errorf("%v; run `go run ./udfs/build`", err)
			continue
		}
		if lines[g.name].sources != sources {
			t.Errorf("%s.wasm is stale: its sources changed; run `go run ./udfs/build`", g.name)
		}
		if lines[g.name].wasm != digest(wasm) {
			t.Errorf("%s.wasm is not what DIGESTS says; run `go run ./udfs/build`", g.name)
		}
	}
}

// TestManifests shows that every guest carries a valid manifest.
func TestManifests(t *testing.T) {
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, wasmDir, "*.wasm"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no guests in %s: %v", wasmDir, err)
	}
	for _, file := range files {
		wasm, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, err := abi.FindManifest(wasm)
		if err == nil {
			err = m.Validate()
		}
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(file), err)
		}
	}
}
