package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
)

const enrichBenchJob = `
version: 1
name: bench
modules: {m: {file: ../../testdata/wasm/lookup-c.wasm}}
sources:
  in: {file: {path: in, format: SOURCE}, schema: {key: STRING}}
steps:
  found: {from: in, STEP}
sinks:
  out: {from: found, file: {path: out, format: SINK}}
`

// instantAsker answers at once.
type instantAsker struct{ answer connector.Answer }

func (a *instantAsker) Ask(_ connector.Request, done func(*connector.Answer)) { done(&a.answer) }
func (a *instantAsker) Close() error                                          { return nil }

// BenchmarkEnrich is what a record costs beside the server's time: two ops, a request
// and an answer in the queue; and what a record costs in formats of guests and our own.
func BenchmarkEnrich(b *testing.B) {
	const ask = `enrich: {wasm: m.lookup, with: {url: "https://s.example/"}, order: %s, capacity: %d, http: {allow: ["https://s.example/*"]}}`
	for _, c := range []struct{ name, source, step, sink string }{
		{"formats=json", "json", "changes: ignore", "json"},
		{"formats=wasm", "{wasm: m.line}", "changes: ignore", "json"},
		{"ordered-100", "json", fmt.Sprintf(ask, "ordered", 100), "json"},
		{"unordered-100", "json", fmt.Sprintf(ask, "unordered", 100), "json"},
		{"ordered-1000", "json", fmt.Sprintf(ask, "ordered", 1000), "json"},
		{"ordered-1000-wasm", "{wasm: m.line}", fmt.Sprintf(ask, "ordered", 1000), "{wasm: m.told}"},
	} {
		b.Run(c.name, func(b *testing.B) {
			text := strings.NewReplacer("SOURCE", c.source, "STEP", c.step, "SINK", c.sink).Replace(enrichBenchJob)
			plan := parsePlan(b, text, ".")
			var lines strings.Builder
			for i := range 1000 {
				if c.source == "json" {
					fmt.Fprintf(&lines, "{\"key\":\"key %d\"}\n", i)
				} else {
					fmt.Fprintf(&lines, "key %d\n", i)
				}
			}
			left := b.N
			config := benchConfig(b)
			config.Source = func(*job.Source) (connector.Source, error) {
				return newSource(func(c *connector.Chunk) error {
					if left <= 0 {
						return eof()
					}
					left -= 1000
					appendLines(c, lines.String())
					return nil
				}), nil
			}
			config.Asker = func(*job.Step) (connector.Asker, error) {
				return &instantAsker{connector.Answer{Status: 200, Body: []byte("1.08")}}, nil
			}
			j, err := runtime.New(plan, config)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			if err := j.Run(context.Background()); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			must(b, j.Close())
		})
	}
}
