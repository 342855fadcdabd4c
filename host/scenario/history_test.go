package scenario_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/scenario"
)

// history is a random script for the machine, with what the reference makes of it.
type history struct {
	random *rand.Rand
	ref    *reference
	role   string
	script strings.Builder
	time   int64
	flink  bool // as Flink's functions can do it, too
	faults bool // some records fail, and are left out
}

var (
	someActions = []string{
		"set", "add", "add", "clear", "get", "peek", "event timer", "event timer", "event timer", "clock timer", "clock timer",
		"no event timer", "no clock timer", "put", "put", "put", "look", "del", "del all", "scan", "push", "push", "list", "empty",
	}
	textActions      = []string{"write", "read"}
	broadcastActions = []string{"share", "share", "unshare", "add shared"}
)

func newHistory(seed uint64, f string, flink bool) *history {
	h := &history{random: rand.New(rand.NewPCG(seed, 7)), role: "process", flink: flink, faults: !flink}
	switch f {
	case "ttl", "ttl-read":
		h.ref = newReference(100, f == "ttl-read")
	case "ttl-ever":
		h.ref = newReference(1<<62, false)
	default:
		h.ref = newReference(0, false)
	}
	step := "{from: in, key-by: [k], process: {wasm: m." + f + "}}"
	policy := ""
	if h.faults {
		policy = ", on-fault: skip, fault-rate: 1}"
	}
	switch f {
	case "co":
		h.role, step = f, "{co-process: {left: in, right: two, left-key: [k], right-key: [k], function: {wasm: m.co}}}"
	case "spread":
		h.role, step = f, "{from: in, key-by: [k], broadcast-process: {broadcast: two, function: {wasm: m.spread}}}"
	}
	two := ""
	if h.role != "process" {
		two = "\n  two: {test: {}, schema: {k: STRING, what: STRING, n: BIGINT, x: BIGINT}}"
	}
	fmt.Fprintf(&h.script, `-- job.yaml --
version: 1
name: history
modules: {m: {file: testdata/process/machine.json}}
sources:
  in: {test: {}, schema: {k: STRING, what: STRING, n: BIGINT, x: BIGINT}}%s
steps:
  p: %s
sinks:
  out: {from: p, test: {}}
-- script --
`, two, strings.TrimSuffix(step, "}")+cmp.Or(policy, "}"))
	for range 40 + h.random.IntN(160) {
		h.action(f)
	}
	return h
}

// say adds an action, and what is wanted of it.
func (h *history) say(format string, args ...any) {
	fmt.Fprintf(&h.script, format+"\n", args...)
	for _, w := range h.ref.wants {
		h.script.WriteString(w + "\n")
	}
	h.ref.wants = nil
}

func (h *history) action(f string) {
	r := h.random
	switch p := r.IntN(100); {
	case p < 8:
		t := h.time + r.Int64N(40)
		h.time = t
		if h.role != "process" {
			h.say("watermark two %d", t)
		}
		h.ref.watermark(t)
		h.say("watermark in %d", t)
	case p < 16:
		t := h.ref.clock + 1 + r.Int64N(80)
		h.ref.moveClock(t)
		h.say("clock %d", t)
	case p < 26 && h.role == "spread":
		what, n, x := broadcastActions[r.IntN(len(broadcastActions))], r.Int64N(3), 1+r.Int64N(3)
		h.ref.broadcast(what, n, x)
		h.say(`emit two {"what":%q,"n":%d,"x":%d}`, what, n, x)
	case p < 30 && h.role == "spread":
		h.emit("shared", r.Int64N(3), 0)
	default:
		h.keyed(f)
	}
}

// keyed adds an action on a random key.
func (h *history) keyed(f string) {
	r := h.random
	what := someActions[r.IntN(len(someActions))]
	if f != "fixed" && f != "ttl" && r.IntN(10) == 0 {
		what = textActions[r.IntN(2)]
	}
	n, x := r.Int64N(6), r.Int64N(100)
	if h.faults && r.IntN(8) == 0 {
		what = "bad"
	}
	if h.flink && f == "ttl-read" {
		// A read of Flink's is one even if nobody says so, and so is each look at an element.
		switch what {
		case "peek", "push", "list", "empty":
			what = "get"
		}
	}
	switch what {
	case "put", "look", "del":
		n = []int64{0, 1, 2, 255, 256, -1}[n]
	case "scan":
		n, x = []int64{0, 1, 2, 255, 256, -1}[n], r.Int64N(2)
		if h.flink && f == "ttl-read" {
			x = 0
		}
	case "event timer", "no event timer":
		n = h.time + 1 + r.Int64N(30) // not in the past: a restart forgets the watermark
	case "clock timer", "no clock timer":
		n = h.ref.clock + 1 + r.Int64N(30)
	}
	h.emit(what, n, x)
}

func (h *history) emit(what string, n, x int64) {
	k, source, at := []string{"a", "b", "c", "a key that does not fit into its slot"}[h.random.IntN(4)], "in", ""
	if h.role == "co" && h.random.IntN(2) == 0 {
		source = "two"
	}
	if h.random.IntN(3) > 0 {
		at = fmt.Sprintf(" @%d", h.random.Int64N(100))
	}
	h.ref.record(k, what, n, x, at)
	h.say(`emit %s {"k":%q,"what":%q,"n":%d,"x":%d}%s`, source, k, what, n, x, at)
}

// TestProcessHistories plays random histories in ways that may not matter.
func TestProcessHistories(t *testing.T) {
	seeds := uint64(4)
	if testing.Short() {
		seeds = 1
	}
	for _, f := range []string{"fixed", "texts", "ttl", "ttl-read", "ttl-ever", "co", "spread"} {
		t.Run(f, func(t *testing.T) {
			for seed := range seeds {
				h := newHistory(seed, f, false)
				s := parse(t, "history.scenario", []byte(h.script.String()))
				o := machines()
				for _, way := range []struct {
					batch, parallelism int
					restart            bool
					rescale            []int
				}{{0, 1, false, nil}, {4096, 4, false, nil}, {3, 2, false, nil}, {0, 1, true, nil}, {7, 3, true, []int{1, 4, 2, 5, 3}}} {
					o.Batch, o.Parallelism, o.RestartEvery, o.Rescale = way.batch, way.parallelism, way.restart, way.rescale
					if r := s.Run(o); r.Outcome != scenario.Pass {
						t.Fatalf("seed %d, %+v: %v\n%s", seed, way, r, numbered(h.script.String(), r.Line))
					}
				}
			}
		})
	}
}

var writeHistories = flag.String("histories", "", "write histories into this folder, for Flink to say what they lead to")

// TestHistoriesForFlink writes the scripts in testdata/process/flink: what they want was
// written by Flink's own process functions then, in its operator test harness, which did
// what the machine does (testdata/process/Machine.java).
func TestHistoriesForFlink(t *testing.T) {
	if *writeHistories == "" {
		t.Skip("NOT RUN: only with -histories")
	}
	for _, f := range []string{"fixed", "texts", "ttl", "ttl-read", "co", "spread"} {
		for seed := range uint64(3) {
			h := newHistory(100+seed, f, true)
			text := strings.Replace(h.script.String(), "testdata/process/machine.json", "../machine.json", 1)
			path := filepath.Join(*writeHistories, fmt.Sprintf("%s-%d.scenario", f, seed))
			if err := os.WriteFile(path, []byte("A random history.\n"+text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// numbered is a script up to a few lines behind one.
func numbered(script string, line int) string {
	var b strings.Builder
	for i, text := range strings.Split(script, "\n") {
		if i < line+8 {
			fmt.Fprintf(&b, "%d %s\n", i+1, text)
		}
	}
	return b.String()
}
