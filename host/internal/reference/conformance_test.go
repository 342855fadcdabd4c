package reference

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// conformance has what Apache Flink wrote.
const conformance = "../../../../shared/conformance"

// TestConformance holds the reference against Flink's own answers, to the letter.
func TestConformance(t *testing.T) {
	if _, err := os.Stat(conformance); err != nil {
		t.Skipf("NOT RUN: the conformance scenarios are not at %s", conformance)
	}
	for _, restartEvery := range []bool{false, true} {
		count := 0
		err := filepath.WalkDir(conformance, func(path string, _ fs.DirEntry, err error) error {
			if filepath.Ext(path) != ".scenario" || err != nil {
				return err
			}
			if restartEvery && strings.Contains(path, "restart-sensitive") {
				return nil
			}
			count++
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			got, err := Fill(string(text), restartEvery)
			if err != nil {
				t.Errorf("%s: %v", path, err)
			} else if got.Text != string(text) {
				t.Errorf("%s, restartEvery %t, doubts %q (-Flink +reference):\n%s", path, restartEvery, got.Doubts, cmp.Diff(string(text), got.Text))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{false: 341, true: 287}[restartEvery]; count != want {
			t.Errorf("%d scenarios, want %d", count, want)
		}
	}
}
