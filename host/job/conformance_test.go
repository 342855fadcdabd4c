package job

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestConformance parses the jobs of all conformance scenarios: each plans, or
// is refused with the word that its script's first line wants.
func TestConformance(t *testing.T) {
	const root = "../../../shared/conformance"
	if _, err := os.Stat(root); err != nil {
		t.Skipf("NOT RUN: the conformance scenarios are not at %s", root)
	}
	planned, refused := 0, 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".scenario" {
			return err
		}
		a, err := txtar.ParseFile(path)
		if err != nil {
			return err
		}
		var text, script string
		for _, f := range a.Files {
			switch f.Name {
			case "job.yaml":
				text = string(f.Data)
			case "script":
				script = string(f.Data)
			}
		}
		j, err := Parse([]byte(text), Options{File: path, Dir: "/", Test: true})
		word, wantError := strings.CutPrefix(strings.TrimSpace(script), "want-error ")
		word, _, _ = strings.Cut(word, "\n")
		var problems Problems
		switch isProblems := errors.As(err, &problems); {
		case wantError:
			if !isProblems || problems.Unsupported() || !strings.Contains(problems[0].Message, word) {
				t.Errorf("%s: want an error with %q, got %v", path, word, err)
			}
			refused++
		case err != nil:
			t.Errorf("%s: %v", path, err)
		default:
			checkPlan(t, j)
			planned++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const wanted = 341
	if planned+refused != wanted || refused == 0 {
		t.Errorf("%d planned and %d refused, want %d together", planned, refused, wanted)
	}
	t.Logf("%d planned, %d refused", planned, refused)
}
