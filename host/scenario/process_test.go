package scenario_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/scenario"
)

// TestProcessScenarios runs scripts for process functions in every way that may not
// matter. What they want was worked out by hand from what Flink does.
func TestProcessScenarios(t *testing.T) {
	for _, path := range find(t, "testdata/process") {
		for _, restart := range []bool{false, true} {
			if restart && strings.Contains(path, "restart-sensitive") {
				continue
			}
			for _, batch := range []int{0, 1, 3, 4096} {
				for _, parallelism := range []int{1, 2, 4} {
					o := machines()
					o.Batch, o.Parallelism, o.RestartEvery = batch, parallelism, restart
					if batch == 3 {
						o.Rescale = []int{3, 1, 5, 2}
					}
					if r := parse(t, path, read(t, path)).Run(o); r.Outcome != scenario.Pass {
						t.Fatal(fmt.Sprintf("restart=%t/batch=%d/parallelism=%d: ", restart, batch, parallelism), r)
					}
				}
			}
		}
	}
}
