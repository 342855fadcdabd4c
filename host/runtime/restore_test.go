package runtime_test

import (
	"context"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/runtime"
)

// countCheckpoint is a store with a checkpoint of the count job with something in it.
func countCheckpoint(t testing.TB) kept {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var j *runtime.Job
	store := newKept()
	next := generate()
	chunks := 0
	src := newSource(func(c *connector.Chunk) error {
		if chunks++; chunks == 5 {
			if err := j.Checkpoint(func(err error) {
				if err != nil {
					t.Error(err)
				}
				cancel()
			}); err != nil {
				t.Error(err)
			}
		}
		return next(c)
	})
	c := with(t, src, func(string) connector.Sink { return &sinkFuncs{} })
	c.Checkpoints = store.config(t)
	j, err := runtime.New(countPlan(t, "", "fail", "on-event"), c)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.Run(ctx); err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	return store
}

// TestCheckpointOfOtherSizes: windows that are there end as they would have, as in
// Flink, if only the size has changed.
func TestCheckpointOfOtherSizes(t *testing.T) {
	plan := countPlanOf(t, strings.Replace(countJob, "size: 1s", "size: 2s", 1), "", "fail", "on-event")
	c := with(t, newSource(generate()), func(string) connector.Sink { return &sinkFuncs{} })
	c.Checkpoints = countCheckpoint(t).config(t)
	j, err := runtime.New(plan, c)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCheckpointOfAnotherJob: a job goes on from a checkpoint of its own kind only.
func TestCheckpointOfAnotherJob(t *testing.T) {
	store := countCheckpoint(t)
	for name, c := range map[string]struct{ top, old, new, want string }{
		"key groups":  {"max-parallelism: 64", "", "", "max-parallelism is 64"},
		"accumulator": {"", "v: sum(v)", "v: avg(v)", "the state of step counts is another now"},
		"key":         {"", "key-by: [k]", "key-by: [t]", "the state of step counts is another now"},
		"windows":     {"", "tumbling: {size: 1s}", "session: {gap: 1s}", "the state of step counts is another now"},
		"trigger":     {"", "size: 1s}", "size: 1s}, trigger: {count: 2}", "the state of step counts is another now"},
	} {
		t.Run(name, func(t *testing.T) {
			plan := countPlanOf(t, strings.Replace(countJob, c.old, c.new, 1), c.top, "fail", "on-event")
			conf := with(t, newSource(generate()), func(string) connector.Sink { return &sinkFuncs{} })
			conf.Checkpoints = store.config(t)
			if _, err := runtime.New(plan, conf); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v does not say %q", err, c.want)
			}
		})
	}
}
