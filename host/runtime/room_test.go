package runtime_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/stream"
)

// largeManifest has a function of each role that puts rows out.
const largeManifest = `{"functions": [
	{"name": "all", "role": "filter", "input": $IN}, {"name": "map", "role": "map", "input": $IN, "output": $OUT}, {"name": "flat-map", "role": "flat-map", "input": $IN, "output": $OUT},
	{"name": "aggregate", "role": "aggregate", "input": $IN, "accumulator": {"fields": [{"name": "n", "type": "BIGINT"}]}, "output": $OUT},
	{"name": "apply", "role": "apply", "input": $IN, "output": $OUT}, {"name": "process", "role": "process", "input": $IN, "output": $OUT},
	{"name": "co-process", "role": "co-process", "input": $IN, "secondInput": $IN, "output": $OUT},
	{"name": "broadcast-process", "role": "broadcast-process", "input": $IN, "secondInput": $IN, "output": $OUT},
	{"name": "join", "role": "join", "input": $IN, "secondInput": $IN, "output": $OUT}, {"name": "co-group", "role": "co-group", "input": $IN, "secondInput": $IN, "output": $OUT},
	{"name": "trigger", "role": "trigger", "input": $IN},
	{"name": "text", "role": "aggregate", "input": $IN, "accumulator": $OUT, "output": {"fields": [{"name": "n", "type": "BIGINT"}]}},
	{"name": "decode", "role": "decode", "output": $WHOLE}, {"name": "encode", "role": "encode", "input": $IN}, {"name": "timestamp", "role": "timestamp", "input": $IN}]}`

var largeFields = strings.NewReplacer(
	"$IN", `{"fields": [{"name": "k", "type": "BIGINT"}]}`, "$OUT", `{"fields": [{"name": "s", "type": "STRING"}]}`,
	"$WHOLE", `{"fields": [{"name": "k", "type": "BIGINT"}, {"name": "t", "type": "BIGINT"}, {"name": "s", "type": "STRING"}]}`)

const largeJob = `
version: 1
name: large
modules: {m: {file: m.wasm}}
sources:
  in: {file: {path: in, format: DECODE}, schema: {k: BIGINT, t: BIGINT, s: STRING}, event-time: TIME, watermark: {strategy: none}}
  other: {file: {path: other, format: json}, schema: {k: BIGINT, t: BIGINT, s: STRING}, event-time: TIME, watermark: {strategy: none}}
steps:
  s: %s
sinks:
  out: {from: s, file: {path: out, format: ENCODE}}
`

const (
	largeOps = 600 // of a batch
	largeRow = 16 << 10
	// largeMax is how many of those rows may be on their way to a sink's writer: in two
	// pipes of four batches or blocks, and in the two tasks before them, of 256 KiB each
	// and what one call may answer.
	largeMax = 2 * 5 * 18
)

// largeGuest answers each op by a large row, and fails frames of more than one op: what
// it answers to one frame is bounded, and to a batch it is not.
type largeGuest struct {
	*guesttest.Instance
	run *largeRun
}

// largeRun counts the rows that were answered and those that were written.
type largeRun struct{ answered, written, most int }

func (g largeGuest) Call(function, pointer uint32, length int) ([]byte, error) {
	effects, err := g.Instance.Call(function, pointer, length)
	if err == nil && len(effects) > largeRow {
		g.run.answered++
		g.run.most = max(g.run.most, g.run.answered-g.run.written)
	}
	return effects, err
}

// largeSink counts what is written.
type largeSink struct {
	discard
	run *largeRun
}

func (s largeSink) Write(r *connector.Records) error {
	s.run.written += r.Len()
	return nil
}

// largeRowOf is a row whose column s, or value, is large, and whose others are 1 or NULL.
func largeRowOf(s *stream.Schema) stream.Row { return rowOf(s, largeRow) }

func rowOf(s *stream.Schema, size int) stream.Row {
	w := stream.NewRowWriter(s)
	w.BeginIn(nil, stream.Insert)
	for i, f := range s.Fields() {
		switch {
		case f.Name == "s" || f.Name == "value":
			w.SetBytes(i, bytes.Repeat([]byte("x"), size))
		case f.Type.Kind == stream.BigInt:
			w.SetInt64(i, 1)
		default:
			w.SetNull(i)
		}
	}
	return w.Row()
}

// smallText is an accumulator of the function text.
var smallText = func() stream.Row {
	w := stream.NewRowWriter(schemaOf("s STRING"))
	w.BeginIn(nil, stream.Insert)
	w.SetBytes(0, nil)
	return w.Row()
}()

// answerLarge answers an op of a function.
func answerLarge(f *job.Function) guesttest.Function { return answer(f, largeRow) }

func answer(f *job.Function, size int) guesttest.Function {
	var row stream.Row
	switch f.Role {
	case abi.RoleFilter, abi.RoleTrigger:
	case abi.RoleEncode:
		row = rowOf(job.MessageSchema, size)
	case abi.RoleTimestamp:
		return func(o *guesttest.Op) {
			if o.Kind == abi.OpOnRecord {
				o.EventTime(1)
			}
		}
	default:
		row = rowOf(f.Result(), size)
	}
	return func(o *guesttest.Op) {
		switch o.Kind {
		case abi.OpAdd:
			if f.Name == "text" {
				o.SetState(0, largeRowOf(f.Accumulator))
			}
		case abi.OpCreate:
			if f.Name == "text" {
				o.SetState(0, smallText)
			}
		case abi.OpOnElement:
			for range 10 {
				o.DeleteTimer(0, 1)
			}
			o.Effect(abi.EffectDecide, 0, nil)
		case abi.OpOpen, abi.OpClear:
		case abi.OpOnRecord:
			if row == nil {
				o.Effect(abi.EffectKeep, 0, nil)
				return
			}
			o.Emit(0, row)
		default:
			o.Emit(0, row)
		}
	}
}

// TestLargeAnswers: what a function answers to the ops of a batch, each as much as a call
// may, is handed on while it is asked, whatever its role: what waits in memory does not
// grow with the batch.
func TestLargeAnswers(t *testing.T) {
	for role, step := range largeSteps {
		t.Run(role, func(t *testing.T) {
			run := &largeRun{}
			must(t, runLarge(t, role, step, largeLines(), run))
			if run.answered < largeOps {
				t.Errorf("%d rows were answered, of %d", run.answered, largeOps)
			}
			if run.most > largeMax {
				t.Errorf("%d rows of %d bytes waited at one time, want at most %d", run.most, largeRow, largeMax)
			}
			if run.written < largeOps {
				t.Errorf("%d rows were written, of %d", run.written, largeOps)
			}
		})
	}
}

// largeSteps are the steps of largeJob, by role.
var largeSteps = map[string]string{
	"map":               "{from: in, map: {wasm: m.map}}",
	"flat-map":          "{from: in, flat-map: {wasm: m.flat-map}}",
	"aggregate":         "{from: in, key-by: [k], window: {tumbling: {size: 10ms}}, aggregate: {wasm: m.aggregate}}",
	"apply":             "{from: in, key-by: [k], window: {tumbling: {size: 10ms}}, apply: {wasm: m.apply}}",
	"process":           "{from: in, key-by: [k], process: {wasm: m.process}}",
	"co-process":        "{co-process: {left: in, right: other, left-key: [k], right-key: [k], function: {wasm: m.co-process}}}",
	"broadcast-process": "{from: in, key-by: [k], broadcast-process: {broadcast: other, function: {wasm: m.broadcast-process}}}",
	"join":              "{interval-join: {left: in, right: other, left-key: [k], right-key: [k], lower: -10ms, upper: 10ms, join: {wasm: m.join}}}",
	"window join":       "{window-join: {left: in, right: other, left-key: [k], right-key: [k], join: {wasm: m.join}}, window: {tumbling: {size: 10ms}}}",
	"co-group":          "{co-group: {left: in, right: other, left-key: [k], right-key: [k], function: {wasm: m.co-group}}, window: {tumbling: {size: 10ms}}}",
	"decode":            "{from: in, filter: {wasm: m.all}}",
	"encode":            "{from: in, filter: {wasm: m.all}}",
}

// TestWhatWaitsIsLimited: what functions make the host keep until the end of a batch is
// held to the limits of the state.
func TestWhatWaitsIsLimited(t *testing.T) {
	twice := largeLines() + largeLines()
	for name, c := range map[string]struct{ step, lines, want string }{
		"timers that a trigger deletes": {
			"{from: in, key-by: [k], window: {tumbling: {size: 10ms}, trigger: {wasm: m.trigger}}, aggregate: {n: count}, limits: {timers: 4000}}",
			largeLines(), "timers in one task, and its limit is 4000",
		},
		"accumulators that are gone": {
			"{from: in, key-by: [k], window: {global: {}, trigger: {purging: {count: 2}}}, aggregate: {wasm: m.text}, limits: {state: 4MiB}}",
			twice, "bytes of state in one task, and its limit is 4194304",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := runLarge(t, "", c.step, c.lines, &largeRun{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it ended by %v, want %q", err, c.want)
			}
		})
	}
}

// largePlan is largeJob with a step; roles of sources and sinks are of those.
func largePlan(t *testing.T, role, step string) *job.Job {
	decode, encode, time := "json", "json", "t"
	switch role {
	case "decode":
		decode = "{wasm: m.decode}"
	case "encode":
		encode = "{wasm: m.encode}"
	case "timestamp":
		time = "{wasm: m.timestamp}"
	}
	text := strings.NewReplacer("DECODE", decode, "ENCODE", encode, "TIME", time).Replace(fmt.Sprintf(largeJob, step))
	return parsePlanOf(t, text, largeFields.Replace(largeManifest))
}

// runLarge runs a step over a batch of records.
func runLarge(t *testing.T, role, step, lines string, run *largeRun) error {
	t.Helper()
	plan := largePlan(t, role, step)
	c := config(t, nil)
	c.Limits = runtime.Limits{BatchRows: 2 * largeOps}
	c.Sink = func(*job.Sink) (connector.Sink, error) { return largeSink{run: run}, nil }
	c.Source = func(s *job.Source) (connector.Source, error) {
		return linesThen(lines, func() error { return io.EOF }), nil
	}
	c.Guest = func(f *job.Function) (runtime.Guest, error) {
		functions := make([]guesttest.Function, f.Index+1)
		functions[f.Index] = answerLarge(f)
		return largeGuest{&guesttest.Instance{Functions: functions, EffectsMax: largeRow + 200}, run}, nil
	}
	j, err := runtime.New(plan, c)
	must(t, err)
	err = j.Drive(nil)
	must(t, j.Close())
	return err
}

// largeLines are records that are small, all of one batch.
func largeLines() string {
	var b bytes.Buffer
	for i := range largeOps {
		fmt.Fprintf(&b, `{"k":%d,"t":1}`+"\n", i)
	}
	return b.String()
}
