package server_test

import (
	"fmt"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
	"github.com/wasmstream/wasmstream/host/stream"
)

// asks has functions: a filter, and an enrichment.
const asks = `
version: 1
name: counts
parallelism: 2
modules: {m: {file: m.wasm}}
sources:
  in:
    kafka: {brokers: ["h:1"], topics: [p], format: json}
    schema: {k: STRING, t: TIMESTAMP(3)}
    event-time: t
    on-error: skip
    watermark: {max-out-of-orderness: 0s, emit: on-event, idle-timeout: 1s}
steps:
  short: {from: in, filter: {wasm: m.short}, on-fault: skip}
  told: {from: short, key-by: [k], enrich: {wasm: m.ask, http: {allow: ["https://s.example/*"]}}}
  counted: {from: short, key-by: [k], window: {tumbling: {size: 1s}}, aggregate: {n: count}}
sinks:
  out: {from: counted, file: {path: out, format: json}}
  told: {from: told, file: {path: told, format: json}}
`

// manifest is that of the module that newGuest makes instances of.
const manifest = `{"functions": [
	{"name": "short", "role": "filter", "input": {"fields": [{"name": "k", "type": "STRING"}]}},
	{"name": "ask", "role": "enrich", "input": {"fields": [{"name": "k", "type": "STRING"}]}, "output": {"fields": [{"name": "k", "type": "STRING"}]}}
]}`

// fueled is an instance that spends 10 units for an op, and has a memory.
type fueled struct {
	*guesttest.Instance
	spent int64
}

const memoryBytes = 3 << 16

func (g *fueled) Ops(int)          {}
func (g *fueled) Fuel() int64      { return g.spent }
func (g *fueled) MemoryBytes() int { return memoryBytes }

func (g *fueled) Call(function, pointer uint32, length int) ([]byte, error) {
	h, err := abi.ReadHeader(g.Frame())
	if err != nil {
		return nil, err
	}
	g.spent = 10 * int64(h.Ops)
	return g.Instance.Call(function, pointer, length)
}

// newGuest makes an instance whose filter fails on the key bad, and whose enrichment asks
// about each key and drops what it is told.
func newGuest() *fueled {
	schema := stream.MustSchema(stream.Field{Name: "k", Type: stream.Type{Kind: stream.String}})
	key := schema.Column(0)
	short := func(o *guesttest.Op) {
		switch {
		case o.Kind == abi.OpOpen:
		case string(key.Bytes(o.Row)) == "bad":
			o.Fail("it is bad")
		default:
			o.Effect(abi.EffectKeep, 0, nil)
		}
	}
	ask := func(o *guesttest.Op) {
		if o.Kind != abi.OpOnRecord {
			return
		}
		w := stream.NewRowWriter(guest.RequestSchema)
		w.BeginIn(nil, stream.Insert)
		w.SetNull(guest.RequestMethod)
		w.SetBytes(guest.RequestURL, append([]byte("https://s.example/"), key.Bytes(o.Row)...))
		w.SetNull(guest.RequestHeaders)
		w.SetNull(guest.RequestBody)
		o.Effect(abi.EffectRequest, 0, w.Row())
	}
	return &fueled{Instance: &guesttest.Instance{Functions: []guesttest.Function{short, ask}}}
}

// asker answers at once, and says that it has counted what no two of which are equal.
type asker struct{}

func (asker) Ask(_ connector.Request, done func(*connector.Answer)) {
	done(&connector.Answer{Status: 200})
}
func (asker) Close() error { return nil }
func (asker) Stats() connector.AskerStats {
	return connector.AskerStats{
		Requests: 11, Shared: 12, CacheHits: 13, Answered: 14, Failed: 15, Attempts: 16, Retries: 17, TimedOut: 18, Held: 19, InFlight: 20, Waiting: 21,
	}
}

// of names a metric of one of the functions, of the step's first task.
func of(name, step, function, role string) string { return ofTask(0, name, step, function, role) }

func ofTask(task int, name, step, function, role string) string {
	return fmt.Sprintf(`wasmstream_function_%s{function="m.%s",kind="step",name=%q,role=%q,subtask_index="%d"}`, name, function, step, role, task)
}

func fault(kind string) string {
	return `wasmstream_function_numFaults{fault="` + kind + `",function="m.short",kind="step",name="short",role="filter",subtask_index="0"}`
}

// TestFunctions: what the filter is asked and what it costs is told by its step, and of the
// enrichment by each of its two tasks, which have a key each. How many records a frame has is not for the test to say, so some is known only in relation.
func TestFunctions(t *testing.T) {
	b := start(t)
	close(b.topic.open)
	b.run(b.newJob(asks))
	b.topic.chunks <- "p-0 " + record("a", 1000) + record("bad", 1000) + record("c", 1000)
	got := b.until("all are there", func(s samples) bool {
		return s[ofTask(0, "numOps", "told", "ask", "enrich")] == 2 && s[ofTask(1, "numOps", "told", "ask", "enrich")] == 2
	})
	b.check(got, samples{
		fault("failed"): 1, fault("trap"): 0, fault("out-of-fuel"): 0, fault("reentered"): 0,
		task("numFunctionFaults", "step", "short"):           1,
		of("instances", "short", "short", "filter"):          1,
		of("peakMemoryBytes", "short", "short", "filter"):    memoryBytes,
		of("instances", "told", "ask", "enrich"):             1,
		ofTask(1, "instances", "told", "ask", "enrich"):      1,
		of("fuel", "told", "ask", "enrich"):                  20,
		ofTask(1, "fuel", "told", "ask", "enrich"):           20,
		of("numInstancesRebuilt", "told", "ask", "enrich"):   0,
		`wasmstream_enrich_numRequests{name="told"}`:         11,
		`wasmstream_enrich_numShared{name="told"}`:           12,
		`wasmstream_enrich_numCacheHits{name="told"}`:        13,
		`wasmstream_enrich_numAnswers{name="told"}`:          14,
		`wasmstream_enrich_numUnanswered{name="told"}`:       15,
		`wasmstream_enrich_numAttempts{name="told"}`:         16,
		`wasmstream_enrich_numRetries{name="told"}`:          17,
		`wasmstream_enrich_numTimeouts{name="told"}`:         18,
		`wasmstream_enrich_numRateLimitedWaits{name="told"}`: 19,
		`wasmstream_enrich_requestsInFlight{name="told"}`:    20,
		`wasmstream_enrich_requestsWaiting{name="told"}`:     21,
	})
	calls, ops := got[of("numCalls", "short", "short", "filter")], got[of("numOps", "short", "short", "filter")]
	if calls < 2 || ops < 3 || got[of("fuel", "short", "short", "filter")] != 10*ops {
		t.Errorf("%v calls, %v ops, and the fuel %v of 10 for each", calls, ops, got[of("fuel", "short", "short", "filter")])
	}
	if n := got[of("numInstancesRebuilt", "short", "short", "filter")]; n < 1 || n >= calls {
		t.Errorf("rebuilt %v times in %v calls", n, calls)
	}
}
