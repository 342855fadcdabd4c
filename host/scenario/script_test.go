package scenario_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/host/scenario"
)

// sumsJob is the job of most tests here; scriptLine is the line of its script's
// first line.
const (
	sumsJob = `Sums in windows of 10 ms.
-- job.yaml --
version: 1
name: sums
sources:
  in: {test: {}, schema: {k: STRING, v: BIGINT, d: DOUBLE, t: TIMESTAMP(3)}, event-time: t}
  more: {kafka: {brokers: ["127.0.0.1:9"], topics: [none], format: json}, schema: {k: STRING, v: BIGINT, d: DOUBLE, t: TIMESTAMP(3)}}
steps:
  all: {from: [in, more]}
  sums: {from: all, key-by: [k], window: {tumbling: {size: 10ms}}, aggregate: {v: sum(v), d: max(d)}}
  late: {from: in, key-by: [k], window: {tumbling: {size: 10ms}, late-output: late}, aggregate: {n: count}}
sinks:
  out: {from: sums, test: {}}
  late: {from: late.late, test: {}}
-- script --
`
	scriptLine = 16
)

// run runs a script on the job of sums.
func run(t *testing.T, script string, change ...func(*scenario.Options)) scenario.Result {
	t.Helper()
	o := options()
	for _, c := range change {
		c(&o)
	}
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	return parse(t, "a.scenario", []byte(sumsJob+script)).Run(o)
}

// every are options that may not matter.
func every(t *testing.T, f func(t *testing.T, change func(*scenario.Options))) {
	for name, change := range map[string]func(*scenario.Options){
		"plain":           func(*scenario.Options) {},
		"batch 2":         func(o *scenario.Options) { o.Batch = 2 },
		"batch 100 of 3":  func(o *scenario.Options) { o.Batch, o.Parallelism = 100, 3 },
		"restarts":        func(o *scenario.Options) { o.RestartEvery = true },
		"restarts, of 16": func(o *scenario.Options) { o.RestartEvery, o.Parallelism, o.Batch = true, 16, 4 },
	} {
		t.Run(name, func(t *testing.T) { f(t, change) })
	}
}

func TestPassing(t *testing.T) {
	for name, script := range map[string]string{
		"event time from the field, by @T, and none": `
			emit in {"k":"a","v":1,"t":5}
			emit in {"k":"a","v":2,"t":"1970-01-01T00:00:00.007Z"} @12
			emit in {"t":1,"k":"a"}
			emit in {"k":null,"v":5,"d":7} @3
			watermark more max
			watermark in 9
			want out {"k":"a","v":1,"d":null,"window_start":0,"window_end":10} @9
			want out {"window_end":10,"window_start":0,"d":7,"v":5} @9
			emit in {"k":"a"}
			want-error timestamp`,
		"change kinds are kept by late outputs": `
			watermark in 20
			emit in -U {"k":"a","v":1} @3
			want late -U {"k":"a","v":1} @3
			emit in +U {"k":"a","v":1} @4
			want late +U {"k":"a","v":1} @4
			emit in -D {"k":"a","v":1} @5
			want late -D {"k":"a","v":1} @5
			emit in +I {"k":"a","v":1} @6
			want late +I {"k":"a","v":1} @6`,
		"idle and active": `
			emit in {"k":"a","v":1} @1
			watermark in 12
			idle more
			want out {"k":"a","v":1,"window_start":0,"window_end":10} @9
			# The sink late reads the source in alone.
			want-watermark out 12
			want-watermark late 12
			watermark more 100
			want-watermark out 12
			active more
			watermark more 11
			emit more {"k":"b","v":2} @2
			want-late-dropped sums 1
			want-late-dropped late 0`,
		"what an idle source says is not remembered": `
			idle more
			watermark more 100
			active more
			watermark in 20
			want-watermark out min
			want-watermark late 20`,
		"an ended source stays ended": `
			end more
			emit in {"k":"a","v":1} @1
			restart
			watermark in 9
			want out {"k":"a","v":1,"window_start":0,"window_end":10} @9
			checkpoint a
			end in
			end in
			want-watermark out max
			restore a
			emit in {"k":"a","v":1} @1
			end in
			want out {"k":"a","v":1,"window_start":0,"window_end":10} @9
			restart
			want-watermark out max`,
		"the clock": `
			clock 5
			restart
			clock 5
			clock max`,
		"a watermark that does not rise": `
			watermark in min
			watermark in 5
			watermark in 4
			watermark more min
			watermark more 7
			want-watermark out 5`,
		"late records are counted over restarts and restores": `
			watermark in 9
			watermark more 9
			checkpoint a
			emit more {"k":"a","v":1} @1
			restart
			watermark in 9
			watermark more 9
			emit more {"k":"a","v":1} @1
			emit more {"k":"a","v":1} @2
			want-late-dropped sums 3
			restore a
			want-late-dropped sums 3`,
		"infinities and nan": `
			emit in {"k":"a","d":"NaN","v":0} @1
			emit in {"k":"b","d":"-Infinity","v":0} @1
			emit in {"k":"c","d":1e10,"v":0} @1
			watermark more max
			watermark in 9
			want out {"k":"a","v":0,"d":"NaN","window_start":0,"window_end":10} @9
			want out {"k":"b","v":0,"d":"-Infinity","window_start":0,"window_end":10} @9
			want out {"k":"c","v":0,"d":10000000000.0,"window_start":0,"window_end":10} @9`,
	} {
		t.Run(name, func(t *testing.T) {
			every(t, func(t *testing.T, change func(*scenario.Options)) {
				if r := run(t, script, change); r.Outcome != scenario.Pass {
					t.Error(r)
				}
			})
		})
	}
}

func TestFailing(t *testing.T) {
	const fired = `
emit in {"k":"a","v":1} @1
emit in {"k":"b","v":2} @1
watermark more max
watermark in 9
`
	for name, c := range map[string]struct{ script, want string }{
		"nothing claimed": {fired, `a.scenario:20: fail: after "watermark in 9":
  unexpected want out {"k":"a","v":1,"d":null,"window_start":0,"window_end":10} @9
  unexpected want out {"k":"b","v":2,"d":null,"window_start":0,"window_end":10} @9`},
		"one too many, one too few, one other": {fired + `want out {"k":"a","v":1,"window_start":0,"window_end":10} @9
want out {"k":"a","v":1,"window_start":0,"window_end":10} @9
# A comment.
want out +U {"k":"b","v":2,"window_start":0,"window_end":10} @9`, `a.scenario:20: fail: after "watermark in 9":
  missing    want out {"k":"a","v":1,"d":null,"window_start":0,"window_end":10} @9   (line 22)
  missing    want out +U {"k":"b","v":2,"d":null,"window_start":0,"window_end":10} @9   (line 24)
  unexpected want out {"k":"b","v":2,"d":null,"window_start":0,"window_end":10} @9`},
		"a time that is missing": {`watermark in 20
emit in {"k":"a"} @3
want late {"k":"a"}`, `a.scenario:17: fail: after "emit in {"k":"a"} @3":
  missing    want late {"k":"a","v":null,"d":null,"t":null}   (line 18)
  unexpected want late {"k":"a","v":null,"d":null,"t":null} @3`},
		"claimed of the wrong action": {`want out {"k":"a","v":1}` + fired, `a.scenario:15: fail: at the start:
  missing    want out {"k":"a","v":1,"d":null,"window_start":null,"window_end":null}   (line 16)`},
		"a watermark": {`watermark in 20
want-watermark late 21`, `a.scenario:17: fail: the watermark that last reached late is 20, not 21`},
		"late records":                 {"restart\nwant-late-dropped sums 1", `a.scenario:17: fail: late records that sums has dropped so far: 0, not 1`},
		"an error that is not claimed": {`emit in {"k":"a"}`, `a.scenario:16: fail: after "emit in {"k":"a"}": the job failed: `},
		"an error that does not come": {"watermark in 1\nwant-error timestamp",
			`a.scenario:17: fail: after "watermark in 1": the job goes on; the script wants it to fail with "timestamp"`},
		"another error": {"emit in {}\nwant-error gap",
			`a.scenario:17: fail: after "emit in {}": the job failed, but not with "gap": `},
		"refusal of a sound job": {"want-error gap",
			`a.scenario:16: fail: at the start: the job goes on; the script wants it to fail with "gap"`},
	} {
		t.Run(name, func(t *testing.T) {
			every(t, func(t *testing.T, change func(*scenario.Options)) {
				got := run(t, c.script, change).String()
				if len(got) > len(c.want) && strings.HasSuffix(c.want, ": ") {
					got = got[:len(c.want)]
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestMistakes has scripts that do not fit their job.
func TestMistakes(t *testing.T) {
	for script, want := range map[string]string{
		`emit inn {"k":"a"}`:           `the job has no source inn; did you mean in?`,
		`emit in {"kk":"a"}`:           `there is no column "kk" in (k STRING, v BIGINT, d DOUBLE, t TIMESTAMP(3)); did you mean k?`,
		`emit more {"k":"a","t":"x"}`:  `the record's column "t" is not valid: `,
		`emit in {"k":"a","v":1.5}`:    `the record's column "v" is not valid: `,
		`emit in {"k":}`:               `the record's column "k" is not valid: `,
		`emit in {"k":"a"}}`:           `the record is not valid at byte 9: `,
		`idle moer`:                    `the job has no source moer; did you mean more?`,
		`want outt {"k":"a"}`:          `the job has no sink outt; did you mean out?`,
		`want out {"k":"a","value":1}`: `there is no column "value" in `,
		`want out {"k":1}`:             `the record's column "k" is not valid: `,
		`want-watermark sums 5`:        `the job has no sink sums`,
		`want-late-dropped sum 5`:      `the job has no step sum; did you mean sums?`,
		`want-late-dropped sums ?`:     `? stands for an answer that an update fills in`,
		`want-watermark out ?`:         `? stands for an answer that an update fills in`,
	} {
		got := run(t, script).String()
		if !strings.HasPrefix(got, "a.scenario:16: error: "+want) {
			t.Errorf("%s: got  %s\nwant %s", script, got, want)
		}
	}
	got := run(t, "emit in {\"x\":1}\nwatermark in 5\nidle out").String()
	const want = `a.scenario:16: error: there is no column "x" in (k STRING, v BIGINT, d DOUBLE, t TIMESTAMP(3))
a.scenario:18: the job has no source out`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMistakesInUnusedColumns has values that the engine never looks at.
func TestMistakesInUnusedColumns(t *testing.T) {
	const job = `-- job.yaml --
version: 1
name: passed-on
max-parallelism: 2
sources: {in: {test: {}, schema: {k: STRING, unused: BIGINT}}}
steps: {n: {from: in, key-by: [k], window: {tumbling: {size: 10ms}}, aggregate: {n: count}}}
sinks: {out: {from: n, test: {}}}
-- script --
emit in {"unused":"x","k":"a"} @1
`
	o := options()
	o.Parallelism = 4 // of which the job allows 2
	got := parse(t, "a", []byte(job)).Run(o).String()
	if want := `a:9: error: the record's column "unused" is not valid: `; !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if r := parse(t, "a", []byte(strings.Replace(job, `"x"`, "1", 1))).Run(o); r.Outcome != scenario.Pass {
		t.Error(r)
	}
}

func TestParseErrors(t *testing.T) {
	for script, want := range map[string]string{
		`emti in {}`:                      `there is no action "emti"; did you mean emit?`,
		`emit in`:                         `emit lacks a part; the form is: emit SOURCE [KIND] JSON [@T]`,
		`emit in +X {}`:                   `"+X" is neither a change kind (+I, -U, +U, -D) nor a JSON object; the form is: emit SOURCE [KIND] JSON [@T]`,
		`emit in +U`:                      `"" is no JSON object`,
		`emit in {`:                       `"{" is no JSON object`,
		`emit in {} 5`:                    `" 5" stands where only a time, such as @1000, may stand`,
		`emit in {}@5`:                    `"@5" stands where only a time`,
		`emit in {} @5 @6`:                `"5 @6" is no time: an integer of milliseconds, min or max`,
		`emit in {} @9223372036854775808`: `"9223372036854775808" is no time`,
		`watermark in`:                    `watermark lacks a part; the form is: watermark SOURCE T`,
		`watermark in ?`:                  `"?" is no time`,
		`watermark in 5 6`:                `"6" is one part too many`,
		`restart now`:                     `"now" is one part too many; the form is: restart`,
		`clock five`:                      `"five" is no time`,
		`want-late-dropped sums -1`:       `"-1" is no number of records`,
		`want-error`:                      `want-error lacks a part; the form is: want-error TEXT`,
		`restore a`:                       `no checkpoint a was taken before`,
		"checkpoint ab\nrestore ac":       `no checkpoint ac was taken before; did you mean ab?`,
		"clock 5\nclock 4":                `the clock stands at 5 and cannot go back`,
		"end in\nemit in {}":              `the source in has ended: it emits nothing any more`,
		"checkpoint a\nend in\nrestore a\nemit in {}\nend in\nrestart\nemit in {}": `the source in has ended`,
		"want-error x\nwatermark in 5":                                             `the job has failed in line 16; only a restore may follow`,
		"want-error x\nwant out {}":                                                `the job has failed in line 16; only a restore may follow`,
	} {
		_, err := scenario.Parse("a.scenario", []byte(sumsJob+script))
		if err == nil {
			t.Errorf("%s: no error", script)
			continue
		}
		prefix := fmt.Sprintf("a.scenario:%d: ", scriptLine+strings.Count(script, "\n"))
		if got := err.Error(); !strings.HasPrefix(got, prefix+want) || strings.Count(got, "\n") > 0 {
			t.Errorf("%s:\ngot  %s\nwant %s%s", script, got, prefix, want)
		}
	}
}

func TestSections(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "a:1: there is no job: no section begins with \"-- job.yaml --\" or \"-- job --\"\na:1: there is no script: no section begins with \"-- script --\"",
		"-- job.yml --\n-- script --":  `a:1: there is no job: no section begins with "-- job.yaml --" or "-- job --"; did you mean job.yml?`,
		"-- job.yaml --\n-- scirpt --": `a:1: there is no script: no section begins with "-- script --"; did you mean scirpt?`,
		"c\n-- job.yaml --\nx\ny\n-- job --\nz\n-- script --": `a:5: there are two jobs, job.yaml and job; a scenario has one`,
		"-- script --\n-- job.yaml --\n\n-- script --":        `a:4: the section script is there twice: the first is in line 1`,
		"-- job --\n\n-- script --":                           `a:1: the section job has to have one line, the path of the job file`,
		"-- job --\na\nb\n-- script --":                       `a:1: the section job has to have one line, the path of the job file`,
		"-- job.yaml --\n-- ../x --\n-- script --":            `a:2: the section ../x is not in the job's folder, where it would be laid`,
	} {
		_, err := scenario.Parse("a", []byte(text))
		if err == nil || err.Error() != want {
			t.Errorf("%q:\ngot  %v\nwant %s", text, err, want)
		}
	}
}
