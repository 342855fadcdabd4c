package runtime_test

import (
	"io"
	"math"
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

// BenchmarkEach has a step take each record by itself, in batches of 256: a pass-through,
// a map and a filter in each language. Run it with GOMAXPROCS=1.
func BenchmarkEach(b *testing.B) {
	run := func(b *testing.B, language, step string) {
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
		plan, records := parsePlan(b, text, "../../testdata/wasm"), int64(0)
		before := userTime(b)
		for b.Loop() {
			left := 4000
			c := with(b, newSource(func(c *connector.Chunk) error {
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
			c.Encoder = func(*job.Sink) (format.Encoder, error) { return nothing{}, nil }
			j, err := runtime.New(plan, c)
			must(b, err)
			must(b, j.Run(b.Context()))
			records += j.Progress().Records
			must(b, j.Close())
		}
		b.ReportMetric((userTime(b)-before).Seconds()*math.Pow10(9)/float64(records), "user-ns/record")
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
