package job

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// beyond matches the jobs of conformance scenarios that use what the engine
// does not offer yet.
var beyond = regexp.MustCompile(`(sliding|session|global|time|trigger|evictor|interval-join|window-join|wasm): `)

// withinTrigger matches the trigger that is the default and so changes nothing.
var withinTrigger = regexp.MustCompile(`trigger: event-time\b|event-time: |time: event\b`)

// TestConformance parses the jobs of all conformance scenarios: those within
// what is offered plan, or are refused with the word that the scenario wants;
// the others are refused for being beyond, and for nothing else.
func TestConformance(t *testing.T) {
	const root = "../../../shared/conformance"
	if _, err := os.Stat(root); err != nil {
		t.Skipf("NOT RUN: the conformance scenarios are not at %s", root)
	}
	planned, refused, later := 0, 0, 0
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
		_, err = Parse([]byte(text), Options{File: path, Dir: "/", Test: true})
		word, wantError := strings.CutPrefix(strings.TrimSpace(script), "want-error ")
		var problems Problems
		switch isProblems := errors.As(err, &problems); {
		case beyond.MatchString(withinTrigger.ReplaceAllString(text, "")):
			if !isProblems || !problems.Unsupported() {
				t.Errorf("%s: want only what is not offered yet, got %v", path, err)
			}
			later++
		case wantError:
			if !isProblems || problems.Unsupported() || !strings.Contains(err.Error(), word) {
				t.Errorf("%s: want an error with %q, got %v", path, word, err)
			}
			refused++
		case err != nil:
			t.Errorf("%s: %v", path, err)
		default:
			planned++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const wanted = 30 // of tumbling event-time windows, refused ones included: 27 without a trigger, 3 that name the default one
	if planned+refused != wanted {
		t.Errorf("%d planned and %d refused, want %d together", planned, refused, wanted)
	}
	t.Logf("%d planned, %d refused, %d with what is not offered yet", planned, refused, later)
}
