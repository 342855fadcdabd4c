package lint

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// exemption lets one named thing off one rule.
type exemption struct {
	rule, file, name string
	reason           string
}

var exemptions = []exemption{
	{"init", "guest-sdk/go/machine.go", "init", "in Wasm main does not run, and the raw layer cannot import the idiomatic one"},
}

// TestRepository holds the repository to the rules, but for the exemptions, each of which must still be needed.
func TestRepository(t *testing.T) {
	const root = "../../.."
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("the repository is not at %s: %v", root, err)
	}
	problems, err := Check(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	needed := make([]bool, len(exemptions))
	for _, p := range problems {
		i := slices.IndexFunc(exemptions, func(e exemption) bool {
			return e.rule == p.Rule && e.file == p.File && e.name == p.Name
		})
		if i < 0 {
			t.Error(p)
			continue
		}
		needed[i] = true
	}
	for i, e := range exemptions {
		if e.reason == "" {
			t.Errorf("the exemption of %s in %s from %s has no reason", e.name, e.file, e.rule)
		}
		if !needed[i] {
			t.Errorf("%s in %s no longer breaks %s: remove the exemption", e.name, e.file, e.rule)
		}
	}
}

// TestRules checks small planted repositories, one a file of testdata, against the problems that the file wants. Each
// rule must be broken somewhere in them.
func TestRules(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	fired := map[string]bool{}
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var want *txtar.File
			repository := fstest.MapFS{}
			for i := range a.Files {
				if a.Files[i].Name == "want" {
					want = &a.Files[i]
					continue
				}
				repository[a.Files[i].Name] = &fstest.MapFile{Data: lengthen(a.Files[i].Data)}
			}
			problems, err := Check(repository)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, p := range problems {
				fired[p.Rule] = true
				got.WriteString(p.String() + "\n")
			}
			if want == nil {
				t.Fatal("no file want in the archive")
			}
			if *update && string(want.Data) != got.String() {
				want.Data = []byte(got.String())
				if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff(string(want.Data), got.String()); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
	for _, name := range Rules() {
		if !fired[name] {
			t.Errorf("no archive in testdata breaks the rule %s", name)
		}
	}
}

// lengthen puts 100 lines in the place of each line "// … 100 lines".
func lengthen(text []byte) []byte {
	const mark = "// … 100 lines\n"
	return []byte(strings.ReplaceAll(string(text), mark, strings.Repeat("//\n", 100)))
}

// TestUnreadable wants a file that is no Go to be an error, not a file without problems.
func TestUnreadable(t *testing.T) {
	repository := fstest.MapFS{"host/stream/row.go": {Data: []byte("package stream\nfunc {")}}
	if _, err := Check(repository); err == nil || !strings.Contains(err.Error(), "host/stream/row.go:2") {
		t.Errorf("want an error with the place, got %v", err)
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"host/stream", "host/stream", true},
		{"host/stream", "host/stream/rows", false},
		{"host/connector/*", "host/connector/file", true},
		{"host/connector/*", "host/connector", false},
		{"host/connector/*", "host/connector/file/part", false},
		{"cmd/**", "cmd", true},
		{"cmd/**", "cmd/wasmstream/main.go", true},
		{"cmd/**", "cmdline", false},
		{"host/*/*test", "host/format/formattest", true},
		{"host/*/*test", "host/format/json", false},
	} {
		if got := matches(c.pattern, c.path); got != c.want {
			t.Errorf("matches(%q, %q) = %v", c.pattern, c.path, got)
		}
	}
}
