package reference

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// answersJob has two sources of like columns, and steps to come.
const answersJob = `What the reference says.
-- job.yaml --
version: 1
name: answers
sources:
  a: {test: {}, schema: {k: STRING, v: BIGINT, g: BIGINT}}
  b: {test: {}, schema: {k: STRING, v: BIGINT, g: BIGINT}}
steps:
  s:
    STEP
sinks:
  out: {from: s, test: {}}
-- script --
`

// check fills a script whose want lines are taken away, and expects them back.
func check(t *testing.T, step, script string) {
	t.Helper()
	before := strings.Replace(answersJob, "STEP", step, 1)
	var actions strings.Builder
	for line := range strings.Lines(script) {
		if !strings.HasPrefix(line, "want ") {
			actions.WriteString(line)
		}
	}
	got, err := Fill(before+actions.String(), false)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before+script, got.Text); diff != "" || got.Doubts != nil {
		t.Errorf("doubts %q (-want +got):\n%s", got.Doubts, diff)
	}
}

// TestModes has two sessions that fire, and become one by a third record.
func TestModes(t *testing.T) {
	const (
		records = `emit a {"k":"x"} @0
emit a {"k":"x"} @18
watermark a 30
watermark b 30
`
		first    = `want out {"k":"x","n":1,"window_start":0,"window_end":10} @9` + "\n"
		noFirst  = `want out -D {"k":"x","n":1,"window_start":0,"window_end":10} @9` + "\n"
		second   = `want out {"k":"x","n":1,"window_start":18,"window_end":28} @27` + "\n"
		noSecond = `want out -D {"k":"x","n":1,"window_start":18,"window_end":28} @27` + "\n"
		bridge   = `emit a {"k":"x"} @9` + "\n"
		whole    = `want out {"k":"x","n":3,"window_start":0,"window_end":28} @27` + "\n"
		replaced = `want out -U {"k":"x","n":1,"window_start":0,"window_end":10} @9` + "\n" +
			`want out +U {"k":"x","n":3,"window_start":0,"window_end":28} @27` + "\n"
	)
	for mode, rows := range map[string]string{
		"append":    first + second + bridge + whole,
		"update":    first + second + bridge + replaced,
		"changelog": first + second + bridge + replaced + noSecond,
		"complete":  noFirst + first + first + second + bridge + noFirst + noSecond + whole,
	} {
		t.Run(mode, func(t *testing.T) {
			check(t, "from: [a, b]\n    key-by: [k]\n    window: {session: {gap: 10ms}, allowed-lateness: 30ms}\n    aggregate: {n: count}\n    output: "+mode, records+rows)
		})
	}
}

// TestUpdateOfOneWindow has a firing that changes nothing, and one after a restart.
func TestUpdateOfOneWindow(t *testing.T) {
	check(t, "from: [a, b]\n    key-by: [k]\n    window: {tumbling: {size: 10ms}, allowed-lateness: 20ms}\n    aggregate: {m: max(v)}\n    output: update", `emit a {"k":"x","v":5} @1
watermark a 9
watermark b 9
want out {"k":"x","m":5,"window_start":0,"window_end":10} @9
emit a {"k":"x","v":4} @2
restart
watermark a 10
watermark b 10
emit a {"k":"x","v":6} @3
want out +U {"k":"x","m":6,"window_start":0,"window_end":10} @9
want out -U {"k":"x","m":5,"window_start":0,"window_end":10} @9
`)
}

// TestOuterIntervalJoin has rows that match, that never do, and that come too late.
func TestOuterIntervalJoin(t *testing.T) {
	check(t, "interval-join: {left: a, right: b, left-key: [k], right-key: [k], lower: -1ms, upper: 2ms, type: full}", `emit a {"k":"x","v":1} @5
emit a {"k":"x","v":2} @20
emit b {"k":"x","v":3} @7
want out {"left_k":"x","left_v":1,"left_g":null,"right_k":"x","right_v":3,"right_g":null} @7
emit b {"k":null,"v":4} @10
emit a {"k":null,"v":5} @11
want out {"left_k":null,"left_v":5,"left_g":null,"right_k":null,"right_v":4,"right_g":null} @11
emit b {"k":"y","v":6} @12
watermark a 13
watermark b 12
restart
watermark a 12
watermark b 13
emit a {"k":"y","v":7} @11
watermark a 13
want out {"left_k":null,"left_v":null,"left_g":null,"right_k":"y","right_v":6,"right_g":null} @12
want-late-dropped s 1
end a
end b
want out {"left_k":"x","left_v":2,"left_g":null,"right_k":null,"right_v":null,"right_g":null} @20
`)
}

// TestUnlike has what Flink fails at, and the reference does not.
func TestUnlike(t *testing.T) {
	const job = "from: a\n    key-by: [k]\n    window: {session: {gap: 10ms}, allowed-lateness: 1h}\n    aggregate: {n: count}"
	got, err := Fill(strings.Replace(answersJob, "STEP", job, 1)+`emit a {"k":"x"} @9223372036854775700
emit a {"k":"x"} @9223372036854775705
`, false)
	if err != nil || len(got.Unlike) != 1 || strings.Contains(got.Text, "want") {
		t.Errorf("%v, %q\n%s", err, got.Unlike, got.Text)
	}
}

// TestMinimize looks for the two lines of many that matter.
func TestMinimize(t *testing.T) {
	const job = "from: a\n    key-by: [k]\n    window: {tumbling: {size: 10ms}}\n    aggregate: {n: count}"
	script := strings.Repeat("emit a {\"k\":\"y\"} @1\nclock 1\n", 20) + "emit a {\"k\":\"x\"} @1\n" +
		strings.Repeat("idle b\nactive b\n", 20) + "watermark a 9\nrestart\n"
	before := strings.Replace(answersJob, "STEP", job, 1)
	got := Minimize(before+script, func(text string) bool { return strings.Contains(text, `want out {"k":"x"`) })
	const want = `emit a {"k":"x"} @1
watermark a 9
want out {"k":"x","n":1,"window_start":0,"window_end":10} @9
`
	if diff := cmp.Diff(before+want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
