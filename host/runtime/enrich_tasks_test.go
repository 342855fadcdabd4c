package runtime_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/stream"
)

// parallel starts the job anew with so many tasks.
func (e *enriched) parallel(tasks int) {
	e.t.Helper()
	e.stop()
	e.plan.Parallelism = tasks
	e.start()
}

func (e *enriched) sendKey(key string, v int64) {
	batch := new(stream.Batch)
	e.put(batch, key, v)
	e.job.Feed("in").Send(batch)
}

// TestEnrichByKey plays random histories with a key, in one to four tasks that change with
// each restart: each row comes once, and those of a key in their order.
func TestEnrichByKey(t *testing.T) {
	const keys = 5
	several := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 17))
		e := &enriched{t: t, plan: enrichPlan(t, strings.Replace(fmt.Sprintf(enrichJob, "ordered", 500), "from: in\n", "from: in\n    key-by: [k]\n", 1)), store: newKept()}
		e.plan.Parallelism = 1 + r.IntN(4)
		e.start()
		var next, kept int64
		var got []arrival // at the checkpoint
		for range 150 {
			switch r.IntN(6) {
			case 0, 1, 2:
				e.sendKey(fmt.Sprint("k", next%keys), next)
				next++
			case 3, 4:
				if n := len(e.asker.held); n > 0 {
					e.asker.answer(r.IntN(n))
				}
			case 5:
				switch r.IntN(8) {
				case 0, 1:
					kept, got = next, e.checkpointAmong(r)
				case 2:
					e.stop()
					e.got, next = slices.Clone(got), kept
					e.plan.Parallelism = 1 + r.IntN(4)
					e.start()
					several += min(1, e.plan.Parallelism-1)
				}
			}
			if r.IntN(2) == 0 {
				e.drive()
			}
		}
		for e.drive(); len(e.asker.held) > 0; e.drive() {
			e.asker.answer(r.IntN(len(e.asker.held)))
		}
		for key := range int64(keys) {
			var want, of []string
			for v := key; v < next; v += keys {
				if v%10 != 9 {
					want = append(want, fmt.Sprintf("k%d %d @%d", key, v, v))
				}
			}
			for _, row := range e.rows() {
				if strings.HasPrefix(row, fmt.Sprintf("k%d ", key)) {
					of = append(of, row)
				}
			}
			if d := cmp.Diff(want, of); d != "" {
				t.Errorf("key %d (-want +got):\n%.1500s", key, d)
			}
		}
		if e.stop(); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if several < 100 {
		t.Errorf("only %d restarts with several tasks", several)
	}
}

// TestEnrichTasks: unordered, records go to all tasks; ordered, those of one task stay in
// one, and the order that they came in is kept.
func TestEnrichTasks(t *testing.T) {
	for order, want := range map[string]int{"ordered": 1, "unordered": 3} {
		e := newEnriched(t, order, 2)
		e.parallel(3)
		e.send(0, 1, 2, 3, 4, 6, 7, 8)
		e.drive()
		working := 0
		for _, g := range e.tasks {
			working += min(1, g.Ops-1) // the opening is an op too
		}
		if len(e.tasks) != want || working != want {
			t.Errorf("%s: %d of %d tasks were asked, want %d", order, working, len(e.tasks), want)
		}
		if n := len(e.asker.held); n != 2*want {
			t.Errorf("%s: %d wait for answers, and there is room for 2 in each of %d tasks", order, n, want)
		}
		e.stop()
	}
}

// TestEnrichStraight: behind a step with several tasks an ordered enrichment has as many,
// and keeps the order of what each of them puts out.
func TestEnrichStraight(t *testing.T) {
	text := strings.NewReplacer("  told:\n    from: in\n", "  told:\n    from: before\n", "sinks:\n", `  before: {from: in, key-by: [k], enrich: {wasm: m.ask, capacity: 50, http: {allow: ["https://numbers.example/*"]}}}
sinks:
`).Replace(fmt.Sprintf(enrichJob, "ordered", 50))
	e := &enriched{t: t, plan: enrichPlan(t, text), store: newKept()}
	e.adapt = func(c *runtime.Config) {
		c.Asker = func(*job.Step) (connector.Asker, error) {
			if e.asker == nil {
				e.asker = &heldAsker{}
			}
			return e.asker, nil
		}
	}
	e.plan.Parallelism = 4
	e.start()
	defer e.stop()
	if n := len(e.tasks); n != 8 {
		t.Errorf("%d tasks, want 4 of each step", n)
	}
	r := rand.New(rand.NewPCG(1, 2))
	want := map[string][]string{}
	for v := range int64(40) {
		if key := fmt.Sprint("k", v%7); v%10 != 9 {
			e.sendKey(key, v)
			want[key] = append(want[key], fmt.Sprintf("%s %d @%d", key, v, v))
		}
	}
	for e.drive(); len(e.asker.held) > 0; e.drive() {
		e.asker.answer(r.IntN(len(e.asker.held)))
	}
	working := func(tasks []*guesttest.Instance) (n int) {
		for _, g := range tasks {
			n += min(1, g.Ops-1) // the opening is an op too
		}
		return n
	}
	if before, behind := working(e.tasks[:4]), working(e.tasks[4:]); before < 2 || behind != before {
		t.Errorf("%d tasks of the first step were asked, and %d of the second", before, behind)
	}
	got := map[string][]string{}
	for _, row := range e.rows() {
		key := strings.Fields(row)[0]
		got[key] = append(got[key], row)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("by key (-want +got):\n%s", d)
	}
}

// TestEnrichRescales: what waits is spread over the tasks that there are then.
func TestEnrichRescales(t *testing.T) {
	e := newEnriched(t, "unordered", 100)
	for v := range int64(60) {
		if v%10 != 9 && v%10 != 5 { // those are not asked about
			e.send(v)
		}
	}
	e.drive()
	e.checkpoint()
	e.parallel(4)
	for i, g := range e.tasks {
		if n := g.Ops - 1; n < 4 || n > 24 {
			t.Errorf("task %d was asked about %d of 48 records that waited", i, n)
		}
	}
	e.checkpoint()
	e.parallel(1)
	if n := len(e.asker.held); n != 48 {
		t.Errorf("%d requests, want 48", n)
	}
	for len(e.asker.held) > 0 {
		e.asker.answer(0)
	}
	if e.drive(); len(e.got) != 48 {
		t.Errorf("%d rows, want 48", len(e.got))
	}
	e.stop()
}

// TestEnrichKeepsResults: what has its results and waits for others is not asked about
// again, unless the function has other outputs now.
func TestEnrichKeepsResults(t *testing.T) {
	for _, other := range []bool{false, true} {
		e := newEnriched(t, "ordered", 10)
		e.send(0, 1, 2, 3)
		e.drive()
		e.checkpoint() // all wait
		e.asker.answer(2)
		e.asker.held[2].done(&connector.Answer{Err: "nobody there"}) // 3
		e.drive()
		e.checkpoint()
		e.stop()
		if other {
			e.plan.Steps[0].Enrich.Function.Outputs[1].Schema = stream.MustSchema(
				stream.Field{Name: "v", Type: stream.Type{Kind: stream.BigInt}}, stream.Field{Name: "reason", Type: stream.Type{Kind: stream.String}},
			)
		}
		e.start()
		want, rows := []string{"0", "1"}, []string{"3 nobody there @3", "k0 0 @0", "k1 1 @1", "k2 2 @2"}
		if other {
			want, rows = []string{"0", "1", "2", "3"}, []string{"k0 0 @0", "k1 1 @1", "k2 2 @2", "k3 3 @3"}
		}
		var asked []string
		for _, url := range e.asker.asked {
			asked = append(asked, numberOf(url))
		}
		if d := cmp.Diff(want, asked); d != "" {
			t.Errorf("asked again (-want +got):\n%s", d)
		}
		for len(e.asker.held) > 0 {
			e.asker.answer(0)
		}
		e.drive()
		if d := cmp.Diff(rows, sorted(e.rows())); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		e.stop()
	}
}

// TestCheckpointBehindAnEnrichment: a barrier is behind the records that wait for room, and the
// error of the checkpoint says where, and what may hold them up.
func TestCheckpointBehindAnEnrichment(t *testing.T) {
	for limit, want := range map[string]string{
		"":                 "; a barrier is behind the records that wait in front of step told, which takes them as its servers answer",
		", rate-limit: 25": "; a barrier is behind the records that wait in front of step told, and its rate-limit is 25 in a second",
	} {
		clock := &manualClock{}
		e := &enriched{t: t, plan: enrichPlan(t, strings.Replace(fmt.Sprintf(enrichJob, "ordered", 2), `/*"]`, `/*"]`+limit, 1)), store: newKept()}
		e.adapt = func(c *runtime.Config) { c.Clock = clock }
		e.start()
		e.send(1, 2, 3)
		e.drive()
		var taken error
		must(t, e.job.Checkpoint(func(err error) { taken = err }))
		e.drive()
		clock.advance(600_000)
		want = "checkpoint 1 was not complete after 10m0s: 1 of 4 parts were done; missing are step told, sink out, sink unknown" + want
		if err := e.job.Drive(nil); err == nil || taken == nil || taken.Error() != want {
			t.Errorf("%v\nand the job's error: %v\nwant %s", taken, err, want)
		}
		e.stop()
	}
}
