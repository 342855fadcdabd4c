package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVerdict runs the tests of a small module that holds one of each: passed, failed, skipped, panicked, not built.
func TestVerdict(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":              "module m\n\ngo 1.26\n",
		"fine/a_test.go":      "package fine\n\nimport \"testing\"\n\nfunc TestFine(t *testing.T) { t.Log(\"quiet\") }\nfunc TestTool(t *testing.T) { t.Skip(\"no clang\\nhere\") }\n",
		"wrong/a_test.go":     "package wrong\n\nimport \"testing\"\n\nfunc TestFine(t *testing.T) { t.Log(\"quiet\") }\nfunc TestWrong(t *testing.T) { t.Run(\"sub\", func(t *testing.T) { t.Error(\"one is two\") }) }\n",
		"broken/a_test.go":    "package broken\n\nvar x int = \"text\"\n",
		"panics/a_test.go":    "package panics\n\nimport \"testing\"\n\nfunc TestPanics(t *testing.T) { panic(\"at once\") }\n",
		"untested/package.go": "package untested\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		packages     []string
		code         int
		says, not    []string
		last         string
		withoutTests bool
	}{
		{packages: []string{"./fine", "./untested"}, code: 0,
			says: []string{"ok  \tm/fine", "?   \tm/untested", "!! NOT RUN: 1", "m/fine TestTool:", "no clang here"},
			not:  []string{"quiet"}, last: "1 passed, 0 failed, 1 skipped"},
		{packages: []string{"./fine", "./wrong"}, code: 1,
			says: []string{"ok  \tm/fine", "FAIL\tm/wrong", "one is two", "--- FAIL: TestWrong/sub"},
			not:  []string{"quiet\n--- PASS"}, last: "2 passed, 2 failed, 1 skipped"},
		{packages: []string{"./broken"}, code: 1, says: []string{"cannot use \"text\"", "FAIL\tm/broken [build failed]"},
			last: "0 passed, 0 failed, 0 skipped"},
		{packages: []string{"./panics"}, code: 1, says: []string{"panic: at once", "FAIL\tm/panics"},
			last: "0 passed, 1 failed, 0 skipped"},
		{packages: []string{"./absent"}, code: 1, says: []string{"directory not found"}, last: "0 passed, 0 failed, 0 skipped"},
	} {
		var out strings.Builder
		code, err := run(append([]string{"-C", dir}, c.packages...), &out)
		if code != c.code || err != nil {
			t.Errorf("%v: exit code %d, %v; want %d", c.packages, code, err, c.code)
		}
		for _, text := range c.says {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%v: %q is not in\n%s", c.packages, text, &out)
			}
		}
		for _, text := range c.not {
			if strings.Contains(out.String(), text) {
				t.Errorf("%v: %q is in\n%s", c.packages, text, &out)
			}
		}
		if !strings.HasSuffix(out.String(), "\n"+c.last+"\n") {
			t.Errorf("%v: want %q at the end of\n%s", c.packages, c.last, &out)
		}
	}
}
