package planted

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	folder = "../../../testdata/planted"
	// variable makes TestPlanted run the tests of all bugs.
	variable = "WASMSTREAM_PLANTED"
	// testMax is how long a test may take to catch a bug, its compiling left out.
	testMax = 30 * time.Second
)

// quick are the bugs that are planted in every run.
var quick = []string{"03-folder-not-synced", "17-part-file-not-cut-back", "19-copy-on-overwrite-forgotten"}

// TestPlanted: all bugs can be planted, and the tests of some, or of all, catch them.
func TestPlanted(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	tree := Tree{Root: root, Temp: t.TempDir()}
	bugs, err := Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(bugs) < 20 {
		t.Errorf("there are %d bugs, want 20", len(bugs))
	}
	for _, name := range quick {
		if !slices.ContainsFunc(bugs, func(b *Bug) bool { return b.Name == name }) {
			t.Errorf("there is no bug %s", name)
		}
	}
	all := os.Getenv(variable) == "all"
	for _, b := range bugs {
		t.Run(b.Name, func(t *testing.T) {
			if err := tree.Exists(b); err != nil {
				t.Error(err)
			}
			if err := tree.Build(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			if !all && !slices.Contains(quick, b.Name) {
				return
			}
			took, err := tree.Caught(t.Context(), b)
			if err != nil {
				t.Error(err)
				return
			}
			if all && took > testMax { // other runs are on machines that are busy
				t.Errorf("%s takes %s to catch it, more than %s", b.Test, took, testMax)
			}
			t.Logf("%s; caught by %s in %s", b.What, b.Test, took)
		})
	}
}

const patch = `What: five is wrong
Test: ./host/x TestFive/case
--- a/x.go
+++ b/x.go
@@ -2,3 +2,3 @@ func five
 four
-five
+seven
 six
@@ -9 +9,2 @@
 nine
+ten
`

func TestApply(t *testing.T) {
	b, err := parse(patch)
	if err != nil {
		t.Fatal(err)
	}
	if b.What != "five is wrong" || b.Package != "./host/x" || b.Test != "TestFive/case" {
		t.Errorf("%+v", b)
	}
	for name, c := range map[string]struct{ text, want string }{
		"as it was":      {"one\nfour\nfive\nsix\nnine\n", "one\nfour\nseven\nsix\nnine\nten\n"},
		"moved":          {strings.Repeat("x\n", 100) + "four\nfive\nsix\nx\nnine\n", strings.Repeat("x\n", 100) + "four\nseven\nsix\nx\nnine\nten\n"},
		"nearest":        {"a\nb\nfour\nfive\nsix\nfour\nfive\nsix\nnine\n", "a\nb\nfour\nseven\nsix\nfour\nfive\nsix\nnine\nten\n"},
		"changed":        {"four\nfive!\nsix\nnine\n", ""},
		"second changed": {"four\nfive\nsix\nnine!\n", ""},
	} {
		path := filepath.Join(t.TempDir(), "x.go")
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		files, err := b.Apply(filepath.Dir(path))
		if got := files["x.go"]; got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, error %v", name, got, err)
		}
	}
	for _, bad := range []string{"", strings.Replace(patch, "What: ", "", 1), strings.Replace(patch, " TestFive", "", 1), patch + "what\n"} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%.40q… is taken for a patch", bad)
		}
	}
}
