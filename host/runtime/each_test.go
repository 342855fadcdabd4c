package runtime_test

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/stream"
)

const eachJob = `
version: 1
name: each
modules: {m: {file: roles-LANGUAGE.wasm}}
sources:
  in: {file: {path: in, format: json}, schema: {user: STRING, amount: BIGINT}, event-time: {wasm: m.stamped}, watermark: {emit: punctuated}, on-error: skip}
  raw: {file: {path: raw, format: json}, schema: {user: STRING, amount: BIGINT}}
steps:
  scaled: {from: in, map: {wasm: m.scale, with: {factor: 3}}}
  good: {from: in, filter: {wasm: m.positive}}
  judged: {from: raw, filter: {wasm: m.positive}, on-fault: dead-letter}
  numbers: {from: good, flat-map: {wasm: m.split}}
  sums: {from: good, key-by: {wasm: m.by-user}, window: {tumbling: {size: 10ms}, late-output: late}, aggregate: {sum: sum(amount)}}
sinks:
  scaled: {from: scaled, file: {path: a, format: json}}
  good: {from: good, file: {path: b, format: json}}
  failed: {from: judged.failed, file: {path: c, format: json}}
  numbers: {from: numbers, file: {path: d, format: json}}
  last: {from: numbers.last, file: {path: e, format: json}}
  sums: {from: sums, file: {path: f, format: json}}
  late: {from: sums.late, file: {path: g, format: json}}
`

// TestEachInEveryLanguage: the functions of udfs/roles that are asked about each record,
// in a job. What is to come out was worked out by hand.
func TestEachInEveryLanguage(t *testing.T) {
	lines := []string{
		`{"user":"ann","amount":2}`, `{"user":null,"amount":3}`, `{"user":"somebody long","amount":-9223372036854775808}`, `{"user":"bob","amount":-7}`,
		`{"user":"somebody long","amount":10}`, `{"user":"ann","amount":1}`,
	}
	for _, language := range []string{"c", "go", "rust"} {
		for _, batch := range []int{1, 4, 1000} {
			sinks := map[string]*recordsSink{}
			c := with(t, nil, func(name string) connector.Sink {
				sinks[name] = &recordsSink{}
				return sinks[name]
			})
			c.Source = func(*job.Source) (connector.Source, error) {
				return linesThen(strings.Join(lines, "\n")+"\n", func() error { return io.EOF }), nil
			}
			c.Limits.BatchRows = batch
			plan := parsePlan(t, strings.Replace(eachJob, "LANGUAGE", language, 1), "../../testdata/wasm")
			j, err := runtime.New(plan, c)
			must(t, err)
			must(t, j.Drive(nil))
			must(t, j.Close())
			check := func(sink, want string) {
				t.Helper()
				got := strings.NewReplacer(`\"`, `"`, `"{`, `{`, `}"`, `}`).Replace(strings.Join(sinks[sink].all, " "))
				if got != want {
					t.Errorf("%s, batch %d, %s: %s\nwant %s", language, batch, sink, got, want)
				}
			}
			check("scaled", `{"user":"ann","amount":6} {"user":null,"amount":9} {"user":"bob","amount":-21} {"user":"somebody long","amount":30} {"user":"ann","amount":3}`)
			check("good", `{"user":"ann","amount":2} {"user":null,"amount":3} {"user":"somebody long","amount":10} {"user":"ann","amount":1}`)
			check("numbers", `{"n":1} {"n":1} {"n":2} {"n":1} {"n":2} {"n":3} {"n":4} {"n":5} {"n":6} {"n":7} {"n":8} {"n":9}`)
			check("last", `{"n":2} {"n":3} {"n":10} {"n":1}`)
			check("sums", `{"user":null,"sum":3,"window_start":0,"window_end":10} {"user":"ann","sum":2,"window_start":0,"window_end":10} {"user":"somebody long","sum":10,"window_start":10,"window_end":20}`)
			check("late", `{"user":"ann","amount":1}`)
			failed := strings.Join(sinks["failed"].all, "\n")
			for _, want := range []string{`somebody long\\\", amount -9223372036854775808`, `\"reason\":\"failed\"`, `\"function\":\"m.positive\"`, `\"fuel\":`, `\"key\":null`, `\"backtrace\":\"`} {
				if len(sinks["failed"].all) != 1 || !strings.Contains(failed, want) || strings.Contains(failed, `fuel\":null`) {
					t.Errorf("%s, batch %d: dead letters %s, want one with %s", language, batch, failed, want)
				}
			}
		}
	}
}

// payments is a source without bytes: the decoder makes rows up.
type paymentDecoder struct{ n int64 }

func (d *paymentDecoder) Decode(_ []byte, w *stream.RowWriter) error {
	d.n++
	w.SetBytes(0, []byte("user 1234"))
	w.SetInt64(1, d.n)
	return nil
}

// eachRun is a job whose step takes each record by itself, in batches of 256.
type eachRun struct {
	plan     *job.Job
	natively func(row stream.Row, at stream.EventTime, out *stream.Batch) // nil: as the plan says
	chunks   int
	encode   format.Encoder
}

// newEachRun makes one of a step of the module roles.
func newEachRun(t testing.TB, language, step string) *eachRun {
	text := strings.NewReplacer("LANGUAGE", language, "STEP", step).Replace(`
version: 1
name: each
modules: {m: {file: roles-LANGUAGE.wasm}}
sources:
  in: {file: {path: in, format: json}, schema: {user: STRING, amount: BIGINT}}
steps:
  s: {from: in STEP}
sinks:
  out: {from: s, file: {path: a, format: json}}
`)
	return &eachRun{plan: parsePlan(t, text, "../../testdata/wasm"), chunks: 4000, encode: nothing{}}
}

// scaled is what roles.scale does, in Go.
func scaled(s *stream.Schema) func(row stream.Row, at stream.EventTime, out *stream.Batch) {
	user, amount, w := s.Column(0), s.Column(1), stream.NewRowWriter(s)
	return func(row stream.Row, at stream.EventTime, out *stream.Batch) {
		w.Begin(out, row.Change())
		if user.IsNull(row) {
			w.SetNull(0)
		} else {
			w.SetBytes(0, user.Bytes(row))
		}
		if amount.IsNull(row) {
			w.SetNull(1)
		} else {
			w.SetInt64(1, 2*amount.Int64(row))
		}
		w.End(at)
	}
}

// run runs it, and returns the user time that a record took, in nanoseconds.
func (r *eachRun) run(t testing.TB) float64 {
	left := r.chunks
	c := with(t, newSource(func(c *connector.Chunk) error {
		if left--; left < 0 {
			return io.EOF
		}
		for range 256 {
			c.Data = append(c.Data, 'x')
			c.Ends = append(c.Ends, uint32(len(c.Data)))
		}
		return nil
	}), func(string) connector.Sink { return discard{} })
	c.Limits.BatchRows = 256
	c.Decoder = func(*job.Source) (format.Decoder, error) { return &paymentDecoder{}, nil }
	c.Encoder = func(*job.Sink) (format.Encoder, error) { return r.encode, nil }
	j, err := runtime.New(r.plan, c)
	must(t, err)
	if r.natively != nil {
		runtime.Natively(j, r.natively)
	}
	before := userTime(t)
	must(t, j.Run(t.Context()))
	took := userTime(t) - before
	records := j.Progress().Records
	must(t, j.Close())
	return float64(took) / float64(records)
}

// sumEncoder adds up what it is to encode.
type sumEncoder struct {
	amount stream.Column
	sum    int64
	bytes  int
}

func (e *sumEncoder) Append(dst []byte, row stream.Row) []byte {
	e.sum += e.amount.Int64(row)
	e.bytes += len(row)
	return dst
}

// TestNativeTwin: what BenchmarkMap compares does the same.
func TestNativeTwin(t *testing.T) {
	for _, language := range []string{"", "c", "rust", "go"} {
		r := newEachRun(t, cmp.Or(language, "c"), ", map: {wasm: m.scale}")
		in := r.plan.Sources[0].Schema
		if language == "" {
			r.natively = scaled(in)
		}
		e := &sumEncoder{amount: in.Column(1)}
		r.chunks, r.encode = 3, e
		r.run(t)
		const n = 3 * 256 // amounts from 1, and a row of 8 + 2 × 8 + 16 bytes each
		if e.sum != n*(n+1) || e.bytes != n*40 {
			t.Errorf("%q: a sum of %d in %d bytes", language, e.sum, e.bytes)
		}
	}
}

// BenchmarkMap is what a map costs as a guest: pairs of a guest and of a Go function in
// the same place, in turn, and medians. Run it with GOMAXPROCS=1.
func BenchmarkMap(b *testing.B) {
	for _, language := range []string{"c", "rust", "go"} {
		b.Run(language, func(b *testing.B) {
			guest := newEachRun(b, language, ", map: {wasm: m.scale}")
			native := newEachRun(b, language, ", map: {wasm: m.scale}")
			native.natively = scaled(native.plan.Sources[0].Schema)
			var took, over []float64
			for b.Loop() {
				n := native.run(b)
				g := guest.run(b)
				took, over = append(took, n), append(over, g-n)
			}
			slices.Sort(took)
			slices.Sort(over)
			b.ReportMetric(took[len(took)/2], "native-ns/record")
			b.ReportMetric(over[len(over)/2], "over-ns/record")
			b.ReportMetric(over[0], "over-least")
		})
	}
}

// BenchmarkEach has a step take each record by itself: a pass-through, a map and a filter in
// each language. Run it with GOMAXPROCS=1.
func BenchmarkEach(b *testing.B) {
	run := func(b *testing.B, language, step string) {
		r, took := newEachRun(b, language, step), []float64(nil)
		for b.Loop() {
			took = append(took, r.run(b))
		}
		slices.Sort(took)
		b.ReportMetric(took[len(took)/2], "user-ns/record")
	}
	b.Run("pass-through", func(b *testing.B) { run(b, "c", "") })
	for _, language := range []string{"c", "rust", "go"} {
		b.Run("map/"+language, func(b *testing.B) { run(b, language, ", map: {wasm: m.scale}") })
		b.Run("filter/"+language, func(b *testing.B) { run(b, language, ", filter: {wasm: m.positive}") })
	}
}

// nothing encodes rows as nothing.
type nothing struct{}

func (nothing) Append(dst []byte, _ stream.Row) []byte { return dst }
