package scenario_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/host/scenario"
)

func update(o *scenario.Options) { o.Update = true }

// TestUpdate rewrites scripts, and holds what comes out against another update
// and against a plain run.
func TestUpdate(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"all kinds of lines": {`# First.
want out {"k":"not due"}
emit in {"k":"b","v":1,"d":3} @1
emit in   {"k":"a","v":1,"d":1e7} @2
emit more {"k":"c","v":1,"d":-0.0001} @11

watermark more max
	watermark in 19
# Between.
want out  {"k":"a"}
want-watermark out ?
want-watermark  late   19
emit in {"k":"a","v":2} @3
want-late-dropped sums 5
want late -D {"nonsense":1}
emit in {"k":"z"}
want-error timestamp
`, `# First.
emit in {"k":"b","v":1,"d":3} @1
emit in   {"k":"a","v":1,"d":1e7} @2
emit more {"k":"c","v":1,"d":-0.0001} @11

watermark more max
	watermark in 19
want out {"k":"a","v":1,"d":1.0E7,"window_start":0,"window_end":10} @9
want out {"k":"b","v":1,"d":3.0,"window_start":0,"window_end":10} @9
want out {"k":"c","v":1,"d":-1.0E-4,"window_start":10,"window_end":20} @19
# Between.
want-watermark out 19
want-watermark  late   19
emit in {"k":"a","v":2} @3
want late {"k":"a","v":2,"d":null,"t":null} @3
want-late-dropped sums 1
emit in {"k":"z"}
want-error timestamp
`},
		"carriage returns": {"watermark in 9\r\nwatermark more 9\r\nemit in {\"k\":\"a\"} @1\r\n-- other --\nkept\r\n",
			"watermark in 9\r\nwatermark more 9\r\nemit in {\"k\":\"a\"} @1\r\nwant late {\"k\":\"a\",\"v\":null,\"d\":null,\"t\":null} @1\r\n-- other --\nkept\r\n"},
		"no end of the last line": {"watermark in 9\nemit in {\"k\":\"a\"} @1",
			"watermark in 9\nemit in {\"k\":\"a\"} @1\nwant late {\"k\":\"a\",\"v\":null,\"d\":null,\"t\":null} @1\n"},
		"an error that went away": {"checkpoint a\nrestart\nwant-error gap\nrestore a\n", "checkpoint a\nrestart\nrestore a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, c.script, update)
			if r.Outcome != scenario.Pass {
				t.Fatal(r)
			}
			got := strings.TrimPrefix(string(r.Updated), sumsJob)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			if r := run(t, got, update); r.Outcome != scenario.Pass || r.Updated != nil {
				t.Errorf("a second update: %v\n%s", r, r.Updated)
			}
			if r := run(t, got); r.Outcome != scenario.Pass {
				t.Error(r)
			}
		})
	}
}

// TestUpdateOrder has two sinks whose names sort otherwise than the job has them.
func TestUpdateOrder(t *testing.T) {
	const text = `-- job.yaml --
version: 1
name: order
sources: {in: {test: {}, schema: {k: STRING}}}
sinks: {z: {from: in, test: {}}, a: {from: in, test: {}}}
-- script --
emit in {"k":"x"}
emit in {"k":"y"} @5
`
	const want = `emit in {"k":"x"}
want z {"k":"x"}
want a {"k":"x"}
emit in {"k":"y"} @5
want z {"k":"y"} @5
want a {"k":"y"} @5
`
	o := options()
	o.Update = true
	r := parse(t, "a", []byte(text)).Run(o)
	if _, got, _ := strings.Cut(string(r.Updated), "-- script --\n"); got != want {
		t.Errorf("%v\ngot\n%s\nwant\n%s", r, got, want)
	}
}

// TestUpdateWritesErrors has an error in the words of the engine, since the
// script has none that fit.
func TestUpdateWritesErrors(t *testing.T) {
	r := run(t, "emit in {}\nwant-error gap\n", update)
	line := strings.TrimPrefix(string(r.Updated), sumsJob+"emit in {}\n")
	if r.Outcome != scenario.Pass || !strings.HasPrefix(line, "want-error step ") || strings.Count(line, "\n") != 1 {
		t.Fatalf("%v\n%s", r, r.Updated)
	}
	if r := run(t, "emit in {}\n"+line); r.Outcome != scenario.Pass {
		t.Error(r)
	}
	r = run(t, "emit in {}\nemit in {}\n", update)
	const want = `a.scenario:17: fail: the job has failed before this line, and only a restore may follow: `
	if !strings.HasPrefix(r.String(), want) || r.Updated != nil {
		t.Errorf("got  %v\nwant %s", r, want)
	}
}

// TestUpdateChangesNothing holds updates against what flink-oracle wrote.
func TestUpdateChangesNothing(t *testing.T) {
	for _, parallelism := range []int{1, 4} {
		o := options()
		o.Update, o.Parallelism = true, parallelism
		for _, path := range find(t, root) {
			text := read(t, path)
			if r := parse(t, path, text).Run(o); r.Outcome != scenario.Pass || r.Updated != nil {
				t.Errorf("%v (-file +updated):\n%s", r, cmp.Diff(string(text), string(r.Updated)))
			}
		}
	}
}

// FuzzUpdate has scripts of any text: none may crash or hang, what an update wrote
// passes, and another update leaves it alone.
func FuzzUpdate(f *testing.F) {
	for _, path := range find(f, root) {
		_, script, _ := strings.Cut(string(read(f, path)), "-- script --\n")
		f.Add(script)
	}
	o := options()
	f.Fuzz(func(t *testing.T, script string) {
		o.Update = true
		text := []byte(sumsJob + script)
		s, err := scenario.Parse("a", text)
		if err != nil {
			return
		}
		r := s.Run(o)
		if r.Outcome != scenario.Pass {
			return
		}
		if r.Updated != nil {
			text = r.Updated
		}
		if r := parse(t, "a", text).Run(o); r.Outcome != scenario.Pass || r.Updated != nil {
			t.Errorf("another update: %v\n%s", r, r.Updated)
		}
		o.Update = false
		if r := parse(t, "a", text).Run(o); r.Outcome != scenario.Pass {
			t.Error(r)
		}
	})
}
