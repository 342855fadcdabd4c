package runtime

import (
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/job"
)

// apartJob is alignedJob without what has its sources wait for each other, and with a
// pipeline for each of them.
var apartJob = strings.NewReplacer(
	", alignment: {group: g, max-drift: 20ms}", "",
	"  both: {from: [a, b]}", "  first: {from: a}\n  second: {from: b}",
	"  out: {from: both, file: {path: out, format: json}}", "  out: {from: first, file: {path: a.out, format: json}}\n  other: {from: second, file: {path: b.out, format: json}}",
).Replace(alignedJob)

// TestFairness: one worker shares itself among tasks that always have something to do,
// in pipelines of their own or before one step. A chunk is read as soon as there is room
// for it: what the worker does is all that takes time here.
func TestFairness(t *testing.T) {
	const chunk, records = 7, 7 * 1000
	for name, text := range map[string]string{
		"two pipelines":             apartJob,
		"two sources before a step": strings.ReplaceAll(alignedJob, ", alignment: {group: g, max-drift: 20ms}", ""),
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := job.Parse([]byte(text), job.Options{File: "fair.yaml", Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			sink := &discardSink{}
			c := driftConfig(0, sink, &stillClock{now: 1})
			c.Decoders = 1
			c.Source = func(*job.Source) (connector.Source, error) { return &numbers{step: 1, end: records - 1}, nil }
			j, err := New(plan, c)
			if err != nil {
				t.Fatal(err)
			}
			w, apart := newWorker(j.sched), int64(0)
			for !j.sched.stopped.Load() {
				readAll(j)
				n := w.claim()
				if n == nil {
					break
				}
				n.run()
				a, b := j.stats.sources[0].Records.Load(), j.stats.sources[1].Records.Load()
				apart = max(apart, a-b, b-a)
			}
			readAll(j)
			if err := j.sched.cause(); err != nil || sink.lines != 2*records {
				t.Errorf("it ended with %v after %d records of %d", err, sink.lines, 2*records)
			}
			// A source takes some chunks in a turn, and there are as many in pipes.
			if most := int64(4 * stepBatches * chunk); apart > most {
				t.Errorf("one source was %d records ahead of the other, want at most %d", apart, most)
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// readAll has all I/O tasks do what they can.
func readAll(j *Job) {
	for again := true; again; {
		again = false
		for _, n := range j.sched.nodes {
			if n.signal != nil && n.state.CompareAndSwap(ready, running) {
				n.run()
				again = true
			}
		}
	}
}
