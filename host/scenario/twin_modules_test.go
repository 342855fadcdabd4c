package scenario_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/scenario"
)

// twinModules are the modules of twins, in the languages that there are.
func twinModules(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../testdata/wasm/twins-*.wasm")
	if err != nil || len(files) == 0 {
		t.Fatal("no modules of twins: ", err)
	}
	return files
}

// withModule replaces built-in parts by the functions of a module.
func withModule(o scenario.Options, file string) scenario.Options {
	o.Twins = filepath.Base(file)
	read := o.ReadFile
	o.ReadFile = func(path string) ([]byte, error) {
		if strings.HasSuffix(path, o.Twins) {
			return os.ReadFile(file)
		}
		return read(path)
	}
	return o
}

// TestTwinModules runs what Flink wrote with Wasm functions in the place of built-in parts: in every language, with
// instances that last and with one for each call.
func TestTwinModules(t *testing.T) {
	paths := find(t, root)
	for _, file := range twinModules(t) {
		for _, each := range []bool{false, true} {
			if each && strings.Contains(file, "-go.") && testing.Short() {
				continue
			}
			o := withModule(options(), file)
			if each {
				o.Guest = fresh
			}
			t.Run(fmt.Sprintf("%s/fresh=%t", filepath.Base(file), each), func(t *testing.T) {
				for i, path := range paths {
					o.Batch = 1 + i%4
					if r := parse(t, path, read(t, path)).Run(o); r.Outcome != scenario.Pass {
						t.Error(r)
					}
				}
			})
		}
	}
}
