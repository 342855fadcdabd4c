package runtime_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/runtime"
)

// countSnapshot is a snapshot of the count job with something in it.
func countSnapshot(t testing.TB) []byte {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var j *runtime.Job
	var snapshot []byte
	next := generate()
	chunks := 0
	src := newSource(func(c *connector.Chunk) error {
		if chunks++; chunks == 5 {
			if err := j.Checkpoint(func(s *runtime.Snapshot) { snapshot = s.Bytes(); cancel() }); err != nil {
				t.Error(err)
			}
		}
		return next(c)
	})
	j, err := runtime.New(countPlan(t, "", "fail", "on-event"), with(t, src, func(string) connector.Sink { return &sinkFuncs{} }))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.Run(ctx); err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	return snapshot
}

// TestSnapshotOfAnotherJob: a job goes on from a snapshot of its own kind only.
func TestSnapshotOfAnotherJob(t *testing.T) {
	snapshot := countSnapshot(t)
	for name, c := range map[string]struct{ top, old, new, want string }{
		"key groups":  {"max-parallelism: 64", "", "", "max-parallelism is 64"},
		"accumulator": {"", "v: sum(v)", "v: avg(v)", "the state of step counts is another now"},
		"key":         {"", "key-by: [k]", "key-by: [t]", "the state of step counts is another now"},
	} {
		t.Run(name, func(t *testing.T) {
			plan := countPlanOf(t, strings.Replace(countJob, c.old, c.new, 1), c.top, "fail", "on-event")
			conf := with(t, newSource(generate()), func(string) connector.Sink { return &sinkFuncs{} })
			conf.Restore = readSnapshot(t, snapshot)
			if _, err := runtime.New(plan, conf); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v does not say %q", err, c.want)
			}
		})
	}
}

func FuzzReadSnapshot(f *testing.F) {
	f.Add(countSnapshot(f))
	f.Add([]byte("wsnap002"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := runtime.ReadSnapshot(b)
		if err != nil {
			return
		}
		again, err := runtime.ReadSnapshot(s.Bytes())
		if err != nil || !bytes.Equal(again.Bytes(), s.Bytes()) {
			t.Fatalf("what was read is not what it writes: %v", err)
		}
	})
}
