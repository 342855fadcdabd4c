package runtime

import (
	"errors"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/connector"
	guests "github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/operator/enrich"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// tasksOf is how many tasks a step with state has: as many as the job's parallelism, but
// for an enrichment that keeps the order of what one task puts out.
func tasksOf(plan *job.Job, s *job.Step) int {
	if s.Enrich != nil && !spread(plan)[s.Name] {
		return 1
	}
	return plan.Parallelism
}

// spread are the steps with as many tasks as the job's parallelism.
func spread(plan *job.Job) map[string]bool {
	wide := map[string]bool{}
	for _, s := range plan.Steps { // upstream first
		if e := s.Enrich; e != nil {
			wide[s.Name] = e.Unordered || s.KeyBy != nil
			for _, ref := range s.From {
				wide[s.Name] = wide[s.Name] || wide[ref.Name]
			}
			continue
		}
		wide[s.Name] = s.Window != nil || s.Process != nil || s.Sides() != nil
	}
	return wide
}

// enrich makes the tasks of an enrichment, which share an asker.
func (b *builder) enrich(s *job.Step) error {
	if b.config.Asker == nil {
		return errors.New("there is nobody here to answer its requests")
	}
	asker, err := b.config.Asker(s)
	if err != nil {
		return err
	}
	b.job.askers = append(b.job.askers, asker)
	if counting, ok := asker.(connector.CountingAsker); ok {
		b.job.counting = append(b.job.counting, watchedAsker{s.Name, counting})
	}
	var tasks []*operatorTask
	for i := range tasksOf(b.plan, s) {
		t, err := b.enrichTask(s, i, asker)
		if err != nil {
			return err
		}
		tasks = append(tasks, t)
	}
	how := reading{from: s.From, input: s.Input, key: s.KeyBy, max: s.Combine == job.CombineMax}
	switch {
	case s.KeyBy != nil:
	case s.Enrich.Unordered:
		how.deal = inTurn
	default:
		how.deal = straight
	}
	b.connect(tasks, how)
	return nil
}

func (b *builder) enrichTask(s *job.Step, i int, asker connector.Asker) (*operatorTask, error) {
	t, stats := b.stepTask(s, true)
	f := s.Enrich.Function
	order := enrich.Ordered
	if s.Enrich.Unordered {
		order = enrich.Unordered
	}
	o := &enrichOperator{
		failed: failure{function: f, schema: s.Input}, failures: map[*enrich.Record]*failedAnswer{}, queue: enrich.NewQueue(order, s.Enrich.Capacity), input: stream.NewProjection(s.Input, f.Inputs[0].Columns),
		answer: stream.NewRowWriter(guests.AnswerSchema), request: newRequestReader(), answers: answers{node: t.node}, asker: asker, results: len(f.Outputs),
		now: guests.Context{Watermark: int64(stream.MinTime), Clock: int64(b.config.Clock.Now())},
	}
	err := b.enrichKeeper(s, t, o, i)
	if err != nil {
		return nil, err
	}
	o.faults = b.faults(s, t.node, stats, &o.outs)
	t.room = b.roomFor(t.work)
	t.room.drain = func(all bool) bool { return o.keeper.drain(all) }
	if o.caller, err = b.caller(f, o); err != nil {
		return nil, err
	}
	t.op, t.fed, t.keeper = o, o, &o.keeper
	return t, nil
}

// enrichKeeper gives a task its outputs, and the records that waited at the checkpoint.
func (b *builder) enrichKeeper(s *job.Step, t *operatorTask, o *enrichOperator, task int) error {
	for i, output := range s.Enrich.Function.Outputs {
		out := b.output(job.StreamRef{Name: s.Name, Output: output.Name}, t.node)
		if i == 0 {
			o.keeper = b.keeper(s, out)
		} else {
			o.outs = append(o.outs, out)
		}
	}
	o.backend = state.NewMemory(b.plan.MaxParallelism, state.Variable)
	o.task, o.groups = task, checkpoint.GroupsOf(task, b.plan.MaxParallelism, tasksOf(b.plan, s))
	o.shelf = newShelf(o.backend, s, b.plan.MaxParallelism, o.groups)
	o.resuming = b.manifest() != nil
	return b.restoreState(s, &o.keeper)
}
