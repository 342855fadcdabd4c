package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/state"
)

// limitedJob is a job of one step over records {k, n, t}; the module's functions take
// more than others for records whose n is 13 or more.
const limitedJob = `
version: 1
name: limited
modules: {greedy: {file: greedy-c.wasm}, process: {file: process-c.wasm}}
sources:
  in: {file: {path: in, format: json}, schema: {k: BIGINT, n: BIGINT, t: BIGINT}, event-time: t, watermark: {strategy: none}}
steps:
  s: %s
sinks:
  out: {from: s, file: {path: out, format: json}}
`

// limited is what came of a limited job.
type limited struct {
	out    string // the records of its sink, with failed ones if the step has them
	failed string
	most   state.Stats // that were kept at a time
	faults int64
	err    error
}

// record is a line of a limited job's input.
func record(k, n, t int) string { return fmt.Sprintf(`{"k":%d,"n":%d,"t":%d}`, k, n, t) }

// runLimited runs a job of one step over lines, in batches of so many rows.
func runLimited(t *testing.T, step string, batch int, lines []string) (r limited) {
	t.Helper()
	text := fmt.Sprintf(limitedJob, step)
	if strings.Contains(step, "timer-calls") {
		text = strings.Replace(text, "strategy: none", "emit: on-event", 1) // it matters when time moves
	}
	if strings.Contains(step, "reduce") {
		text = strings.Replace(text, "t: BIGINT", "t: BIGINT, s: STRING", 1)
	}
	if strings.Contains(step, "keeps.") {
		text = strings.Replace(strings.Replace(text, "n: BIGINT", "v: BIGINT", 1), "{greedy:", "{keeps: {file: keeps-c.wasm}, greedy:", 1)
	}
	if strings.Contains(step, "dead-letter") {
		text += "  failed: {from: s.failed, file: {path: failed, format: json}}\n"
	}
	sinks := map[string]*memorySink{}
	c := config(t, sinks)
	next := 0
	c.Source = func(*job.Source) (connector.Source, error) {
		return newSource(func(c *connector.Chunk) error {
			if next == len(lines) {
				return io.EOF
			}
			to := min(next+batch, len(lines))
			appendLines(c, strings.Join(lines[next:to], "\n")+"\n")
			next = to
			return nil
		}), nil
	}
	c.Limits.BatchRows = batch
	j, err := runtime.New(parsePlan(t, text, "../../testdata/wasm"), c)
	must(t, err)
	r.err = j.Drive(nil)
	for _, task := range j.Metrics().Tasks {
		if task.State != nil {
			r.most, r.faults = *task.State, task.Faults
		}
	}
	must(t, j.Close())
	r.out = joined(sinks["out"])
	if f := sinks["failed"]; f != nil {
		r.failed = joined(f)
	}
	return r
}

func joined(s *memorySink) string {
	return strings.TrimSpace(strings.ReplaceAll(string(s.data), "\n", " "))
}

// greedyLines are so many records of keys of their own, of which every third is greedy;
// want is what comes out if as many of those as may are let through.
func greedyLines(n, may int) (lines []string, want string) {
	var out []string
	for i := range n {
		value := 1
		if i%3 == 2 {
			value = 13 + i
		}
		lines = append(lines, record(i, value, i))
		if value == 1 || may > 0 {
			out = append(out, fmt.Sprintf(`{"k":%d,"n":%d}`, i, value))
		}
		if value != 1 {
			may--
		}
	}
	return lines, strings.Join(out, " ")
}

// TestStateLimit: what a function keeps beyond the limit of its step is a fault of the
// record at hand, and all others come out as if it had not been.
func TestStateLimit(t *testing.T) {
	for name, c := range map[string]struct {
		with  string // of the function
		limit string
		may   int // greedy records that there is room for
		word  string
	}{
		// A key takes some 100 bytes, and an entry of a map or list 150 beside its value.
		"a map":             {"what: 1, size: 1000", "state: 12000B", 9, "bytes of state in one task, and its limit is 12000: limits: {state: …}"},
		"a large map":       {"what: 1, size: 1000000", "state: 16MiB", 15, "bytes of state"},
		"a list":            {"what: 6, size: 1000", "state: 12000B", 9, "bytes of state"},
		"a slot":            {"what: 2, size: 1000", "state: 12000B", 10, "bytes of state"},
		"entries of a map":  {"what: 1, size: 1", "entries: 20", 10, "22 entries in one task, and its limit is 20: limits: {entries: …}"},
		"entries for slots": {"what: 2, size: 1", "entries: 10", 10, "11 entries"},
		"timers":            {"what: 3, size: 10", "timers: 70", 7, "71 timers in one task, and its limit is 70: limits: {timers: …}"},
	} {
		for _, batch := range []int{1, 7, 1000} {
			t.Run(fmt.Sprintf("%s, batch %d", name, batch), func(t *testing.T) {
				lines, want := greedyLines(90, c.may)
				step := fmt.Sprintf("{from: in, key-by: [k], process: {wasm: greedy.keep, with: {%s}}, on-fault: dead-letter, fault-rate: 1, limits: {%s}}", c.with, c.limit)
				r := runLimited(t, step, batch, lines)
				must(t, r.err)
				if r.out != want {
					t.Errorf("out: %s\nwant %s", r.out, want)
				}
				if limit := int64(12_000); strings.Contains(c.limit, "12000B") && r.most.Bytes > limit {
					t.Errorf("%d bytes are kept", r.most.Bytes)
				}
				if want := int64(30 - c.may); r.faults != want || strings.Count(r.failed, `"reason":"over-limit"`) != int(want) || !strings.Contains(r.failed, c.word) {
					t.Errorf("%d faults, want %d, with %q: %.1000s", r.faults, want, c.word, r.failed)
				}
			})
		}
	}
}

// TestUndoneWritesTakeNoRoom: what a record wrote that failed is gone at once, and does
// not stand in the way of those behind it in the frame.
func TestUndoneWritesTakeNoRoom(t *testing.T) {
	lines, want := greedyLines(90, 0)
	for _, batch := range []int{1, 1000} {
		r := runLimited(t, "{from: in, key-by: [k], process: {wasm: greedy.keep, with: {what: 7, size: 3000}}, on-fault: skip, fault-rate: 1, limits: {state: 40000B}}", batch, lines)
		must(t, r.err)
		if r.out != want || r.faults != 30 || r.most.Bytes > 20_000 {
			t.Errorf("batch %d: %d faults, %+v, out %s", batch, r.faults, r.most, r.out)
		}
	}
}

// TestStateLimitOfWindows: what a reduce function, or a trigger, keeps of a window
// beyond the limit is a fault, too.
func TestStateLimitOfWindows(t *testing.T) {
	var lines []string
	for i := range 60 {
		n := 1
		if i >= 30 {
			n = 13
		}
		lines = append(lines, fmt.Sprintf(`{"k":%d,"n":%d,"t":5,"s":"short"}`, i%30, n))
	}
	for _, batch := range []int{1, 30, 1000} {
		r := runLimited(t, "{from: in, key-by: [k], window: {tumbling: {size: 10ms}}, reduce: {wasm: greedy.longest, with: {n: 100000}}, on-fault: dead-letter, fault-rate: 1, limits: {state: 1MiB}}", batch, lines)
		must(t, r.err)
		// 8 texts of 131,072 bytes as they are in memory are the limit, so 7 and the rest fit.
		if n := strings.Count(r.out, strings.Repeat("x", 100_000)); n != 7 || strings.Count(r.out, `"s":"short"`) != 23 || r.faults != 23 || strings.Count(r.failed, "limits: {state: …}") != 23 {
			t.Errorf("batch %d: %d long texts, %d faults: %.500s", batch, n, r.faults, r.failed)
		}
	}
	lines, _ = greedyLines(90, 0)
	r := runLimited(t, "{from: in, key-by: [k], window: {tumbling: {size: 1h}, trigger: {wasm: greedy.again}}, aggregate: {n: count}, on-fault: dead-letter, fault-rate: 1, limits: {timers: 70}}", 1, lines)
	must(t, r.err)
	// Each record has a timer, and a greedy one another: the eighteenth of those is one too
	// many. When the first seventeen are due and would set theirs again, there are 90.
	if n := strings.Count(r.out, `"n":1,`); n != 77 || r.faults != 30 || strings.Count(r.failed, "limits: {timers: …}") != 30 {
		t.Errorf("%d rows, %d faults: %.1000s", n, r.faults, r.failed)
	}
}

// TestStateLimitOfCallsInWindows: so is what a window function, or a trigger, puts into
// lists and maps: of 30 keys some come out, and the others are faults.
func TestStateLimitOfCallsInWindows(t *testing.T) {
	var lines []string
	for i := range 30 {
		lines = append(lines, fmt.Sprintf(`{"k":%d,"v":1,"t":5}`, i))
	}
	for name, window := range map[string]string{
		"apply":   "window: {tumbling: {size: 10ms}}, apply: {wasm: keeps.recall}",
		"trigger": "window: {tumbling: {size: 10ms}, trigger: {wasm: keeps.distinct, with: {size: 1}}}, aggregate: {n: count}",
	} {
		for _, batch := range []int{1, 1000} {
			r := runLimited(t, "{from: in, key-by: [k], "+window+", on-fault: dead-letter, fault-rate: 1, limits: {entries: 40}}", batch, lines)
			must(t, r.err)
			rows := strings.Count(r.out, "{")
			if r.faults == 0 || rows == 0 || rows+int(r.faults) != 30 || strings.Count(r.failed, "limits: {entries: …}") != int(r.faults) {
				t.Errorf("%s, batch %d: %d rows, %d faults: %.500s", name, batch, rows, r.faults, r.failed)
			}
		}
	}
}

// TestStateLimitOfSlotsInPlace: a slot of fixed width that held nothing is an entry more.
func TestStateLimitOfSlotsInPlace(t *testing.T) {
	var lines, want []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf(`{"bidder":%d,"t":%d}`, i%40, i))
	}
	for i := range 10 {
		n := 0
		for j := range 100 {
			if j%40 == i {
				n++
			}
		}
		want = append(want, fmt.Sprintf(`{"bidder":%d,"records":%d,"times":%d}`, i, n, n))
	}
	for _, batch := range []int{1, 7, 1000} {
		text := strings.NewReplacer("k: BIGINT, n: BIGINT", "bidder: BIGINT").Replace(limitedJob)
		step := "{from: in, key-by: [bidder], process: {wasm: process.tick}, on-fault: skip, fault-rate: 1, limits: {entries: 10}}"
		sinks := map[string]*memorySink{}
		c := config(t, sinks)
		c.Source = func(*job.Source) (connector.Source, error) {
			return linesThen(strings.Join(lines, "\n")+"\n", func() error { return io.EOF }), nil
		}
		c.Limits.BatchRows = batch
		j, err := runtime.New(parsePlan(t, fmt.Sprintf(text, step), "../../testdata/wasm"), c)
		must(t, err)
		must(t, j.Drive(nil))
		must(t, j.Close())
		if diff := cmp.Diff(sortedLines([]byte(strings.Join(want, "\n")+"\n")), sortedLines(sinks["out"].data)); diff != "" {
			t.Errorf("batch %d (-want +got):\n%s", batch, diff)
		}
	}
}

// TestStateLimitFails: without another policy the job does, once, and a step without
// functions always does.
func TestStateLimitFails(t *testing.T) {
	lines, _ := greedyLines(90, 0)
	for name, c := range map[string]struct{ step, word string }{
		"a function":   {"{from: in, key-by: [k], process: {wasm: greedy.keep, with: {what: 1, size: 1000}}, limits: {state: 10KiB}}", "limits: {state: …} of the step or the job raises it"},
		"built in":     {"{from: in, key-by: [k], window: {tumbling: {size: 1h}}, aggregate: {n: count}, limits: {entries: 50}}", "entries in one task, and its limit is 50: limits: {entries: …} of the step or the job raises it"},
		"its bytes":    {"{from: in, key-by: [k], window: {tumbling: {size: 1h}}, aggregate: {n: count}, limits: {state: 4KiB}}", "bytes of state in one task, and its limit is 4096"},
		"its timers":   {"{from: in, key-by: [k], window: {tumbling: {size: 1h}}, aggregate: {n: count}, limits: {timers: 50}}", "timers in one task, and its limit is 50"},
		"a window set": {"{from: in, key-by: [k], window: {session: {gap: 1h}}, aggregate: {n: count}, limits: {entries: 50}}", "entries in one task"},
	} {
		t.Run(name, func(t *testing.T) {
			r := runLimited(t, c.step, 30, lines)
			if r.err == nil || !strings.Contains(r.err.Error(), c.word) || !strings.Contains(r.err.Error(), "step s") {
				t.Fatalf("%v, want %q", r.err, c.word)
			}
			var lasting connector.Lasting
			var function *runtime.FunctionError
			if !errors.As(r.err, &function) && !(errors.As(r.err, &lasting) && lasting.Lasting()) {
				t.Errorf("a restart would be tried: %v", r.err)
			}
		})
	}
}

// TestWindowsLimit: a function that puts a record into too many windows fails on that
// record, and one whose step is full on each that comes.
func TestWindowsLimit(t *testing.T) {
	for name, c := range map[string]struct {
		window, limit string
		sizes         []int // windows of each record, which is of a key of its own
		taken         []int // those that are taken
		word          string
	}{
		"of one record": {"wasm: greedy.many", "windows: 100", []int{1, 100, 101, 5000, 2}, []int{1, 100, 2},
			"it put the record into 101 windows, and the limit is 100: limits: {windows: …}"},
		"of one record, with a trigger": {"wasm: greedy.many, trigger: {wasm: greedy.again}", "windows: 10", []int{1, 10, 11, 2}, []int{1, 10, 2}, "windows"},
		"more than the state has room for": {"wasm: greedy.many", "entries: 300", []int{100, 100, 150, 1, 1}, []int{100, 100, 150},
			"entries in one task, and its limit is 300"},
		"many runs": {"wasm: greedy.many", "windows: 200000", []int{1, 100_000, 100_000, 100_000, 2}, []int{1, 100_000, 100_000, 100_000, 2}, ""},
	} {
		for _, batch := range []int{1, 3, 1000} {
			t.Run(fmt.Sprintf("%s, batch %d", name, batch), func(t *testing.T) {
				var lines, want []string
				for i, n := range c.sizes {
					lines = append(lines, record(i, n, 10))
				}
				step := fmt.Sprintf("{from: in, key-by: [k], window: {%s}, aggregate: {sum: sum(n)}, on-fault: dead-letter, fault-rate: 1, limits: {%s}}", c.window, c.limit)
				r := runLimited(t, step, batch, lines)
				must(t, r.err)
				for i, n := range c.sizes {
					if len(want) < len(c.taken) && n == c.taken[len(want)] {
						want = append(want, fmt.Sprintf(`"k":%d`, i))
						if got := strings.Count(r.out, fmt.Sprintf(`{"k":%d,`, i)); got != n {
							t.Errorf("%d windows of record %d, want %d", got, i, n)
						}
					} else if strings.Contains(r.out, fmt.Sprintf(`{"k":%d,`, i)) {
						t.Errorf("record %d, with %d windows, is there", i, n)
					}
				}
				if faults := len(c.sizes) - len(c.taken); r.faults != int64(faults) || !strings.Contains(r.failed, c.word) || strings.Count(r.failed, `"function":"greedy.many"`) != faults {
					t.Errorf("%d faults, want %d: %.1000s", r.faults, faults, r.failed)
				}
			})
		}
	}
}

// TestTimerCalls: a function that answers each timer by one that is due has so many
// calls in an advance of time; then its timers are dropped, and time goes on.
func TestTimerCalls(t *testing.T) {
	for name, c := range map[string]struct {
		step   string
		faults int64
	}{
		"a process function": {"{from: in, key-by: [k], process: {wasm: greedy.keep, with: {what: 4, size: 0}}, %s}", 2},
		"a trigger":          {"{from: in, key-by: [k], window: {tumbling: {size: 10ms}, trigger: {wasm: greedy.again}}, aggregate: {sum: sum(n)}, %s}", 2},
		// There is a timer at the end of each window.
		"a trigger at the end": {"{from: in, key-by: [k], window: {tumbling: {size: 10ms}, trigger: {wasm: greedy.again, with: {n: 0}}}, aggregate: {sum: sum(n)}, %s}", 5},
	} {
		step := c.step
		lines := []string{record(1, 13, 0), record(2, 1, 0), record(3, 14, 5), record(1, 1, 1000), record(2, 1, 1001)}
		t.Run(name, func(t *testing.T) {
			r := runLimited(t, fmt.Sprintf(step, "on-fault: dead-letter, limits: {timer-calls: 1000}"), 10, lines)
			must(t, r.err)
			if got := strings.Count(r.out, `"k":`); got != len(lines) || r.faults != c.faults {
				t.Errorf("%d rows and %d faults, want %d and %d: %s %s", got, r.faults, len(lines), c.faults, r.out, r.failed)
			}
			if !strings.Contains(r.failed, "limits: {timer-calls: …}") || !strings.Contains(r.failed, "the timer of 1970-01-01") {
				t.Errorf("dead letters: %s", r.failed)
			}
			if r = runLimited(t, fmt.Sprintf(step, "limits: {timer-calls: 1000}"), 10, lines); r.err == nil || !strings.Contains(r.err.Error(), "more than 1000 of them") {
				t.Errorf("%v", r.err)
			}
		})
	}
}

// TestTimersThatWereSetBefore count for nothing: time may leap over as many as there are,
// and each may set another that is not due yet.
func TestTimersThatWereSetBefore(t *testing.T) {
	r := runLimited(t, "{from: in, key-by: [k], process: {wasm: greedy.keep, with: {what: 3, size: 1000}}, limits: {timer-calls: 0}}", 10,
		[]string{record(1, 13, 0), record(1, 14, 1), record(1, 1, 2_000_000_000_000_000)})
	must(t, r.err)
	if r.faults != 0 || r.most.Timers != 0 {
		t.Errorf("%d faults, %+v", r.faults, r.most)
	}
}

// TestStopsWithinABatch: a job that is to stop gives up the batch at hand, and commits
// nothing of it.
func TestStopsWithinABatch(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	calls := 0
	sinks := map[string]*memorySink{}
	c := config(t, sinks)
	lines, _ := greedyLines(3000, math.MaxInt)
	c.Source = func(*job.Source) (connector.Source, error) {
		return linesThen(strings.Join(lines, "\n")+"\n", func() error { return io.EOF }), nil
	}
	whole := c.Guest
	c.Guest = func(f *job.Function) (runtime.Guest, error) {
		g, err := whole(f)
		return &countedGuest{Guest: g, call: func() {
			if calls++; calls == 5 {
				cancel(why)
			}
			if calls > 5 {
				<-ctx.Done()
			}
		}}, err
	}
	// Each greedy record takes more than a frame is to, so they come one by one.
	step := "{from: in, map: {wasm: greedy.burn, with: {n: 3000000}}}"
	j, err := runtime.New(parsePlan(t, fmt.Sprintf(limitedJob, step), "../../testdata/wasm"), c)
	must(t, err)
	if err := j.Run(ctx); !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
	must(t, j.Close())
	if calls > 10 || sinks["out"].committed {
		t.Errorf("%d calls, of which the fifth said that the job stops; committed: %v", calls, sinks["out"].committed)
	}
}

// countedGuest tells of each call.
type countedGuest struct {
	runtime.Guest
	call func()
}

func (g *countedGuest) Call(function, pointer uint32, length int) ([]byte, error) {
	g.call()
	return g.Guest.Call(function, pointer, length)
}
