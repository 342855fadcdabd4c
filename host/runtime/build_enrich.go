package runtime

import (
	"errors"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	guests "github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/operator/enrich"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// tasksOf is how many tasks a step with state has. An enrichment has one: it waits for
// others, and its records have no key.
func tasksOf(plan *job.Job, s *job.Step) int {
	if s.Enrich != nil {
		return 1
	}
	return plan.Parallelism
}

// enrich makes the task of an enrichment.
func (b *builder) enrich(s *job.Step) error {
	t := b.task("step "+s.Name, s.Reads())
	stats := &StepStats{}
	b.job.stats.steps[s.Name] = append(b.job.stats.steps[s.Name], stats)
	b.job.watch(t.node, watched{kind: StepTask, name: s.Name, step: stats, stateful: true, asks: true})
	f := s.Enrich.Function
	order := enrich.Ordered
	if s.Enrich.Unordered {
		order = enrich.Unordered
	}
	o := &enrichOperator{
		failed: failure{function: f, schema: s.Input, fuel: -1}, failures: map[*enrich.Record]error{}, queue: enrich.NewQueue(order, s.Enrich.Capacity), input: stream.NewProjection(s.Input, f.Inputs[0].Columns),
		answer: stream.NewRowWriter(guests.AnswerSchema), request: newRequestReader(), answers: answers{node: t.node},
		now: guests.Context{Watermark: int64(stream.MinTime), Clock: int64(b.config.Clock.Now())},
	}
	err := b.enrichKeeper(s, t, o)
	if err != nil {
		return err
	}
	o.faults = b.faults(s, t.node, stats, &o.outs)
	if o.caller, err = b.caller(f, o); err != nil {
		return err
	}
	if b.config.Asker == nil {
		return errors.New("there is nobody here to answer its requests")
	}
	if o.asker, err = b.config.Asker(s); err != nil {
		return err
	}
	b.job.askers = append(b.job.askers, o.asker)
	t.op, t.fed, t.keeper = o, o, &o.keeper
	b.connect([]*operatorTask{t}, reading{from: s.From, input: s.Input, max: s.Combine == job.CombineMax})
	return nil
}

// enrichKeeper gives it its outputs, and the records that waited at the checkpoint.
func (b *builder) enrichKeeper(s *job.Step, t *operatorTask, o *enrichOperator) error {
	for i, output := range s.Enrich.Function.Outputs {
		out := b.output(job.StreamRef{Name: s.Name, Output: output.Name}, t.node)
		if i == 0 {
			o.keeper = b.keeper(s, out)
		} else {
			o.outs = append(o.outs, out)
		}
	}
	o.backend = state.NewMemory(b.plan.MaxParallelism, state.Variable)
	o.groups = checkpoint.GroupsOf(0, b.plan.MaxParallelism, 1)
	o.resuming = b.manifest() != nil
	return b.restoreState(s, &o.keeper)
}
