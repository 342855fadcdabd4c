package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFresh fails when a generated file is not what the definition says.
func TestFresh(t *testing.T) {
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	files, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range files {
		got, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Errorf("%v; run `go run ./abi/gen`", err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s is stale; run `go run ./abi/gen`", path)
		}
	}
}

// TestCheck shows that a definition that contradicts itself is refused.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name string
		d    definition
		want string
	}{
		{"op twice", definition{OpKinds: []opKind{{Named: Named{Name: "a", Number: 1}}, {Named: Named{Name: "b", Number: 1}}}}, "is there twice"},
		{"unknown op", definition{Roles: []role{{Named: Named{Name: "r"}, Ops: []string{"x"}}}}, "unknown op x"},
		{"overlap", definition{OpBytes: 8, Op: []field{{Name: "a", Offset: 0}, {Name: "b", Offset: 0}}}, "overlaps"},
		{"too long", definition{OpBytes: 4, Op: []field{{Name: "a", Offset: 4}}}, "beyond its 4 bytes"},
	} {
		if err := c.d.check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		}
	}
}
