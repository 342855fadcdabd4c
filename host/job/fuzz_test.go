package job

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/stream"
)

// fuzzManifest is that of every module in fuzzed jobs.
const fuzzManifest = `{"functions": [{"name": "f", "role": "aggregate", "input": {"fields": [{"name": "v", "type": "BIGINT"}]},
	"accumulator": {"fields": [{"name": "n", "type": "BIGINT"}]}, "output": {"fields": [{"name": "n", "type": "BIGINT"}]},
	"parameters": [{"name": "p", "type": "DOUBLE", "default": "1"}]}]}`

func fuzzOptions(test bool) Options {
	return Options{File: "f", Dir: "/d", Test: test,
		Getenv: func(name string) (string, bool) { return name, name != "UNSET" },
		Manifest: func(Module) (*abi.Manifest, error) {
			return abi.ParseManifestJSON([]byte(fuzzManifest))
		}}
}

// FuzzParse holds invariants A and L: any text ends in a plan whose columns are
// in range, or in problems.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range files {
		a, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, s := range a.Files {
			if s.Name == "job.yaml" {
				f.Add(s.Data, true)
				f.Add(s.Data, false)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, test bool) {
		checkParse(t, text, test)
	})
}

func checkParse(t *testing.T, text []byte, test bool) {
	t.Helper()
	j, err := Parse(text, fuzzOptions(test))
	var problems Problems
	switch {
	case err == nil:
		checkPlan(t, j)
	case !errors.As(err, &problems) || len(problems) == 0 || len(problems) > ProblemsMax || j != nil:
		t.Fatalf("error %v, plan %v", err, j)
	}
}

// checkPlan panics where a column or a schema does not fit: String reads them all.
func checkPlan(t *testing.T, j *Job) {
	t.Helper()
	if j.String() == "" || j.Name == "" || len(j.Sources) == 0 || len(j.Sinks) == 0 {
		t.Fatal("an empty plan")
	}
	known := map[StreamRef]string{}
	for _, s := range j.Sources {
		checkSource(t, s)
		known[StreamRef{Name: s.Name}] = s.Output.String()
		if s.OnError == DeadLetter {
			known[StreamRef{s.Name, "failed"}] = FailedSchema.String()
		}
	}
	reads := func(what string, refs []StreamRef, input *stream.Schema) {
		for _, r := range refs {
			if known[r] != input.String() {
				t.Fatalf("%s reads %s of %s as %s", what, r, known[r], input)
			}
		}
	}
	for _, s := range j.Steps {
		reads("step "+s.Name, s.From, s.Input)
		known[StreamRef{Name: s.Name}] = s.Output.String()
		if s.OnFault == DeadLetter {
			known[StreamRef{s.Name, "failed"}] = FailedSchema.String()
		}
		for _, f := range s.Functions {
			for _, o := range f.Outputs[min(1, len(f.Outputs)):] {
				known[StreamRef{s.Name, o.Name}] = o.Schema.String()
			}
		}
		checkEach(t, s)
		if s.Window != nil {
			checkOptions(t, s, &s.Window.Options)
		} else if s.WindowJoin != nil {
			checkOptions(t, s, &s.WindowJoin.Options)
		}
		if s.Window != nil && s.Window.LateOutput != "" {
			known[StreamRef{s.Name, s.Window.LateOutput}] = late(s).String()
		}
		checkJoin(t, s)
		for _, side := range s.Sides() {
			reads("a side of "+s.Name, side.From, side.Input)
			if side.LateOutput != "" {
				known[StreamRef{s.Name, side.LateOutput}] = side.Input.String()
			}
		}
	}
	for _, s := range j.Sinks {
		reads("sink "+s.Name, s.From, s.Input)
		if k := s.Connector.KafkaSink; k != nil {
			checkKafkaSink(t, s, k, j.Checkpoint)
		}
	}
}

// late is the schema of a step's late output.
func late(s *Step) *stream.Schema {
	all := make([]int, s.Input.Len()-s.Computed)
	for i := range all {
		all[i] = i
	}
	return s.Input.Project(all)
}

// checkEach: the columns that a function takes are those that it was bound to.
func checkEach(t *testing.T, s *Step) {
	t.Helper()
	f := s.Each
	if f == nil {
		return
	}
	for i, c := range f.Inputs[0].Columns {
		if got, want := s.Input.Fields()[c], f.Inputs[0].Schema.Fields()[i]; got.Name != want.Name || !got.Type.Equal(want.Type) {
			t.Fatalf("step %s: %s takes %s and is given %s", s.Name, f.Name, want.Name, got.Name)
		}
	}
	if f.Role != "key" {
		return
	}
	for i, c := range s.Pass {
		if got, want := s.Output.Fields()[i], s.Input.Fields()[c]; got.Name != want.Name {
			t.Fatalf("step %s passes %s on as %s", s.Name, want.Name, got.Name)
		}
	}
	if s.Output.Len() != len(s.Pass)+f.Result().Len() {
		t.Fatalf("step %s puts out %s, and passes %d columns on", s.Name, s.Output, len(s.Pass))
	}
}

// checkSource: what is decoded comes first, what is known of the record behind it.
func checkSource(t *testing.T, s *Source) {
	t.Helper()
	for i, f := range s.Output.Fields() {
		if at := s.Value.Len(); i < at {
			if s.Value.Fields()[i].Name != f.Name || s.Schema.Index(f.Name) < 0 {
				t.Fatalf("source %s: %s of %s is not as decoded, %s of %s", s.Name, f.Name, s.Output, s.Value, s.Schema)
			}
		} else if m := s.Metadata[i-at]; m.Column != i || s.Schema.Index(f.Name) >= 0 {
			t.Fatalf("source %s: %s of %s is not its column %d, the %s", s.Name, f.Name, s.Output, m.Column, m.Kind)
		}
	}
	times := 0
	for _, is := range []bool{s.EventTime >= 0, s.IngestionTime, s.RecordTime} {
		if is {
			times++
		}
	}
	if k := s.Connector.KafkaSource; times > 1 || k != nil && (times == 0 || len(k.Brokers) == 0 || (k.Topics == nil) == (k.TopicPattern == nil)) {
		t.Fatalf("source %s: %d times, %v", s.Name, times, k)
	}
}

func checkKafkaSink(t *testing.T, s *Sink, k *KafkaSink, c *Checkpoint) {
	t.Helper()
	exactly := k.Delivery == ExactlyOnce
	if exactly && (c == nil || k.TransactionTimeout <= c.Interval) || exactly != (k.TransactionalIDPrefix != "") || exactly != (k.TransactionTimeout > 0) {
		t.Fatalf("sink %s: %+v with %+v", s.Name, k, c)
	}
	if s.Changing && k.Mode == AppendMode || k.Mode == UpsertMode && len(k.Key) == 0 || k.KeyFormat == RawKey && len(k.Key) != 1 {
		t.Fatalf("sink %s: %+v", s.Name, k)
	}
	if k.Partition >= 0 && s.Input.Fields()[k.Partition].Type.Kind != stream.Int {
		t.Fatalf("sink %s: partition %d of %s", s.Name, k.Partition, s.Input)
	}
}

// checkJoin: a join's output is the columns that its sides say, and its keys can
// be compared.
func checkJoin(t *testing.T, s *Step) {
	t.Helper()
	sides := s.Sides()
	if sides == nil {
		return
	}
	left, right := sides[0], sides[1]
	types := func(side *Side) (list []string) {
		for _, column := range side.Key {
			list = append(list, side.Input.Fields()[column].Type.String())
		}
		return list
	}
	isBroadcast := s.Process != nil && s.Process.Broadcast
	if l, r := types(left), types(right); len(l) == 0 || !slices.Equal(l, r) && !isBroadcast || isBroadcast && len(r) > 0 {
		t.Fatalf("step %s: keys of %v and %v", s.Name, l, r)
	}
	if s.Process != nil {
		return // what it puts out is the function's to say
	}
	var want []string
	for i, side := range sides {
		for _, name := range side.Input.Project(side.Output).Names() {
			want = append(want, []string{"left_", "right_"}[i]+name)
		}
	}
	if s.WindowJoin != nil {
		want = append(want, "window_start", "window_end")
	}
	if !slices.Equal(want, s.Output.Names()) {
		t.Fatalf("step %s puts out %s, and its sides say %v", s.Name, s.Output, want)
	}
}

// checkOptions: what Parse lets through, the core takes.
func checkOptions(t *testing.T, s *Step, o *window.Options) {
	t.Helper()
	if err := o.Validate(); err != nil {
		t.Fatalf("step %s: %v", s.Name, err)
	}
}

// TestHostileTexts are what would take long if a limit did not hold.
func TestHostileTexts(t *testing.T) {
	repeat := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	const head = "version: 1\nname: j\nsources:\n  in: {test: {}, schema: {k: STRING, v: BIGINT}}\nsinks:\n  out: {from: in, test: {}}\n"
	texts := map[string]string{
		"too long":         strings.Repeat("#", TextBytesMax+1),
		"not UTF-8":        "version: 1\nname: \"ab\xff\"\n",
		"deep flow":        strings.Repeat("[", 10_000),
		"deep list":        strings.Repeat("- ", 10_000),
		"deep mapping":     repeat(1000, "%[1]*[1]s: \n"),
		"tags":             strings.Repeat("!a ", 20_000),
		"anchors":          strings.Repeat("&a ", 12_000),
		"one key":          strings.Repeat("a: b\n", 7_000),
		"unknown fields":   repeat(5_000, "field-that-is-not-there-%d: b\n"),
		"too many words":   "a: [" + strings.Repeat("b,", 40_000) + "]",
		"aliases":          "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + aliases(40),
		"unknown refs":     head + "steps:\n" + repeat(4000, "  abcdefghijklmnopqrstuvwxyzabcdefghijklm%d: {from: abcdefghijklmnopqrstuvwxyzabcdefghijklx}\n"),
		"a chain":          head + "steps:\n  s0: {from: in}\n" + chain(4000),
		"a long circle":    head + "steps:\n  s0: {from: s4000}\n" + chain(4000),
		"wide unions":      head + "steps:\n  s: {from: [" + repeat(8_000, "a%d,") + "]}\n",
		"many columns":     "version: 1\nname: j\nsources:\n  a: {test: {}, schema: &s {" + repeat(ColumnsMax, "c%d: INT,") + "}}\n  b: {test: {}, schema: *s}\nsteps:\n" + repeat(1000, "  s%d: {from: [a, b]}\n") + "sinks:\n  out: {from: s7, test: {}}\n",
		"joins of joins":   "version: 1\nname: j\nsources:\n  s0: {test: {}, schema: {k: STRING, v: BIGINT}}\nsteps:\n" + joins(700) + "sinks:\n  out: {from: s7, test: {}}\n",
		"wide joins":       "version: 1\nname: j\nsources:\n  a: {test: {}, schema: &s {" + repeat(ColumnsMax/2, "c%d: INT,") + "}}\n  b: {test: {}, schema: *s}\nsteps:\n" + repeat(600, "  s%d: {interval-join: {left: a, right: b, left-key: [c0], right-key: [c0], lower: 0s, upper: 0s}}\n") + "sinks:\n  out: {from: s7, test: {}}\n",
		"many sources":     "version: 1\nname: j\nsources:\n" + repeat(600, "  s%d: {file: {path: a, format: json}, schema: {k: STRING}, ingestion-time: true}\n") + "steps:\n" + unions(12, 600) + "sinks:\n  out: {from: u7, file: {path: o, format: json}}\n",
		"deep triggers":    head + "steps:\n  s: {from: in, key-by: [k], window: {global: {}, trigger: " + strings.Repeat("{purging: ", 60) + "never" + strings.Repeat("}", 60) + "}, aggregate: {n: count}}\n",
		"many folders":     "version: 1\nname: j\ncheckpoint: {dir: state}\nsources:\n  in: {file: {path: a, format: json}, schema: {k: STRING}}\nsinks:\n" + repeat(1000, "  o%d: {from: in, file: {path: o%[1]d, format: json, rolling: {}}}\n"),
		"many prefixes":    "version: 1\nname: j\ncheckpoint: {dir: state}\nsources:\n  in: {file: {path: a, format: json}, schema: {k: STRING}}\nsinks:\n" + repeat(600, "  o%d: {from: in, kafka: {brokers: [\"h:1\"], topic: t, format: json, delivery: exactly-once, transactional-id-prefix: "+strings.Repeat("/", PrefixBytesMax-4)+"%[1]d}}\n"),
		"slow patterns":    "version: 1\nname: j\nsources:\n" + repeat(1000, "  s%d: {kafka: {brokers: [\"h:1\"], topic-pattern: \""+strings.Repeat("(a?){1000}", PatternBytesMax/10-1)+"%[1]d\", format: json}, schema: {k: STRING}}\n") + "sinks:\n  out: {from: s7, file: {path: o, format: json}}\n",
		"one slow pattern": "version: 1\nname: j\nsources:\n  s: &s {kafka: {brokers: [\"h:1\"], topic-pattern: \"" + strings.Repeat("(a?){1000}", PatternBytesMax/10) + "\", format: json}, schema: {k: STRING}}\n" + repeat(4000, "  s%d: *s\n") + "sinks:\n  out: {from: s7, file: {path: o, format: json}}\n",
		"too many columns": "version: 1\nname: j\nsources:\n  a: {test: {}, schema: {" + repeat(ColumnsMax+1, "c%d: INT,") + "}}\nsinks:\n  out: {from: a, test: {}}\n",
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			checkParse(t, []byte(text), true)
			checkParse(t, []byte(text), false)
			if d := time.Since(start); d > time.Minute { // what is not bounded takes hours
				t.Errorf("took %v", d)
			} else if d > 300*time.Millisecond {
				t.Logf("took %v", d)
			}
		})
	}
}

func aliases(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	return b.String()
}

func chain(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "  s%d: {from: s%d}\n", i, i-1)
	}
	return b.String()
}

func joins(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "  s%d: {interval-join: {left: s%d, right: s0, left-key: [%[3]sk], right-key: [k], lower: 0s, upper: 0s}}\n", i, i-1, strings.Repeat("left_", i-1))
	}
	return b.String()
}

func unions(steps, sources int) string {
	var b strings.Builder
	for i := range steps {
		fmt.Fprintf(&b, "  u%d: {from: [", i)
		for j := range sources {
			fmt.Fprintf(&b, "s%d,", j)
		}
		b.WriteString("]}\n")
	}
	return b.String()
}
