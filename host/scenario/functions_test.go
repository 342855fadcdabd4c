package scenario_test

import (
	"fmt"
	"testing"

	"github.com/wasmstream/wasmstream/host/scenario"
)

// functionsRoot has scenarios of jobs with Wasm functions, whose outputs were worked out
// by hand.
const functionsRoot = "../../testdata/functions"

// TestFunctions runs them in every way that may not matter.
func TestFunctions(t *testing.T) {
	paths := find(t, functionsRoot)
	for _, restart := range []bool{false, true} {
		for _, batch := range []int{0, 2, 4096} {
			for _, parallelism := range []int{1, 3} {
				o := options()
				o.Batch, o.Parallelism, o.RestartEvery = batch, parallelism, restart
				if batch == 2 {
					o.Guest = fresh
				}
				t.Run(fmt.Sprintf("restart=%t/batch=%d/parallelism=%d", restart, batch, parallelism), func(t *testing.T) {
					for _, path := range paths {
						if r := parse(t, path, read(t, path)).Run(o); r.Outcome != scenario.Pass {
							t.Error(r)
						}
					}
				})
			}
		}
	}
}
