package runtime_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
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

// formatManifest has a function that reads "k:n n n", a row for each n, and one that
// writes a row as "k=n".
const formatManifest = `{"functions": [
	{"name": "read", "role": "decode", "output": {"fields": [{"name": "n", "type": "BIGINT"}, {"name": "k", "type": "STRING"}, {"name": "origin", "type": "STRING"}]}},
	{"name": "write", "role": "encode", "input": {"fields": [{"name": "k", "type": "STRING"}, {"name": "n", "type": "BIGINT"}]}},
	{"name": "keep", "role": "filter", "input": {"fields": [{"name": "n", "type": "BIGINT"}]}}]}`

var (
	readRow  = schemaOf("n BIGINT", "k STRING", "origin STRING")
	writeRow = schemaOf("k STRING", "n BIGINT")
)

func schemaOf(columns ...string) *stream.Schema {
	var fields []stream.Field
	for _, c := range columns {
		name, text, _ := strings.Cut(c, " ")
		typ, _, err := stream.ParseColumnType(text)
		if err != nil {
			panic(err)
		}
		fields = append(fields, stream.Field{Name: name, Type: typ})
	}
	return stream.MustSchema(fields...)
}

// readGuest decodes. A value of "none" has no rows, without one there is one for the
// key; n of "null" is NULL.
func readGuest(o *guesttest.Op) {
	if o.Kind == abi.OpOpen {
		return
	}
	value, key := job.MessageSchema.Column(job.MessageValue), job.MessageSchema.Column(job.MessageKey)
	emit := func(k, n string) {
		w := stream.NewRowWriter(readRow)
		w.BeginIn(nil, stream.Insert)
		if n == "null" {
			w.SetNull(0)
		} else if v, err := strconv.ParseInt(n, 10, 64); err == nil {
			w.SetInt64(0, v)
		} else {
			o.Fail("%q is no number", n)
		}
		w.SetBytes(1, []byte(k))
		w.SetBytes(2, fmt.Append(nil, "at ", o.Time(), " of ", o.Clock()))
		o.Emit(0, w.Row())
	}
	switch {
	case value.IsNull(o.Row):
		emit(string(key.Bytes(o.Row)), "0")
	case string(value.Bytes(o.Row)) == "none":
	default:
		k, numbers, ok := strings.Cut(string(value.Bytes(o.Row)), ":")
		if !ok {
			o.Fail("%q has no colon", k)
		}
		for _, n := range strings.Split(numbers, " ") {
			emit(k, n)
		}
	}
}

// writeGuest encodes: n below 0 has no value, 13 has a line break, 14 fails.
func writeGuest(o *guesttest.Op) {
	if o.Kind == abi.OpOpen {
		return
	}
	k, n := writeRow.Column(0), writeRow.Column(1)
	w := stream.NewRowWriter(job.MessageSchema)
	w.BeginIn(nil, stream.Insert)
	switch v := n.Int64(o.Row); {
	case v < 0:
		w.SetNull(job.MessageValue)
	case v == 13:
		w.SetBytes(job.MessageValue, []byte("a\nb"))
	case v == 14:
		o.Fail("fourteen")
	default:
		w.SetBytes(job.MessageValue, fmt.Append(nil, string(k.Bytes(o.Row)), "=", v))
	}
	if n.Int64(o.Row) == 2 {
		w.SetNull(job.MessageKey)
	} else {
		w.SetBytes(job.MessageKey, append([]byte("key "), k.Bytes(o.Row)...))
	}
	o.Emit(0, w.Row())
}

// keepGuest lets all through.
func keepGuest(o *guesttest.Op) {
	if o.Kind != abi.OpOpen {
		o.Effect(abi.EffectKeep, 0, nil)
	}
}

func formatPlan(t testing.TB, text string) *job.Job { return parsePlanOf(t, text, formatManifest) }

// recordsSink keeps what is written to it.
type recordsSink struct {
	discard
	all []string // "key -> value"
}

func (s *recordsSink) Write(r *connector.Records) error {
	var value, key uint32
	for i, end := range r.Ends {
		text := strconv.Quote(string(r.Data[value : end-1]))
		if len(r.Deleted) > 0 && r.Deleted[i] {
			text = "nothing"
		}
		value = end
		if len(r.KeyEnds) > 0 {
			name := string(r.Keys[key:r.KeyEnds[i]])
			if len(r.NoKey) > 0 && r.NoKey[i] {
				name += "none"
			}
			text = name + " -> " + text
			key = r.KeyEnds[i]
		}
		s.all = append(s.all, text)
	}
	return nil
}

// runFormat runs a job over one chunk, or several.
func runFormat(t *testing.T, text string, batch int, chunks ...connector.Chunk) ([]string, int64, error) {
	t.Helper()
	sink := &recordsSink{}
	c := with(t, newSource(func(c *connector.Chunk) error {
		if len(chunks) == 0 {
			return io.EOF
		}
		*c, chunks = chunks[0], chunks[1:]
		return nil
	}), func(string) connector.Sink { return sink })
	c.Clock, c.Limits.BatchRows, c.Decoders = &manualClock{now: 7}, batch, 2
	c.Guest = func(*job.Function) (runtime.Guest, error) {
		return &guesttest.Instance{Functions: []guesttest.Function{readGuest, writeGuest, keepGuest}}, nil
	}
	j, err := runtime.New(formatPlan(t, text), c)
	must(t, err)
	defer func() { must(t, j.Close()) }()
	err = j.Drive(nil)
	return sink.all, j.Progress().Skipped, err
}

func linesChunk(text string) (c connector.Chunk) {
	appendLines(&c, text)
	c.Next = connector.Position{Offset: int64(len(text)), Record: int64(len(c.Ends))}
	return c
}

const linesJob = `
version: 1
name: lines
modules: {m: {file: m.wasm}}
sources:
  in: {file: {path: in, format: {wasm: m.read}}, schema: {k: STRING, n: BIGINT}, event-time: n, on-error: skip}
sinks:
  out: {from: in, file: {path: out, format: {wasm: m.write}}}
`

// TestLinesByFunctions: a line makes any number of rows, in the order of the lines; one
// that the function fails on, or of whose rows one has no event time, makes none.
func TestLinesByFunctions(t *testing.T) {
	const text = "a:1 2\r\nnone\nbad\nb:3 null 4\n\nc:x 5\nd:6\ne:7 8 9"
	for _, batch := range []int{1, 3, 100} {
		got, skipped, err := runFormat(t, linesJob, batch, linesChunk(text))
		must(t, err)
		if d := cmp.Diff([]string{`"a=1"`, `"a=2"`, `"d=6"`, `"e=7"`, `"e=8"`, `"e=9"`}, got); d != "" || skipped != 4 {
			t.Errorf("batch %d: %d skipped, want 4 (-want +got):\n%s", batch, skipped, d)
		}
	}
	_, _, err := runFormat(t, strings.Replace(linesJob, ", on-error: skip", "", 1), 100, linesChunk(text))
	var record *runtime.RecordError
	if !errors.As(err, &record) || record.Record != 2 || record.Offset != 12 || !strings.Contains(err.Error(), `source in: line 3: function read of module m`) || !strings.Contains(err.Error(), `"bad" has no colon`) {
		t.Errorf("%v", err)
	}
}

// TestLinesThatAreNone: what is no line cannot be written to a file, and a row that
// cannot be encoded fails the job.
func TestLinesThatAreNone(t *testing.T) {
	for line, want := range map[string]string{
		"a:1 13": "one line, and this one has a line break",
		"a:1 -1": "has a value, and this one is NULL",
		"a:1 14": "failed: fourteen",
	} {
		_, _, err := runFormat(t, linesJob, 100, linesChunk(line))
		var failed *runtime.FunctionError
		if !errors.As(err, &failed) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "sink out: function write of module m") || !strings.Contains(failed.Where, "the record ") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

const topicJob = `
version: 1
name: topics
modules: {m: {file: m.wasm}}
sources:
  in: {kafka: {brokers: ["h:1"], topics: [in], bounded: true, format: {wasm: m.read}, metadata: {place: offset, topic: topic}}, schema: {origin: STRING, k: STRING, n: BIGINT}}
sinks:
  out: {from: in, kafka: {brokers: ["h:1"], topic: out, format: SINK}}
`

// TestTopicsByFunctions: the function sees a record's key, value and time as they are,
// and gives key and value, or no value; metadata stands beside each of its rows.
func TestTopicsByFunctions(t *testing.T) {
	chunk := func() connector.Chunk {
		c := connector.Chunk{Split: "in-0", Topic: "in"}
		for i, value := range []string{"a:1 2\n", "", "b:3 -4"} {
			c.Data = append(c.Data, strings.TrimSuffix(value, "\n")...)
			c.Ends = append(c.Ends, uint32(len(c.Data)))
			c.Offsets = append(c.Offsets, int64(10+2*i))
			c.Meta = append(c.Meta, connector.Meta{Timestamp: int64(100 + i), Key: []byte{byte('x' + i)}, Null: value == ""})
		}
		c.Next = connector.Position{Offset: 15, Record: 3}
		return c
	}
	got, _, err := runFormat(t, strings.Replace(topicJob, "SINK", "{wasm: m.write}", 1), 100, chunk())
	must(t, err)
	if d := cmp.Diff([]string{`key a -> "a=1"`, `none -> "a=2"`, `key y -> "y=0"`, `key b -> "b=3"`, `key b -> nothing`}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	got, _, err = runFormat(t, strings.Replace(topicJob, "SINK", "json", 1), 100, chunk())
	must(t, err)
	var want []string
	for _, row := range []string{`100 a 1 10`, `100 a 2 10`, `101 y 0 12`, `102 b 3 14`, `102 b -4 14`} {
		f := strings.Fields(row)
		want = append(want, strconv.Quote(fmt.Sprintf(`{"origin":"at %s of 7","k":%q,"n":%s,"place":%s,"topic":"in"}`, f[0], f[1], f[2], f[3])))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("metadata (-want +got):\n%s", d)
	}
	keyed := strings.Replace(strings.Replace(topicJob, "SINK", "{wasm: m.write}, key: [k], key-format: raw", 1), "place: offset, ", "", 1)
	got, _, err = runFormat(t, keyed, 100, chunk())
	must(t, err)
	if !bytes.Equal([]byte(strings.Join(got, " ")), []byte(`a -> "a=1" a -> "a=2" y -> "y=0" b -> "b=3" b -> nothing`)) {
		t.Errorf("with the job's own key: %q", got)
	}
}

// TestMetadataIsLimited: what stands beside a function's rows counts with them for the limit
// of what it puts out, and what they were read from does not, whoever wants to know it.
func TestMetadataIsLimited(t *testing.T) {
	const text = `
version: 1
name: topics
modules: {m: {file: m.wasm}}
limits: {output: 64KiB}
sources:
  in: {kafka: {brokers: ["h:1"], topics: [in], bounded: true, format: {wasm: m.read}, metadata: {topic: topic}}, schema: {k: STRING, n: BIGINT}, on-error: skip}
steps:
  kept: {from: in, filter: {wasm: m.keep}, on-fault: dead-letter}
sinks:
  out: {from: kept, file: {path: out, format: json}}
  failed: {from: kept.failed, file: {path: failed, format: json}}
`
	for _, c := range []struct{ key, topic, rows, kept int }{{40 << 10, 1, 1, 1}, {15 << 10, 1, 4, 4}, {40 << 10, 30 << 10, 1, 0}, {1, 30 << 10, 3, 0}} {
		chunk := linesChunk(strings.Repeat("k", c.key) + ":1" + strings.Repeat(" 2", c.rows-1))
		chunk.Topic, chunk.Offsets = strings.Repeat("t", c.topic), []int64{0}
		chunk.Meta = []connector.Meta{{}}
		got, skipped, err := runFormat(t, text, 100, chunk)
		must(t, err)
		if len(got) != c.kept || (skipped > 0) != (c.kept == 0) {
			t.Errorf("%d rows with a key of %d bytes beside a topic of %d: %d are there, and %d records are skipped; want %d rows", c.rows, c.key, c.topic, len(got), skipped, c.kept)
		}
	}
}
