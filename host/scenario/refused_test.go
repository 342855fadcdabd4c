package scenario_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/job"

	"github.com/wasmstream/wasmstream/host/scenario"
)

// TestRefusedJobs has jobs that are no jobs, with a script that expects it, or
// something else, or nothing.
func TestRefusedJobs(t *testing.T) {
	const (
		gap     = `window: {tumbling: {size: 0s}}`
		fine    = `window: {tumbling: {size: 1s}}`
		trigger = `window: {session: {gap: 10ms}, trigger: {delta: {field: v, threshold: 2}}}`
		digest  = "m: {digest: sha256}"
		both    = "m: {digest: sha256, nonsense: 1}"
		later   = "a.scenario:4: error: modules.m.digest: digest is not offered yet"
	)
	for name, c := range map[string]struct{ window, script, want, module string }{
		"as the script says":     {gap, "# Why.\nwant-error size", "a.scenario: pass", ""},
		"for another reason":     {gap, "want-error lateness", "a.scenario:18: fail: the job is refused, but no reason contains \"lateness\":\na.scenario:9:", ""},
		"without being asked":    {gap, "watermark in 5", "a.scenario:9: error: steps.sums.window.tumbling.size: ", ""},
		"not offered yet":        {fine, "watermark in 5", later, digest},
		"not offered, any error": {fine, "want-error digest", later, digest},
		"one of both":            {fine, "want-error nonsense", "a.scenario: pass", both},
		"the other of both":      {fine, "want-error offset", later, both},
		"trigger":                {trigger, "want-error trigger", "a.scenario: pass", ""},
	} {
		t.Run(name, func(t *testing.T) {
			job := strings.NewReplacer("WINDOW", c.window, "MODULE", c.module).Replace(refusedJob)
			got := parse(t, "a.scenario", []byte(job+c.script)).Run(options()).String()
			if !strings.HasPrefix(got, strings.Replace(c.want, ":18:", fmt.Sprintf(":%d:", strings.Count(job, "\n")+1), 1)) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

const refusedJob = `-- job.yaml --
version: 1
name: refused
modules: {MODULE}
sources:
  in: {test: {}, schema: {k: STRING, v: BIGINT}}
steps:
  sums:
    {from: in, key-by: [k], WINDOW, aggregate: {v: sum(v)}}
sinks:
  out: {from: sums, test: {}}
-- script --
`

// TestJobFiles has jobs in files of their own; their folder is where modules are,
// and the scenario's sections.
func TestJobFiles(t *testing.T) {
	wasm := string(read(t, "../../testdata/wasm/delays-c.wasm"))
	const job = `
version: 1
name: flights
modules: {delays: {file: wasm/d.wasm}}
sources: {in: {test: {}, schema: {delay: INT, origin: STRING}}}
steps: {hourly: {from: in, key-by: [origin], window: {tumbling: {size: 1h}}, aggregate: {wasm: delays.delays}}}
sinks: {out: {from: hourly, test: {}}}
`
	const script = `-- script --
emit in {"origin":"LAS","delay":5} @1
emit in {"origin":"LAS","delay":6} @1
watermark in max
want out {"origin":"LAS","flights":2,"delay_sum":11,"delay_max":6,"window_start":0,"window_end":3600000} @3599999
`
	files := map[string]string{"jobs/a/job.yaml": job, "jobs/a/wasm/d.wasm": wasm}
	for name, c := range map[string]struct{ path, text, want string }{
		"a job file":                {"jobs/t/a.scenario", "-- job --\n../a/job.yaml\n" + script, "jobs/t/a.scenario: pass"},
		"a job in it":               {"jobs/a/a.scenario", "-- job.yaml --" + job + script, "jobs/a/a.scenario: pass"},
		"no job file":               {"a.scenario", "-- job --\n  b.yaml\n" + script, "a.scenario:2: error: the job file b.yaml cannot be read: no such file"},
		"no module":                 {"jobs/a.scenario", "-- job.yaml --" + job + script, "jobs/a.scenario:4: error: "},
		"a section that is none":    {"jobs/a/a.scenario", "-- wasm/d.wasm --\nnonsense\n-- job.yaml --" + job + script, "jobs/a/a.scenario:6: error: "},
		"a section over a job file": {"jobs/t/a.scenario", "-- job --\n../a/job.yaml\n-- wasm/d.wasm --\nnonsense\n" + script, "jobs/t/a.scenario:1: error: jobs/a/job.yaml:4:26: "},
	} {
		t.Run(name, func(t *testing.T) {
			o := options()
			o.ReadFile = func(path string) ([]byte, error) {
				if text, ok := files[path]; ok {
					return []byte(text), nil
				}
				return nil, errors.New("no such file")
			}
			got := parse(t, c.path, []byte(c.text)).Run(o).String()
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestOptionsValidate(t *testing.T) {
	o := scenario.Options{Batch: -1, Parallelism: scenario.ParallelismMax + 1, Update: true, RestartEvery: true}
	const want = `batch is -1; choose from 1 to 1048576
parallelism is 1025; choose from 1 to 1024
an update runs the script as it stands: leave the restarts out
there is no decoder or no encoder`
	if diff := cmp.Diff(want, o.Validate().Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	o = options()
	o.Update, o.Batch = true, 2
	if o.Validate() == nil {
		t.Error("an update by batches is valid")
	}
}

// TestNotOffered has a function whose accumulator the engine cannot keep yet.
func TestNotOffered(t *testing.T) {
	columns := func(name, of string) *abi.Schema {
		return &abi.Schema{Fields: []*abi.Field{{Name: name, Type: of}}}
	}
	o := options()
	o.Manifest = func(job.Module, []byte) (*abi.Manifest, error) {
		return &abi.Manifest{Functions: []*abi.Function{{
			Name: "f", Role: abi.RoleAggregate, Input: columns("v", "BIGINT"), Accumulator: columns("s", "ARRAY<BIGINT>"), Output: columns("n", "BIGINT"),
		}}}, nil
	}
	text := strings.NewReplacer("WINDOW, aggregate: {v: sum(v)}", "window: {tumbling: {size: 1s}}, aggregate: {wasm: m.f}", "MODULE", "m: {file: m.wasm}").Replace(refusedJob)
	got := parse(t, "a.scenario", []byte("-- m.wasm --\n"+text)).Run(o)
	if got.Outcome != scenario.Wrong || !strings.Contains(got.Message, "not offered yet") {
		t.Error(got)
	}
}
