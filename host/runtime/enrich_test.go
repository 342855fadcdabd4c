package runtime_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/stream"
)

// enrichManifest has a function that asks about v and puts out k and what it was told.
const enrichManifest = `{"functions": [{"name": "ask", "role": "enrich",
	"input": {"fields": [{"name": "k", "type": "STRING"}, {"name": "v", "type": "BIGINT"}]},
	"output": {"fields": [{"name": "k", "type": "STRING"}, {"name": "v", "type": "BIGINT"}]},
	"namedOutputs": [{"name": "unknown", "schema": {"fields": [{"name": "v", "type": "BIGINT"}, {"name": "error", "type": "STRING"}]}}]},
	{"name": "none", "role": "filter", "input": {"fields": [{"name": "v", "type": "BIGINT"}]}}]}`

var (
	enrichRow     = stream.MustSchema(stream.Field{Name: "k", Type: stream.Type{Kind: stream.String}}, stream.Field{Name: "v", Type: stream.Type{Kind: stream.BigInt}})
	enrichUnknown = stream.MustSchema(stream.Field{Name: "v", Type: stream.Type{Kind: stream.BigInt}}, stream.Field{Name: "error", Type: stream.Type{Kind: stream.String}})
)

// askGuest performs the function: v that ends in 5 needs no answer, and in 9 is dropped
// at once; what is not answered goes to the output unknown.
func askGuest(o *guesttest.Op) {
	k, v := enrichRow.Column(0), enrichRow.Column(1)
	emit := func(told int64) {
		w := stream.NewRowWriter(enrichRow)
		w.BeginIn(nil, stream.Insert)
		w.SetBytes(0, k.Bytes(o.Row))
		w.SetInt64(1, told)
		o.Emit(0, w.Row())
	}
	status, body, failure := guest.AnswerSchema.Column(guest.AnswerStatus), guest.AnswerSchema.Column(guest.AnswerBody), guest.AnswerSchema.Column(guest.AnswerError)
	if o.Kind == abi.OpOpen {
		return
	}
	switch number := v.Int64(o.Row); {
	case o.Kind == abi.OpOnRecord && number%10 == 5:
		emit(number)
	case o.Kind == abi.OpOnRecord && number%10 == 9:
	case o.Kind == abi.OpOnRecord:
		w := stream.NewRowWriter(guest.RequestSchema)
		w.BeginIn(nil, stream.Insert)
		w.SetNull(guest.RequestMethod)
		w.SetBytes(guest.RequestURL, fmt.Appendf(nil, "https://numbers.example/%d", number))
		w.SetBytes(guest.RequestHeaders, []byte("accept: text/plain"))
		w.SetNull(guest.RequestBody)
		o.Effect(abi.EffectRequest, 0, w.Row())
	case status.IsNull(o.Second()):
		w := stream.NewRowWriter(enrichUnknown)
		w.BeginIn(nil, stream.Insert)
		w.SetInt64(0, number)
		w.SetBytes(1, failure.Bytes(o.Second()))
		o.Emit(1, w.Row())
	default:
		told, err := strconv.ParseInt(string(body.Bytes(o.Second())), 10, 64)
		if err != nil {
			o.Fail("an answer that is no number: %v", err)
		}
		emit(told)
	}
}

// heldAsker answers when the test says so.
type heldAsker struct {
	asked  []string // all URLs, in order
	held   []held
	closed bool
}

type held struct {
	request connector.Request
	done    func(*connector.Answer)
}

func (a *heldAsker) Ask(r connector.Request, done func(*connector.Answer)) {
	a.asked = append(a.asked, r.URL)
	a.held = append(a.held, held{r, done})
}

func (a *heldAsker) Close() error {
	a.closed = true
	return nil
}

// answer answers one of those that wait with the number that it asks about.
func (a *heldAsker) answer(i int) {
	h := a.held[i]
	a.held = slices.Delete(a.held, i, i+1)
	h.done(&connector.Answer{Status: 200, Body: []byte(numberOf(h.request.URL))})
}

func numberOf(url string) string { return url[strings.LastIndexByte(url, '/')+1:] }

const enrichJob = `
version: 1
name: enriched
modules: {m: {file: m.wasm}}
sources:
  in: {test: {}, schema: {k: STRING, v: BIGINT}}
steps:
  told:
    from: in
    enrich: {wasm: m.ask, order: %s, capacity: %d, http: {allow: ["https://numbers.example/*"]}}
sinks:
  out: {from: told, test: {}}
  unknown: {from: told.unknown, test: {}}
`

func enrichPlan(t testing.TB, text string) *job.Job { return parsePlanOf(t, text, enrichManifest) }

// enriched is a scripted job with an enrichment, and what came of it.
type enriched struct {
	rebuildFuel int64
	t           testing.TB
	plan        *job.Job
	store       kept
	asker       *heldAsker
	guest       *guesttest.Instance // of the last task
	tasks       []*guesttest.Instance
	job         *runtime.Job
	adapt       func(*runtime.Config)
	got         []arrival
}

// arrival is a row at a sink, with the watermark that had reached the sink before.
type arrival struct {
	sink, row string
	watermark stream.EventTime
}

func newEnriched(t testing.TB, order string, capacity int) *enriched {
	e := &enriched{t: t, plan: enrichPlan(t, fmt.Sprintf(enrichJob, order, capacity)), store: newKept()}
	e.start()
	return e
}

// start makes the job, which goes on from its newest checkpoint.
func (e *enriched) start() {
	e.t.Helper()
	e.asker, e.tasks = nil, nil
	c := runtime.Config{
		Clock: &manualClock{}, Scripted: true, Checkpoints: e.store.config(e.t), Collect: e.collect,
		Guest: func(*job.Function) (runtime.Guest, error) {
			e.guest = &guesttest.Instance{Functions: []guesttest.Function{askGuest, noGuest}}
			e.tasks = append(e.tasks, e.guest)
			return fueledGuest{e.guest, e.rebuildFuel}, nil
		},
		Asker: func(*job.Step) (connector.Asker, error) {
			if e.asker != nil {
				return nil, errors.New("a step has one asker, whatever its tasks")
			}
			e.asker = &heldAsker{}
			return e.asker, nil
		},
	}
	if e.adapt != nil {
		e.adapt(&c)
	}
	var err error
	e.job, err = runtime.New(e.plan, c)
	must(e.t, err)
	must(e.t, e.job.Drive(nil))
}

// fueledGuest is a guest of which each call spends callFuel.
type fueledGuest struct {
	*guesttest.Instance
	rebuildFuel int64
}

const callFuel = 1234

func (fueledGuest) Ops(int)     {}
func (fueledGuest) Fuel() int64 { return callFuel }

func (g fueledGuest) RebuildFuel() int64 { return g.rebuildFuel }

func (e *enriched) stop() {
	e.t.Helper()
	must(e.t, e.job.Close())
	if !e.asker.closed || slices.ContainsFunc(e.tasks, func(g *guesttest.Instance) bool { return !g.Closed }) {
		e.t.Error("the job is closed, and its asker or a guest is not")
	}
}

func (e *enriched) collect(sink string, r stream.Row, at stream.EventTime) {
	w, _ := e.job.SinkWatermark(sink)
	text := ""
	switch sink {
	case "failed":
		record := job.FailedSchema.Column(0)
		k, v := enrichRow.Column(0), enrichRow.Column(1)
		row := stream.Row(record.Bytes(r))
		text = fmt.Sprintf("failed %s %d", k.Bytes(row), v.Int64(row))
		if fuel := job.FailedSchema.Column(job.FailedSchema.Index("fuel")); fuel.IsNull(r) || fuel.Int64(r) != callFuel {
			text += ", without its fuel"
		}
		if at := job.FailedSchema.Column(job.FailedSchema.Index("position")); !at.IsNull(r) {
			original := job.FailedSchema.Column(job.FailedSchema.Index("original"))
			text += fmt.Sprintf(", read at %s: %s", at.Bytes(r), original.Bytes(r))
		}
	case "out":
		k, v := enrichRow.Column(0), enrichRow.Column(1)
		text = fmt.Sprintf("%s %d @%s", k.Bytes(r), v.Int64(r), at)
	default:
		v, failure := enrichUnknown.Column(0), enrichUnknown.Column(1)
		text = fmt.Sprintf("%d %s @%s", v.Int64(r), failure.Bytes(r), at)
	}
	e.got = append(e.got, arrival{sink, text, w})
}

func (e *enriched) send(rows ...int64) {
	batch := new(stream.Batch)
	for _, v := range rows {
		e.put(batch, fmt.Sprint("k", v), v)
	}
	e.job.Feed("in").Send(batch)
}

func (e *enriched) put(batch *stream.Batch, key string, v int64) {
	w := stream.NewRowWriter(e.plan.Sources[0].Output)
	w.Begin(batch, stream.Insert)
	w.SetBytes(0, []byte(key))
	w.SetInt64(1, v)
	w.End(stream.EventTime(v))
	if e.plan.Sources[0].Traced {
		batch.SetOrigin(stream.Origin{Source: "in", Record: v, Offset: 10 * v}, []byte(key+" as it was"))
	}
}

func (e *enriched) mark(kind stream.MarkKind, value int64) {
	batch := new(stream.Batch)
	batch.Mark(kind, value)
	e.job.Feed("in").Send(batch)
}

func (e *enriched) drive() {
	e.t.Helper()
	must(e.t, e.job.Drive(nil))
}

// checkpoint takes one.
func (e *enriched) checkpoint() {
	e.t.Helper()
	taken := errors.New("the checkpoint was not taken")
	must(e.t, e.job.Checkpoint(func(err error) { taken = err }))
	e.drive()
	must(e.t, taken)
}

// checkpointAmong takes one, and answers requests if its barrier is behind what waits for
// room. It returns what had arrived before the barrier.
func (e *enriched) checkpointAmong(r *rand.Rand) (before []arrival) {
	e.t.Helper()
	taken := false
	must(e.t, e.job.Checkpoint(func(err error) {
		must(e.t, err)
		taken, before = true, slices.Clone(e.got)
	}))
	for e.drive(); !taken; e.drive() {
		e.asker.answer(r.IntN(len(e.asker.held)))
	}
	return before
}

func (e *enriched) rows() (rows []string) {
	for _, a := range e.got {
		rows = append(rows, a.row)
	}
	return rows
}

// TestEnrichHistories plays random histories, with checkpoints and restarts among them.
// Ordered, rows arrive as they were sent, for they come from one task; unordered, none
// passes a watermark, in any number of tasks. Both give each row once, and the watermarks
// follow the records.
func TestEnrichHistories(t *testing.T) {
	all := 0
	defer func() {
		if t.Logf("%d records were in checkpoints", all); all < 1000 {
			t.Errorf("only %d records were in checkpoints", all)
		}
	}()
	for seed := range uint64(300) {
		order := []string{"ordered", "unordered"}[seed%2]
		r := rand.New(rand.NewPCG(seed, 7))
		// With several tasks there is room for all, so that a barrier waits for no answer:
		// what comes to the sink from tasks that it has passed would be told as before it.
		tasks := 1 + int(seed/2%3)
		e := newEnriched(t, order, []int{1 + r.IntN(8), 500, 500}[tasks-1])
		e.parallel(tasks)
		var kept history // at the checkpoint
		var now history
		waited := 0 // records that were in checkpoints
		for range 120 {
			switch r.IntN(8) {
			case 0, 1, 2:
				e.send(now.next)
				now.next++
			case 3:
				e.mark(stream.MarkWatermark, now.next-1)
				now.watermarks = append(now.watermarks, now.next-1)
			case 4, 5:
				if n := len(e.asker.held); n > 0 {
					e.asker.answer(r.IntN(n))
				}
			case 6:
				if r.IntN(2) == 0 {
					kept = now
					kept.got = e.checkpointAmong(r)
					waited += len(e.asker.held)
				}
			case 7:
				if r.IntN(6) == 0 {
					e.stop()
					e.got, now = slices.Clone(kept.got), history{next: kept.next} // watermarks are in no checkpoint
					if tasks > 1 {
						e.plan.Parallelism = 1 + r.IntN(tasks+1)
					}
					e.start()
				}
			}
			if r.IntN(2) == 0 {
				e.drive()
			}
		}
		e.drive()
		for len(e.asker.held) > 0 {
			e.asker.answer(r.IntN(len(e.asker.held)))
			e.drive()
		}
		now.check(t, e, order)
		all += waited
		if e.stop(); t.Failed() {
			t.Fatalf("seed %d, %s", seed, order)
		}
	}
}

// history is what was sent: the numbers below next, and watermarks among them.
type history struct {
	next       int64
	watermarks []int64
	got        []arrival
}

func (h *history) check(t *testing.T, e *enriched, order string) {
	t.Helper()
	var want []string
	for v := range h.next {
		if v%10 != 9 {
			want = append(want, fmt.Sprintf("k%d %d @%d", v, v, v))
		}
	}
	got := e.rows()
	for _, a := range e.got {
		v, _ := strconv.ParseInt(strings.Fields(a.row)[1], 10, 64)
		if int64(a.watermark) >= v {
			t.Errorf("%s came behind the watermark %s", a.row, a.watermark)
		}
	}
	if order == "unordered" {
		slices.SortFunc(got, func(a, b string) int { return cmpLength(a, b) })
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("rows (-want +got):\n%.1500s", d)
	}
	if n := len(h.watermarks); n > 0 {
		if w, _ := e.job.SinkWatermark("out"); int64(w) != h.watermarks[n-1] {
			t.Errorf("the watermark %s has arrived, want %d", w, h.watermarks[n-1])
		}
	}
}

// cmpLength compares texts that begin with numbers.
func cmpLength(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// TestEnrichCapacity: no more records are taken than may wait, and a watermark takes a
// place like a record, as in Flink.
func TestEnrichCapacity(t *testing.T) {
	e := newEnriched(t, "ordered", 3)
	defer e.stop()
	e.send(0, 1)
	e.mark(stream.MarkWatermark, 1)
	e.send(2, 3, 4)
	e.drive()
	if n := len(e.asker.asked); n != 2 {
		t.Errorf("%d records are asked about; two and a watermark are all that may wait", n)
	}
	e.asker.answer(1) // the second record waits for the first
	e.drive()
	if n := len(e.asker.asked); n != 2 || len(e.got) != 0 {
		t.Errorf("%d were asked, %v came, while the first record waits", n, e.got)
	}
	e.asker.answer(0)
	e.drive()
	if n := len(e.asker.asked); n != 5 || len(e.got) != 2 {
		t.Errorf("%d were asked, %v came, when the first record had its answer", n, e.got)
	}
}

// TestEnrichUnordered: what is answered leaves at once, unless a watermark is before it.
func TestEnrichUnordered(t *testing.T) {
	e := newEnriched(t, "unordered", 10)
	defer e.stop()
	e.send(0, 1)
	e.mark(stream.MarkWatermark, 1)
	e.send(2, 5, 19)
	e.drive()
	for _, step := range []struct {
		answer int
		want   []string
	}{
		{2, nil},                 // 2 and 5 are behind the watermark
		{1, []string{"k1 1 @1"}}, // before 0, which came first
		{0, []string{"k1 1 @1", "k0 0 @0", "k5 5 @5", "k2 2 @2"}}, // 5 was finished at once
	} {
		e.asker.answer(step.answer)
		e.drive()
		if d := cmp.Diff(step.want, e.rows()); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
}

// TestEnrichResumes: the records that wait are in the checkpoint, in their order; those
// that have left are not, nor is a watermark among them.
func TestEnrichResumes(t *testing.T) {
	for _, order := range []string{"ordered", "unordered"} {
		e := newEnriched(t, order, 10)
		e.send(0, 1, 2, 3)
		e.mark(stream.MarkWatermark, 3)
		e.send(4, 5)
		e.drive()
		e.asker.answer(0)
		e.drive()
		e.checkpoint()
		e.asker.answer(0) // is forgotten
		e.stop()
		if d := cmp.Diff([]string{"k0 0 @0"}, e.rows()); d != "" {
			t.Errorf("before the restart (-want +got):\n%s", d)
		}
		e.start()
		var asked []string
		for _, url := range e.asker.asked {
			asked = append(asked, numberOf(url))
		}
		if d := cmp.Diff([]string{"1", "2", "3", "4"}, asked); d != "" {
			t.Errorf("asked again (-want +got):\n%s", d)
		}
		for len(e.asker.held) > 0 {
			e.asker.answer(0)
		}
		e.drive()
		if order == "ordered" {
			if d := cmp.Diff([]string{"k0 0 @0", "k1 1 @1", "k2 2 @2", "k3 3 @3", "k4 4 @4", "k5 5 @5"}, e.rows()); d != "" {
				t.Errorf("after the restart (-want +got):\n%s", d)
			}
		}
		if w, _ := e.job.SinkWatermark("out"); w != stream.MinTime || len(e.got) != 6 {
			t.Errorf("%d rows, and the watermark %s, which no checkpoint has", len(e.got), w)
		}
		if n := entries(t, e.job, e.store.Store); n != 0 {
			t.Errorf("nothing waits, and the state has %d entries", n)
		}
		e.stop()
	}
}

// TestEnrichFailures: a request without an answer is an answer too, and the end waits.
func TestEnrichFailures(t *testing.T) {
	e := newEnriched(t, "ordered", 10)
	defer e.stop()
	e.send(1, 2)
	e.job.Feed("in").End()
	e.drive()
	h := e.asker.held[0]
	h.done(&connector.Answer{Err: "nobody \xff there"})
	e.drive()
	if w, _ := e.job.SinkWatermark("out"); w != stream.MinTime {
		t.Errorf("the watermark %s has come before the record that waits", w)
	}
	e.asker.held[1].done(&connector.Answer{Status: 200, Body: []byte("7")})
	e.drive()
	if d := cmp.Diff([]string{"1 nobody \uFFFD there @1", "k2 7 @2"}, sorted(e.rows())); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if w, _ := e.job.SinkWatermark("out"); w != stream.MaxTime {
		t.Errorf("the watermark %s, and the input has ended", w)
	}
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

// TestEnrichFaults: a function that fails on an answer fails the job, and says on which.
func TestEnrichFaults(t *testing.T) {
	e := newEnriched(t, "ordered", 10)
	e.send(1, 2)
	e.drive()
	e.asker.held[1].done(&connector.Answer{Status: 200, Body: []byte("two")})
	err := e.job.Drive(nil)
	var failed *runtime.FunctionError
	if !errors.As(err, &failed) || faultKind(err) != abi.FaultFailed || !strings.Contains(err.Error(), "step told: function ask of module m") || !strings.Contains(failed.Where, `the answer to the record k "k2", v 2`) {
		t.Errorf("%v; where: %s", err, failed.Where)
	}
	e.stop()
}

// TestEnrichFaultRate: a function that fails on everything ends the job, and sooner if it is costly to rebuild.
func TestEnrichFaultRate(t *testing.T) {
	failOnAll(t, 20_000_000, "step told: 100 faults in the last 100 records or calls are more than the step's fault-rate, 0.1, allows")
	failOnAll(t, 150_000_000, "step told: 100 faults in the last 50 records or calls are more than the step's fault-rate, 0.1, allows")
}

func failOnAll(t *testing.T, rebuildFuel int64, want string) {
	t.Helper()
	e := &enriched{t: t, rebuildFuel: rebuildFuel, plan: enrichPlan(t, strings.Replace(fmt.Sprintf(enrichJob, "ordered", 10), "from: in\n", "from: in\n    on-fault: skip\n", 1)), store: newKept()}
	e.start()
	defer e.stop()
	for n := int64(0); ; n += 10 {
		e.send(n)
		e.drive()
		e.asker.held[0].done(&connector.Answer{Status: 200, Body: []byte("bad")})
		e.asker.held = nil
		if err := e.job.Drive(nil); err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Error(err)
			}
			return
		}
		if n > 2000 {
			t.Fatal("the job goes on")
		}
	}
}

// TestEnrichSmallGuest: a guest with little room gives the same.
func TestEnrichSmallGuest(t *testing.T) {
	e := newEnriched(t, "ordered", 100)
	defer e.stop()
	e.guest.FrameMax, e.guest.EffectsMax = 500, 300
	var want []string
	for v := range int64(60) {
		if e.send(v); v%10 != 9 {
			want = append(want, fmt.Sprintf("k%d %d @%d", v, v, v))
		}
	}
	e.drive()
	for len(e.asker.held) > 0 {
		e.asker.answer(len(e.asker.held) - 1)
	}
	e.drive()
	if d := cmp.Diff(want, e.rows()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
