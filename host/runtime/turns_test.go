package runtime_test

import (
	"io"
	"maps"
	"testing"
	"time"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/stream"
)

// costlyOp is fuel: more than a turn, and within the limit of an op.
const costlyOp = 10_000_000

// costlyGuest spends that on each op.
type costlyGuest struct {
	*guesttest.Instance
	run *costlyRun
	ops int
}

// costlyRun counts calls, and how many of them were in one step.
type costlyRun struct{ calls, inStep, most int }

func (g *costlyGuest) Ops(n int)   { g.ops = n }
func (g *costlyGuest) Fuel() int64 { return int64(g.ops) * costlyOp }

func (g *costlyGuest) Call(function, pointer uint32, length int) ([]byte, error) {
	g.run.calls++
	g.run.inStep++
	g.run.most = max(g.run.most, g.run.inStep)
	return g.Instance.Call(function, pointer, length)
}

// costlyRows are the rows of a batch; a frame is of four batches at most.
const costlyRows = largeOps / 8

// runCostly runs a step of largeJob over some batches. Before the first frame it is not known
// what an op costs. The time that steps take is asked for around each.
func runCostly(t *testing.T, plan *job.Job, clock stream.Clock, answer func(*job.Function) guesttest.Function) *costlyRun {
	t.Helper()
	run, sink := &costlyRun{}, &largeRun{}
	c := config(t, nil)
	c.Clock, c.Limits = clock, runtime.Limits{BatchRows: costlyRows}
	c.Monotonic = func() time.Duration {
		run.inStep = 0
		return 0
	}
	c.Sink = func(*job.Sink) (connector.Sink, error) { return largeSink{run: sink}, nil }
	c.Source = func(*job.Source) (connector.Source, error) {
		return linesThen(largeLines(), func() error { return io.EOF }), nil
	}
	c.Guest = func(f *job.Function) (runtime.Guest, error) {
		functions := make([]guesttest.Function, f.Index+1)
		functions[f.Index] = answer(f)
		return &costlyGuest{Instance: &guesttest.Instance{Functions: functions}, run: run}, nil
	}
	j, err := runtime.New(plan, c)
	must(t, err)
	run.calls = 0 // opening the functions
	must(t, j.Drive(nil))
	must(t, j.Close())
	if sink.written < largeOps {
		t.Errorf("%d rows were written, of %d", sink.written, largeOps)
	}
	return run
}

// TestTurns: a task whose function spends more than a turn's fuel in a call gives its worker
// back after that call, whatever the role, though a batch is hundreds of them.
func TestTurns(t *testing.T) {
	steps := maps.Clone(largeSteps)
	steps["timestamp"] = steps["decode"]
	steps["trigger"] = "{from: in, key-by: [k], window: {tumbling: {size: 10ms}, trigger: {wasm: m.trigger}}, aggregate: {n: count}}"
	for role, step := range steps {
		t.Run(role, func(t *testing.T) {
			run := runCostly(t, largePlan(t, role, step), &manualClock{}, answerSmall)
			if run.calls < largeOps/2 {
				t.Errorf("%d calls, want one at least for each op behind the first frame", run.calls)
			}
			if run.most != 1 {
				t.Errorf("%d calls in one step", run.most)
			}
		})
	}
}

// answerSmall answers an op of a function by a few bytes, so that no output is ever full.
func answerSmall(f *job.Function) guesttest.Function {
	if f.Role == abi.RoleTrigger {
		return func(o *guesttest.Op) {
			if o.Kind == abi.OpOnElement {
				o.Effect(abi.EffectDecide, 1, nil) // fire
			}
		}
	}
	return answer(f, 1)
}

// TestTimersFireBetweenRows: a timer of the clock that is due while a batch is worked on
// does not wait for its end, if that takes more than a turn.
func TestTimersFireBetweenRows(t *testing.T) {
	clock, at, set, fired := &manualClock{}, 0, 0, 0
	runCostly(t, largePlan(t, "process", largeSteps["process"]), clock, func(f *job.Function) guesttest.Function {
		row := rowOf(f.Result(), 1)
		return func(o *guesttest.Op) {
			switch o.Kind {
			case abi.OpOnRecord:
				if at++; at == costlyRows+10 {
					set = at
					o.SetTimer(1, o.Clock()+1) // of the clock
				}
				clock.advance(clock.Now() + 10)
				o.Emit(0, row)
			case abi.OpOnTimer:
				fired = at
			}
		}
	})
	if set == 0 || fired == 0 || fired > set+4 {
		t.Errorf("the timer that was set at record %d fired after record %d", set, fired)
	}
}
