package runtime_test

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/stream"
)

const stampedJob = `
version: 1
name: stamped
modules: {m: {file: m.wasm}}
sources:
  in:
    file: {path: in, format: json}
    schema: {text: STRING, v: BIGINT}
    event-time: {wasm: m.when}
    watermark: {emit: punctuated}
    on-error: dead-letter
steps:
  counts: {from: in, key-by: [text], window: {tumbling: {size: 10s}, late-output: late}, aggregate: {n: count, last: max(v)}}
sinks:
  out: {from: counts, file: {path: out, format: json}}
  late: {from: counts.late, file: {path: late, format: json}}
  failed: {from: in.failed, file: {path: failed, format: json}}
`

const stampedManifest = `{"functions": [{"name": "when", "role": "timestamp", "input": {"fields": [{"name": "v", "type": "BIGINT"}]}}]}`

// whenGuest: v is seconds. One of 13 has none, one below 0 fails, and behind full tens
// time has come as far.
func whenGuest(o *guesttest.Op) {
	if o.Kind == abi.OpOpen {
		return
	}
	c := stream.MustSchema(stream.Field{Name: "v", Type: stream.Type{Kind: stream.BigInt}}).Column(0)
	switch v := c.Int64(o.Row); {
	case v < 0:
		o.Fail("%d is before time", v)
	case v == 13:
		o.EventTime(int64(stream.MinTime))
	default:
		o.EventTime(1000 * v)
		if v%10 == 0 {
			o.PutWatermark(1000*v - 1)
		}
	}
}

// TestTimesByFunctions: event times, watermarks among the records and what becomes of
// records without a time, whatever batches they come in.
func TestTimesByFunctions(t *testing.T) {
	lines := []string{`{"v":1}`, `{"v":-1}`, `{"v":5}`, `{"v":}`, `{"v":10}`, `{"v":2}`, `{"v":13}`, `{"v":19}`, `{"v":30}`, `{"v":20}`, `{"v":31}`, `{"v":29}`}
	for _, batch := range []int{1, 2, 5, 100} {
		for _, decoders := range []int{1, 3} {
			chunks := []connector.Chunk{linesChunk(strings.Join(lines, "\n") + "\n")}
			sinks := map[string]*recordsSink{}
			c := with(t, newSource(func(c *connector.Chunk) error {
				if len(chunks) == 0 {
					return io.EOF
				}
				*c, chunks = chunks[0], chunks[1:]
				return nil
			}), func(name string) connector.Sink {
				sinks[name] = &recordsSink{}
				return sinks[name]
			})
			c.Clock, c.Limits.BatchRows, c.Decoders = &manualClock{now: 7}, batch, decoders
			c.Guest = func(*job.Function) (runtime.Guest, error) {
				return &guesttest.Instance{Functions: []guesttest.Function{whenGuest}}, nil
			}
			plan := parsePlanOf(t, stampedJob, stampedManifest)
			j, err := runtime.New(plan, c)
			must(t, err)
			must(t, j.Drive(nil))
			must(t, j.Close())
			check := func(sink string, want ...string) {
				t.Helper()
				var got []string
				for _, line := range sinks[sink].all {
					got = append(got, strings.ReplaceAll(strings.Trim(line, `"`), `\"`, `"`))
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("batch %d, %d decoders, %s (-want +got):\n%s", batch, decoders, sink, d)
				}
			}
			check("out",
				`{"text":null,"n":2,"last":5,"window_start":0,"window_end":10000}`,
				`{"text":null,"n":2,"last":19,"window_start":10000,"window_end":20000}`,
				`{"text":null,"n":2,"last":31,"window_start":30000,"window_end":40000}`)
			check("late", `{"text":null,"v":2}`, `{"text":null,"v":20}`, `{"text":null,"v":29}`)
			failed := sinks["failed"].all
			for i, want := range [][]string{
				{`"position":"source in, line 2, byte 8"`, `"reason":"failed"`, `"message":"-1 is before time"`, `"function":"m.when"`, `"record":"eyJ2IjotMX0="`, `"original":"eyJ2IjotMX0="`},
				{`"position":"source in, line 4, byte 25"`, `"reason":"undecodable"`, `"function":null`, `"record":"eyJ2Ijp9"`},
				{`"position":"source in, line 7, byte 49"`, `"reason":"undecodable"`, `"message":"function when of module m: it says the least`, `"function":"m.when"`, `"record":"eyJ2IjoxM30="`},
			} {
				ok := len(failed) == 3
				for _, text := range want {
					// Of one batch, those that cannot be decoded come before those without a time.
					ok = ok && slices.ContainsFunc(failed, func(line string) bool { return strings.Contains(strings.ReplaceAll(line, `\"`, `"`), text) })
				}
				if !ok {
					t.Errorf("batch %d: dead letters %q, of which one has %q (%d)", batch, failed, want, i)
				}
			}
			var asking []int
			for _, f := range j.Metrics().Functions {
				if f.Kind != runtime.DecoderTask || f.Name != "in" || f.Instances != 1 {
					t.Errorf("a function of %s %s has %d instances", f.Kind, f.Name, f.Instances)
				}
				asking = append(asking, f.Task)
			}
			if d := cmp.Diff([]int{0, 1, 2}[:decoders], asking); d != "" {
				t.Errorf("%d decoders, those that ask (-want +got):\n%s", decoders, d)
			}
			if n := j.Progress().Skipped; n != 3 {
				t.Errorf("%d skipped, want 3", n)
			}
		}
	}
}
