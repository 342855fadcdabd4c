package sim_test

import (
	"testing"

	"github.com/wasmstream/wasmstream/host/sim"
)

// TestEachDiskOperation makes every disk operation of a job with three checkpoints and a last one go wrong, one by one:
// it fails, it is done and fails, and the process or the power ends just before it.
func TestEachDiskOperation(t *testing.T) {
	for job, records := range map[string]int{"tumbling-late": 200, "steps": 60, "wasm": 60} {
		for _, how := range []sim.How{sim.Fails, sim.Answered, sim.Killed, sim.PowerCut} {
			t.Run(job+" "+string(how), func(t *testing.T) {
				t.Parallel()
				o := options(7)
				o.Job, o.Records, o.Single = job, records, &sim.Single{How: how}
				whole, err := sim.Run(o)
				if err != nil {
					t.Fatal(err)
				}
				if len(whole.Findings) > 0 || whole.Checkpoints < 4 || whole.Merges == 0 || whole.Lives != 1 {
					t.Fatalf("without faults: %+v", whole)
				}
				t.Logf("%d operations, %d checkpoints, %d merges", whole.Ops, whole.Checkpoints, whole.Merges)
				for op := 1; op <= whole.Ops; op++ {
					o.Single = &sim.Single{Op: op, How: how}
					report, err := sim.Run(o)
					if err != nil {
						t.Fatal(err)
					}
					for _, f := range report.Findings {
						t.Errorf("operation %d: %s", op, f)
					}
				}
			})
		}
	}
}
