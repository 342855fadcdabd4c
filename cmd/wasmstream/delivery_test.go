package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDeliveryNamesItsTests: each test that docs/delivery.md holds its statements by
// is one of this repository, and each case has one.
func TestDeliveryNamesItsTests(t *testing.T) {
	text, _ := document(t, "docs/delivery.md")
	declared := declaredTests(t)
	for _, m := range regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(text, -1) {
		if !declared[m[1]] {
			t.Errorf("docs/delivery.md names %s, and there is no such test", m[1])
		}
	}
	_, cases, _ := strings.Cut(text, "\n## What can happen\n")
	for line := range strings.Lines(cases) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| case") && !strings.HasPrefix(line, "| ---") && !strings.Contains(line, "`Test") {
			t.Errorf("no test is named for: %s", line)
		}
	}
}

func declaredTests(t *testing.T) map[string]bool {
	t.Helper()
	declared := map[string]bool{}
	declaration := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range declaration.FindAllStringSubmatch(string(b), -1) {
			declared[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return declared
}
