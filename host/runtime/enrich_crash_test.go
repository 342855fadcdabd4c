package runtime_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
)

const enrichCrashStep = `
steps:
  told:
    from: [a, b]
    enrich: {wasm: m.ask, order: ORDER, capacity: 5, http: {allow: ["https://numbers.example/*"]}}
`

// TestCrashesWithRequestsInFlight is the crash test's job with an enrichment in front,
// whose answers come in any order: what is visible in the end is what was to be.
func TestCrashesWithRequestsInFlight(t *testing.T) {
	want := enrichCrashWant(t)
	resumed := 0
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 11))
		text := strings.Replace(crashJob, "\nsteps:\n", strings.ReplaceAll(enrichCrashStep, "ORDER", []string{"ordered", "unordered"}[seed%2]), 1)
		text = strings.Replace(strings.ReplaceAll(text, "from: [a, b]\n    key-by", "from: told\n    key-by"), "name: crash", "name: crash\nmodules: {m: {file: m.wasm}}", 1)
		plan := enrichPlan(t, text)
		w := newWorld(seed)
		live := func() error {
			asker := &randomAsker{random: r}
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
