package runtime_test

import (
	"math/rand/v2"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
)

// enrichCrashSteps are enrichments in front of the crash test's job, in ways that records
// come to several tasks: to one that keeps their order, in turn, by key, and from each task
// of one step to one of the next.
var enrichCrashSteps = []string{`
  told:
    from: [a, b]
    enrich: {wasm: m.ask, order: ordered, capacity: 5, http: {allow: ["https://numbers.example/*"]}}
`, `
  told:
    from: [a, b]
    enrich: {wasm: m.ask, order: unordered, capacity: 5, http: {allow: ["https://numbers.example/*"]}}
`, `
  told:
    from: [a, b]
    key-by: [k]
    enrich: {wasm: m.ask, order: ordered, capacity: 5, http: {allow: ["https://numbers.example/*"]}}
`, `
  before:
    from: [a, b]
    enrich: {wasm: m.ask, order: unordered, capacity: 5, http: {allow: ["https://numbers.example/*"]}}
  told:
    from: before
    enrich: {wasm: m.ask, order: ordered, capacity: 5, http: {allow: ["https://numbers.example/*"]}}
`}

func enrichCrashPlan(t testing.TB, seed uint64) *job.Job {
	steps := enrichCrashSteps[seed%uint64(len(enrichCrashSteps))]
	text := strings.Replace(crashJob, "\nsteps:\n", "\nsteps:"+steps, 1)
	text = strings.ReplaceAll(text, "from: [a, b]\n    key-by: [k]\n    window", "from: told\n    key-by: [k]\n    window")
	return enrichPlan(t, strings.Replace(text, "name: crash", "name: crash\nmodules: {m: {file: m.wasm}}", 1))
}

// TestCrashesWithRequestsInFlight is the crash test's job with an enrichment in front,
// whose answers come in any order: what is visible in the end is what was to be.
func TestCrashesWithRequestsInFlight(t *testing.T) {
	want := enrichCrashWant(t)
	resumed := 0
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 11))
		plan := enrichCrashPlan(t, seed)
		w := newWorld(seed)
		live := func() error {
			asker := &randomAsker{random: r}
			plan.Parallelism = 1 + r.IntN(4)
			l := &life{order: r.Uint64(), every: 12, more: asker.more, adapt: func(c *runtime.Config) {
				c.Asker = func(*job.Step) (connector.Asker, error) { return asker, nil }
				c.Guest = func(*job.Function) (runtime.Guest, error) {
					return &guesttest.Instance{Functions: []guesttest.Function{askGuest}}, nil
				}
			}}
			err := w.live(t, plan, l)
			resumed += min(1, asker.first)
			return err
		}
		for range 3 {
			w.disk.StopAt(w.disk.Ops() + 1 + r.IntN(200))
			_ = live()
			w.end(r.IntN(2) == 0)
		}
		must(t, live())
		if w.check(t, want); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if t.Logf("%d runs", resumed); resumed < 100 {
		t.Errorf("only %d runs asked anything", resumed)
	}
}

// randomAsker keeps some requests, and answers one of them for each that comes when
// there are enough.
type randomAsker struct {
	heldAsker
	random *rand.Rand
	first  int
}

func (a *randomAsker) Ask(r connector.Request, done func(*connector.Answer)) {
	a.first++
	a.heldAsker.Ask(r, done)
	for len(a.held) > 0 && a.random.IntN(4) == 0 {
		a.answer(a.random.IntN(len(a.held)))
	}
}

// more answers one request when the job has nothing left to do.
func (a *randomAsker) more() bool {
	if len(a.held) == 0 {
		return false
	}
	a.answer(a.random.IntN(len(a.held)))
	return true
}

// enrichCrashWant is what the job puts out without the records that the function drops.
func enrichCrashWant(t *testing.T) map[string][]string {
	t.Helper()
	return crashWantOf(func(r crashRecord) bool { return r.v%10 != 9 })
}

// slowAsker answers each request from a goroutine of its own, after some of others.
type slowAsker struct {
	group  sync.WaitGroup
	mu     sync.Mutex
	random *rand.Rand
	now    int // under way
	most   int
}

func (a *slowAsker) Ask(r connector.Request, done func(*connector.Answer)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now++
	a.most = max(a.most, a.now)
	a.group.Go(func() {
		a.mu.Lock()
		turns := a.random.IntN(3)
		a.now--
		a.mu.Unlock()
		for range turns {
			goruntime.Gosched()
		}
		done(&connector.Answer{Status: 200, Body: []byte(numberOf(r.URL))})
	})
}

func (a *slowAsker) Close() error {
	a.group.Wait()
	return nil
}

// enrichCrashMost is how many records may wait in all tasks of the plans, of which there
// are two where they may be several.
var enrichCrashMost = []int{5, 10, 10, 20}

// TestEnrichRuns runs the crash test's job with workers and answers from many goroutines.
func TestEnrichRuns(t *testing.T) {
	want := enrichCrashWant(t)
	for seed := range uint64(8) {
		w, asker := newWorld(seed), &slowAsker{random: rand.New(rand.NewPCG(seed, 5))}
		c := config(t, nil)
		c.Clock, c.Workers, c.Limits.BatchRows = &wallClock{}, 3, 16
		c.Source = func(s *job.Source) (connector.Source, error) {
			return &crashSource{world: w, name: s.Name, piece: 6, ask: func(int64) {}}, nil
		}
		c.Sink = func(s *job.Sink) (connector.Sink, error) { return &outsideSink{world: w, out: w.sink(s.Name)}, nil }
		c.Asker = func(*job.Step) (connector.Asker, error) { return asker, nil }
		c.Guest = func(*job.Function) (runtime.Guest, error) {
			return &guesttest.Instance{Functions: []guesttest.Function{askGuest}}, nil
		}
		run(t, enrichCrashPlan(t, seed), c)
		if most := enrichCrashMost[seed%uint64(len(enrichCrashMost))]; asker.most > most {
			t.Errorf("seed %d: %d requests at one time, and %d may wait", seed, asker.most, most)
		}
		if w.check(t, want); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
