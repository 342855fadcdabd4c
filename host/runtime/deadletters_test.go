package runtime_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
)

const lettersJob = `
version: 1
name: letters
parallelism: PARALLELISM
modules: {p: {file: picky-c.wasm}, u: {file: unruly-c.wasm}, r: {file: roles-c.wasm}}
sources:
  in: {file: {path: in, format: json}, schema: {k: STRING, n: BIGINT, t: TIMESTAMP(3), user: STRING, amount: BIGINT, more: STRING}, event-time: t}
  far: {file: {path: far, format: json}, schema: {k: STRING, n: BIGINT, t: TIMESTAMP(3), user: STRING, amount: BIGINT, more: STRING}, event-time: t}
steps:
  ends: {from: in, key-by: [k], window: {tumbling: {size: 1m}, trigger: {wasm: p.at-end}}, aggregate: {n: count}, on-fault: dead-letter}
  both: {from: in, key-by: [k], window: {wasm: p.both}, aggregate: {n: count}, on-fault: dead-letter}
  good: {from: far, filter: {wasm: r.positive}}
  sums: {from: good, key-by: [k], window: {tumbling: {size: 1m}}, aggregate: {wasm: p.sum}, on-fault: dead-letter}
  last: {from: good, key-by: {wasm: r.by-user}, window: {tumbling: {size: 1m}}, reduce: {wasm: p.last}, on-fault: dead-letter}
  pairs: {window-join: {left: in, right: good, left-key: [k], right-key: [k], join: {wasm: p.pair}}, window: {tumbling: {size: 1m}}, on-fault: dead-letter}
  twice: {from: in, map: {wasm: u.map, with: {how: 31}}, on-fault: dead-letter}
  kept: {from: in, key-by: [k], process: {wasm: p.running}, on-fault: dead-letter}
  lists: {from: good, key-by: [k], window: {tumbling: {size: 1m}}, apply: {wasm: p.strict}, on-fault: dead-letter}
  evicts: {from: good, key-by: {wasm: r.by-user}, window: {tumbling: {size: 1m}, evictor: {wasm: p.newest, with: {size: 9}}}, aggregate: {n: count}, on-fault: dead-letter}
  again: {from: good, key-by: [k], window: {tumbling: {size: 1m}, evictor: {count: 9}}, aggregate: {wasm: p.sum}, on-fault: dead-letter}
  all: {from: [ends.failed, both.failed, sums.failed, last.failed, pairs.failed, twice.failed, kept.failed, lists.failed, evicts.failed, again.failed]}
sinks:
  e: {from: ends, file: {path: e, format: json}}
  b: {from: both, file: {path: b, format: json}}
  s: {from: sums, file: {path: s, format: json}}
  l: {from: last, file: {path: l, format: json}}
  p: {from: pairs, file: {path: p, format: json}}
  w: {from: twice, file: {path: w, format: json}}
  k: {from: kept, file: {path: k, format: json}}
  i: {from: lists, file: {path: i, format: json}}
  v: {from: evicts, file: {path: v, format: json}}
  a: {from: again, file: {path: a, format: json}}
  failed: {from: all, file: {path: f, format: json}}
`

// TestDeadLetters: a dead letter is the record as it came to the step, with the columns
// that the function does not declare, and says where it was read: directly, or through
// steps that take each record by itself; then it has the line or message, too. Those of a
// window's list know their place only. One of a join has both rows. What is to come out was
// worked out by hand.
func TestDeadLetters(t *testing.T) {
	lines := []string{
		`{"k":"a","n":1,"t":"1970-01-01T00:00:01","user":"ann","amount":2,"more":"one"}`,
		`{"k":"a","n":2,"t":"1970-01-01T00:00:02","user":"ann","amount":2,"more":"two"}`,
		`{"k":"b","n":5,"t":"1970-01-01T00:00:02","user":"bob","amount":2,"more":"and"}`,
		`{"k":"a","n":13,"t":"1970-01-01T00:00:03","user":"ann","amount":2,"more":"no"}`,
		`{"k":"a","n":3,"t":"1970-01-01T00:00:04","user":"ann","amount":2,"more":"last"}`,
	}
	const shown = `k "a", n 13, t 1970-01-01T00:00:03, user "ann", amount 2, more "no"`
	const line = `source in, line 4, byte 237` // three lines of 79 bytes are before it
	const split = `source in, in-7, offset 103`
	for _, parallelism := range []int{1, 2} {
		for _, splits := range []bool{false, true} {
			position, original := line, lines[3]
			if splits {
				position, original = split, lines[3]+"\n" // which is no end of a line there
			}
			far := strings.Replace(position, "source in", "source far", 1)
			inWindow := func(function, key string) string {
				return fmt.Sprintf("p.%s | %s | %s | %s in the window from 1970-01-01T00:00:00.000Z to 1970-01-01T00:01:00.000Z | failed: no thirteen | \"\" | ", function, key, far, shown)
			}
			letter := func(function, key, position string) string {
				return fmt.Sprintf("p.%s | %s | %s | %s | failed: no thirteen | %q | ", function, key, position, shown, original)
			}
			want := []string{
				letter("at-end", `k "a"`, position), letter("both", `k "a"`, position), letter("sum", `k "a"`, far), letter("last", `key user "ann"`, far),
				fmt.Sprintf("u.map |  | %s | %s | bad-answer: op 0, on-record, was answered by emit twice | %q | ", position, shown, original),
				letter("running", `k "a"`, position), inWindow("strict", `k "a"`), inWindow("newest", `key user "ann"`), inWindow("sum", `k "a"`),
			}
			for _, right := range []string{"1 one", "2 two", "13 no", "3 last"} {
				n, more, _ := strings.Cut(right, " ")
				second := map[string]string{"1": "01", "2": "02", "13": "03", "3": "04"}[n]
				want = append(want, fmt.Sprintf(`p.pair | k "a" |  | %s with k "a", n %s, t 1970-01-01T00:00:%s, user "ann", amount 2, more %q | failed: no thirteen | "" | %[4]s`, shown, n, second, more))
			}
			slices.Sort(want)
			got := deadLetters(t, strings.Replace(lettersJob, "PARALLELISM", strconv.Itoa(parallelism), 1), lines, splits)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("parallelism %d, splits %t (-want +got):\n%s", parallelism, splits, diff)
			}
		}
	}
}

// runLetters runs a job over lines.
func runLetters(t *testing.T, text string, lines []string, splits bool, batch int) map[string]*recordsSink {
	t.Helper()
	sinks := map[string]*recordsSink{}
	c := with(t, nil, func(name string) connector.Sink {
		sinks[name] = &recordsSink{}
		return sinks[name]
	})
	c.Source = func(*job.Source) (connector.Source, error) {
		sent := false
		return newSource(func(c *connector.Chunk) error {
			if sent {
				return io.EOF
			}
			sent = true
			appendLines(c, strings.Join(lines, "\n")+"\n")
			if splits {
				c.Split = "in-7"
				for i := range lines {
					c.Offsets = append(c.Offsets, int64(100+i))
				}
			}
			return nil
		}), nil
	}
	c.Limits.BatchRows = batch
	j, err := runtime.New(parsePlan(t, text, "../../testdata/wasm"), c)
	must(t, err)
	must(t, j.Drive(nil))
	must(t, j.Close())
	return sinks
}

// deadLetters runs a job over lines and tells its dead letters, sorted. With splits they
// are records of a partition, whose offsets begin at 100.
func deadLetters(t *testing.T, text string, lines []string, splits bool) (letters []string) {
	t.Helper()
	sinks := runLetters(t, text, lines, splits, 1000)
	for _, quoted := range sinks["failed"].all {
		text, err := strconv.Unquote(quoted)
		must(t, err)
		var letter struct {
			Record, Original, Other                         []byte
			Shown, Position, Reason, Message, Function, Key string
			Fuel                                            *int64
		}
		must(t, json.Unmarshal([]byte(text), &letter))
		if letter.Fuel == nil || *letter.Fuel <= 0 || *letter.Fuel > 100_000 {
			t.Errorf("no fuel of one op: %s", text)
		}
		if !strings.Contains(string(letter.Record), "ann") {
			t.Errorf("the record is not whole: %s", text)
		}
		other := ""
		for _, more := range []string{"one", "two", "and", "no", "last"} {
			if strings.Contains(string(letter.Other), more) {
				other = more
			}
		}
		letters = append(letters, strings.Join([]string{
			letter.Function, letter.Key, letter.Position, letter.Shown, letter.Reason + ": " + letter.Message, strconv.Quote(string(letter.Original)), other,
		}, " | "))
	}
	slices.Sort(letters)
	return letters
}

// TestUndecodable: what a source cannot decode is put out as it was read, a line without its
// end, a message with all its bytes; what it could not read, or what is empty, is NULL.
func TestUndecodable(t *testing.T) {
	const text = `
version: 1
name: letters
sources:
  in: {file: {path: in, format: json}, schema: {n: BIGINT}, on-error: dead-letter}
sinks:
  out: {from: in, file: {path: e, format: json}}
  failed: {from: in.failed, file: {path: f, format: json}}
`
	for _, splits := range []bool{false, true} {
		want := []string{`"{\"n\":}"`, `"{]\r"`, "null"}
		chunk := linesChunk("{\"n\":}\r\n{\"n\":1}\n{]\r\r\n")
		if splits {
			want = []string{`"{\"n\":}\r\n"`, `"{]\r\r\n"`, "null", "null"}
			chunk.Split, chunk.Offsets = "in-0", []int64{0, 1, 2, 3}
			chunk.Ends = append(chunk.Ends, uint32(len(chunk.Data)))
		}
		chunk.Fault = errors.New("too long")
		sinks := map[string]*recordsSink{}
		sent := false
		c := with(t, newSource(func(c *connector.Chunk) error {
			if sent {
				return io.EOF
			}
			*c, sent = chunk, true
			return nil
		}), func(name string) connector.Sink {
			sinks[name] = &recordsSink{}
			return sinks[name]
		})
		j, err := runtime.New(parsePlan(t, text, "../../testdata/wasm"), c)
		must(t, err)
		must(t, j.Drive(nil))
		must(t, j.Close())
		var got []string
		for _, quoted := range sinks["failed"].all {
			text, err := strconv.Unquote(quoted)
			must(t, err)
			var letter struct{ Record, Original []byte }
			must(t, json.Unmarshal([]byte(text), &letter))
			if string(letter.Record) != string(letter.Original) || (letter.Record == nil) != (letter.Original == nil) {
				t.Errorf("the original is not the record: %s", text)
			}
			if letter.Record == nil {
				got = append(got, "null")
			} else {
				got = append(got, strconv.Quote(string(letter.Record)))
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("splits %t (-want +got):\n%s", splits, d)
		}
	}
}

// TestFaultNamesTheStep: as the job file calls it, also that of a function that computes
// a key.
func TestFaultNamesTheStep(t *testing.T) {
	for step, want := range map[string]string{
		"{from: in, key-by: {wasm: u.key, with: {how: 2}}, window: {tumbling: {size: 1m}}, aggregate: {count: count}}": "step s: function key of module u: ",
		"{from: in, key-by: [t], window: {tumbling: {size: 1m}}, aggregate: {wasm: u.aggregate, with: {how: 2}}}":      "step s: function aggregate of module u: ",
		"{from: in, map: {wasm: u.map, with: {how: 2}}}":                                                               "step s: function map of module u: ",
	} {
		text := strings.Replace(`
version: 1
name: letters
modules: {u: {file: unruly-c.wasm}}
sources:
  in: {file: {path: in, format: json}, schema: {n: BIGINT, t: TIMESTAMP(3)}, event-time: t}
steps:
  s: STEP
sinks:
  out: {from: s, file: {path: e, format: json}}
`, "STEP", step, 1)
		c := with(t, linesThen(`{"n":13,"t":"1970-01-01T00:00:01"}`+"\n", func() error { return io.EOF }), func(string) connector.Sink { return &recordsSink{} })
		j, err := runtime.New(parsePlan(t, text, "../../testdata/wasm"), c)
		must(t, err)
		if err := j.Drive(nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", step, err, want)
		}
		must(t, j.Close())
	}
}

// TestRefusedOnce: where decisions are taken back, a record that a limit refuses is told
// once, and so is one that the assigner or the trigger fails on, in however many windows,
// whatever comes together with it.
func TestRefusedOnce(t *testing.T) {
	const text = `
version: 1
name: letters
modules: {p: {file: picky-c.wasm}}
sources:
  in: {file: {path: in, format: json}, schema: {k: INT, n: BIGINT, t: TIMESTAMP(3)}, event-time: t}
steps:
  s: {from: in, key-by: [k], window: {wasm: p.both, trigger: {wasm: p.at-end}}, aggregate: {records: count}, on-fault: dead-letter, fault-rate: 1, limits: {entries: 20}}
sinks:
  out: {from: s, file: {path: e, format: json}}
  failed: {from: s.failed, file: {path: f, format: json}}
`
	var lines []string
	n := func(k int) int { return []int{1, 14, 1, 13, 1, 1, 14}[k%7] } // what each key's only record has
	for k := range 40 {
		lines = append(lines, fmt.Sprintf(`{"k":%d,"n":%d,"t":"1970-01-01T00:00:%02d"}`, k, n(k), k))
	}
	for _, batch := range []int{1, 7, 1000} {
		sinks := runLetters(t, text, lines, false, batch)
		// Of each key: results, letters of the assigner, letters of the trigger.
		counts, reasons := map[int][3]int{}, map[string]int{}
		count := func(k, i int) {
			c := counts[k]
			c[i]++
			counts[k] = c
		}
		for name, sink := range sinks {
			for _, quoted := range sink.all {
				text, err := strconv.Unquote(quoted)
				must(t, err)
				var row struct {
					K                     int
					Reason, Key, Function string
				}
				must(t, json.Unmarshal([]byte(text), &row))
				if name == "out" {
					count(row.K, 0)
					continue
				}
				_, err = fmt.Sscanf(row.Key, "k %d", &row.K)
				must(t, err)
				reasons[row.Reason]++
				count(row.K, map[string]int{"p.both": 1, "p.at-end": 2}[row.Function])
			}
		}
		for k := range lines {
			got := counts[k]
			refused := got == [3]int{0, 1, 0}
			// Of two windows, each with a result; a letter for the first of those without one.
			asked := got == [3]int{2, 0, 0} && n(k) != 14 || got[0] < 2 && got[1] == 0 && got[2] == 1
			if !refused && (n(k) == 13 || !asked) {
				t.Errorf("batch %d: the record of key %d, %d: %v", batch, k, n(k), got)
			}
		}
		if reasons["over-limit"] < 10 || reasons["failed"] < 5 {
			t.Errorf("batch %d: letters for %v", batch, reasons)
		}
	}
}
