package runtime_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/checkpoint/folder"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/sim/disk"
)

// crashJob has what a checkpoint can get wrong: two inputs to align, tasks that
// exchange records, timers, sessions that merge, and a step behind another.
const crashJob = `
version: 1
name: crash
parallelism: 2
sources:
  a: &source
    file: {path: in, format: json}
    schema: {k: STRING, v: BIGINT, t: TIMESTAMP(3)}
    event-time: t
    watermark: {max-out-of-orderness: 200ms, emit: on-event}
  b: *source
steps:
  counts:
    from: [a, b]
    key-by: [k]
    window: {tumbling: {size: 100ms}}
    aggregate: {n: count, v: sum(v)}
  totals:
    from: counts
    key-by: [n]
    window: {tumbling: {size: 500ms}}
    aggregate: {keys: count}
  sessions:
    from: [a, b]
    key-by: [k]
    window: {session: {gap: 60ms}}
    aggregate: {n: count, v: sum(v)}
sinks:
  counts: {from: counts, file: {path: counts, format: json}}
  totals: {from: totals, file: {path: totals, format: json}}
  sessions: {from: sessions, file: {path: sessions, format: json}}
`

const (
	crashKeys      = 7
	crashPerSource = 120
)

// crashRecord is the ith record of one of the two sources.
type crashRecord struct {
	key  string
	v, t int64
}

func crashRecordAt(source string, i int64) crashRecord {
	r := rand.New(rand.NewPCG(uint64(source[0]), uint64(i)))
	return crashRecord{fmt.Sprint("k", r.IntN(crashKeys)), r.Int64N(100), 20*i + r.Int64N(200)}
}

// crashWant computes what the job is to put out, by sink, from all records at once.
func crashWant() map[string][]string { return crashWantOf(func(crashRecord) bool { return true }) }

// crashWantOf does that for some of the records.
func crashWantOf(has func(crashRecord) bool) map[string][]string {
	type cell struct {
		key   string
		start int64
	}
	n, v := map[cell]int64{}, map[cell]int64{}
	times := map[string][]crashRecord{}
	for _, source := range []string{"a", "b"} {
		for i := range int64(crashPerSource) {
			r := crashRecordAt(source, i)
			if !has(r) {
				continue
			}
			n[cell{r.key, r.t / 100}]++
			v[cell{r.key, r.t / 100}] += r.v
			times[r.key] = append(times[r.key], r)
		}
	}
	want := map[string][]string{}
	put := func(sink, format string, args ...any) {
		want[sink] = append(want[sink], fmt.Sprintf("{"+format+`,"window_start":%d,"window_end":%d}`+"\n", args...))
	}
	totals := map[[2]int64]int64{}
	for c, count := range n {
		put("counts", `"k":%q,"n":%d,"v":%d`, c.key, count, v[c], 100*c.start, 100*c.start+100)
		totals[[2]int64{count, c.start / 5}]++
	}
	for at, keys := range totals {
		put("totals", `"n":%d,"keys":%d`, at[0], keys, 500*at[1], 500*at[1]+500)
	}
	for key, records := range times {
		slices.SortFunc(records, func(a, b crashRecord) int { return int(a.t - b.t) })
		for len(records) > 0 {
			last, sum, i := records[0].t, int64(0), 0
			for ; i < len(records) && records[i].t <= last+60; i++ {
				last, sum = records[i].t, sum+records[i].v
			}
			put("sessions", `"k":%q,"n":%d,"v":%d`, key, i, sum, records[0].t, last+60)
			records = records[i:]
		}
	}
	for _, lines := range want {
		slices.Sort(lines)
	}
	return want
}

var errDied = errors.New("the process has died")

// world is what outlives a process: the disk, and what sinks have handed over and
// made visible. It dies and lives on with the process that is in it.
type world struct {
	disk  *disk.Disk
	sinks map[string]*outside
	dead  bool

	merged int // how often a checkpoint with merged files was gone on from
}

// outside is where a sink writes to.
type outside struct {
	prepared map[int][]string // handed over; not visible, not given up
	visible  []string
	decided  map[int]bool // made visible, or given up (false)
	next     int
}

func newWorld(seed uint64) *world {
	return &world{disk: disk.New(seed), sinks: map[string]*outside{}}
}

// sink is where a sink writes to.
func (w *world) sink(name string) *outside {
	if w.sinks[name] == nil {
		w.sinks[name] = &outside{prepared: map[int][]string{}, decided: map[int]bool{}}
	}
	return w.sinks[name]
}

// died tells whether the process in the world is to do nothing more.
func (w *world) died() error {
	if w.dead || w.disk.Stopped() {
		return errDied
	}
	return nil
}

// die ends the process before it does anything else.
func (w *world) die() {
	w.dead = true
	w.disk.StopAt(w.disk.Ops() + 1)
}

// outsideSink hands over its lines under a number, and makes them visible by it.
type outsideSink struct {
	discard
	world   *world
	out     *outside
	lines   []string
	pending []int
}

func (s *outsideSink) numbers(handover []byte) (numbers []int) {
	for text := range strings.FieldsSeq(string(handover)) {
		n, _ := strconv.Atoi(text)
		numbers = append(numbers, n)
	}
	return numbers
}

func (s *outsideSink) commit(n int) error {
	lines, ok := s.out.prepared[n]
	switch {
	case s.world.died() != nil:
		return errDied
	case s.out.decided[n]:
		return nil
	case !ok:
		return fmt.Errorf("what was handed over as %d is lost", n)
	}
	delete(s.out.prepared, n)
	s.out.decided[n] = true
	s.out.visible = append(s.out.visible, lines...)
	return nil
}

func (s *outsideSink) Recover(from []byte) error {
	for _, n := range s.numbers(from) {
		if err := s.commit(n); err != nil {
			return err
		}
	}
	return s.world.died()
}

func (s *outsideSink) Open([]byte) error {
	if err := s.world.died(); err != nil {
		return err
	}
	clear(s.out.prepared)
	return nil
}

func (s *outsideSink) Write(r *connector.Records) error {
	for line := range strings.Lines(string(r.Data)) {
		s.lines = append(s.lines, line)
	}
	return s.world.died()
}

func (s *outsideSink) Handover(bool) ([]byte, error) {
	if err := s.world.died(); err != nil {
		return nil, err
	}
	if len(s.lines) > 0 {
		s.out.next++
		s.out.prepared[s.out.next] = s.lines
		s.pending, s.lines = append(s.pending, s.out.next), nil
	}
	var handover []byte
	for _, n := range s.pending {
		handover = fmt.Append(handover, n, " ")
	}
	return handover, nil
}

func (s *outsideSink) Commit() error {
	for len(s.pending) > 0 {
		if err := s.commit(s.pending[0]); err != nil {
			return err
		}
		s.pending = s.pending[1:]
	}
	return s.world.died()
}

// crashSource reads the records of a source, and asks for checkpoints on the way.
type crashSource struct {
	world *world
	name  string
	next  int64
	piece int // records that are read at once
	ask   func(next int64)
}

func (s *crashSource) Open(at []connector.SplitPosition) error {
	if len(at) > 0 {
		s.next = at[0].Record
	}
	return s.world.died()
}

func (s *crashSource) Read(c *connector.Chunk) error {
	if err := s.world.died(); err != nil {
		return err
	}
	c.Start = connector.Position{Offset: s.next, Record: s.next}
	for ; s.next < crashPerSource && len(c.Ends) < s.piece; s.next++ {
		r := crashRecordAt(s.name, s.next)
		c.Data = fmt.Appendf(c.Data, `{"k":%q,"v":%d,"t":%d}`+"\n", r.key, r.v, r.t)
		c.Ends = append(c.Ends, uint32(len(c.Data)))
	}
	c.Next = connector.Position{Offset: s.next, Record: s.next}
	s.ask(s.next)
	if len(c.Ends) == 0 {
		return io.EOF
	}
	return nil
}

func (s *crashSource) Checkpointed([]connector.SplitPosition) {}
func (s *crashSource) Size() int64                            { return 0 }
func (s *crashSource) Close() error                           { return nil }

// crashPath is where the job's checkpoints are on the world's disk.
const crashPath = "/state"

// life is one run of the job in a world.
type life struct {
	order   uint64 // of its tasks' steps
	every   int64  // records of source a between two checkpoints
	piece   int    // records that are read at once; 0: six
	merge   checkpoint.MergeLimits
	reached func(runtime.Point)
	taken   func(error) // told of each checkpoint that was asked for; nil: nobody
	adapt   func(*runtime.Config)
	// more lets go what the job waits for when it has nothing left to do; nil, or false:
	// there is nothing.
	more  func() bool
	clock *manualClock
	job   *runtime.Job
}

// live runs the job from its newest checkpoint until it ends or dies.
func (w *world) live(t *testing.T, plan *job.Job, l *life) (err error) {
	t.Helper()
	w.dead = false
	if l.piece == 0 {
		l.piece = 6
	}
	store, err := folder.Open(w.disk, crashPath)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	recovery, err := checkpoint.Recover(store)
	if err != nil {
		return err
	}
	if len(recovery.Problems) > 0 || recovery.CommittedBeyond > 0 {
		t.Errorf("recovery: problems %v, committed beyond %d", recovery.Problems, recovery.CommittedBeyond)
	}
	w.merged += hasMerged(recovery.Manifest)
	c := config(t, nil)
	l.clock = &manualClock{now: 1}
	c.Clock, c.Limits.BatchRows, c.Decoders = l.clock, 16, 1
	c.Source = func(s *job.Source) (connector.Source, error) {
		return &crashSource{world: w, name: s.Name, piece: l.piece, ask: func(next int64) {
			if s.Name == "a" && next%l.every == 0 && next < crashPerSource {
				must(t, l.job.Checkpoint(func(err error) {
					if l.taken != nil {
						l.taken(err)
					}
				}))
			}
		}}, nil
	}
	c.Sink = func(s *job.Sink) (connector.Sink, error) { return &outsideSink{world: w, out: w.sink(s.Name)}, nil }
	c.Checkpoints = &runtime.Checkpoints{
		Store: store, Recovery: recovery, Reached: l.reached, Retained: 1, Merge: l.merge,
		Schedule: checkpoint.ScheduleOptions{Timeout: time.Hour, TolerableFailures: 3},
	}
	if l.adapt != nil {
		l.adapt(&c)
	}
	if m := recovery.Manifest; m != nil && m.Final && recovery.Committed {
		return nil
	}
	if l.job, err = runtime.New(plan, c); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.job.Close()) }()
	order := rand.New(rand.NewPCG(l.order, 1))
	for {
		if err := l.job.Drive(order); err != nil || l.more == nil || !l.more() {
			return err
		}
	}
}

// hasMerged is 1 if files of a checkpoint are made of older ones: they are named
// by a later epoch than what is in them.
func hasMerged(m *checkpoint.Manifest) int {
	if m == nil {
		return 0
	}
	for _, s := range m.Steps {
		for _, f := range s.Files {
			if n, ok := checkpoint.ParseName(f.Name); ok && n.Epoch > f.Epoch {
				return 1
			}
		}
	}
	return 0
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// end is what follows the death of a process: it was killed, or the power was cut.
func (w *world) end(cut bool) {
	if cut {
		w.disk.Crash()
	} else {
		w.disk.Kill()
	}
}

// check holds what is visible against what is to be.
func (w *world) check(t *testing.T, want map[string][]string) {
	t.Helper()
	for name, lines := range want {
		out := w.sink(name)
		slices.Sort(out.visible)
		if diff := cmp.Diff(lines, out.visible); diff != "" {
			t.Errorf("%s (-want +visible):\n%.1500s", name, diff)
		}
	}
}

func crashPlan(t testing.TB) *job.Job {
	plan, err := job.Parse([]byte(crashJob), job.Options{File: "crash.yaml", Dir: t.TempDir()})
	must(t, err)
	return plan
}

// TestCrashAtEachDiskOperation ends the process before each operation on the disk of
// a job with four checkpoints, by kill and by power cut, in many orders of its tasks'
// steps; every third time the recovery dies too. What is visible in the end is what
// was to be: nothing lost, nothing twice.
func TestCrashAtEachDiskOperation(t *testing.T) {
	plan, want := crashPlan(t), crashWant()
	stops := 0
	for n := 1; ; n++ {
		w := newWorld(uint64(n))
		w.disk.StopAt(n)
		err := w.live(t, plan, &life{order: uint64(n), every: 30})
		if !w.disk.Stopped() {
			must(t, err)
			w.check(t, want)
			break
		}
		stops++
		w.end(n%2 == 0)
		if n%3 == 0 {
			w.disk.StopAt(w.disk.Ops() + 1 + n%40)
			_ = w.live(t, plan, &life{order: uint64(n), every: 12})
			w.end(n%4 < 2)
		}
		if err := w.live(t, plan, &life{order: uint64(n) + 1, every: 18}); err != nil {
			t.Errorf("after a crash: %v", err)
		}
		if w.check(t, want); t.Failed() {
			t.Fatalf("the process ended before operation %d; it was %v", n, err)
		}
	}
	if t.Logf("%d operations", stops); stops < 150 {
		t.Errorf("%d operations are too few for four checkpoints", stops)
	}
}

// TestCrashAtEachPoint does the same at the points that matter of each checkpoint and
// sink.
func TestCrashAtEachPoint(t *testing.T) {
	plan, want := crashPlan(t), crashWant()
	stops := 0
	for _, point := range []runtime.Point{
		runtime.HandoverBefore, runtime.HandoverAfter, runtime.ManifestBefore, runtime.ManifestAfter,
		runtime.CommitBefore, runtime.CommitAfter, runtime.NoteBefore, runtime.NoteAfter,
	} {
		for nth := 1; ; nth++ {
			w, left := newWorld(uint64(nth)), nth
			err := w.live(t, plan, &life{order: uint64(nth), every: 30, reached: func(p runtime.Point) {
				if p == point {
					if left--; left == 0 {
						w.die()
					}
				}
			}})
			if left > 0 {
				must(t, err)
				break
			}
			stops++
			w.end(nth%2 == 0)
			if err := w.live(t, plan, &life{order: uint64(nth) + 1, every: 18}); err != nil {
				t.Errorf("after a crash: %v", err)
			}
			if w.check(t, want); t.Failed() {
				t.Fatalf("the process ended at %s:%d; it was %v", point, nth, err)
			}
		}
	}
	if t.Logf("%d points", stops); stops < 45 {
		t.Errorf("%d points are too few for three checkpoints of three sinks", stops)
	}
}

// crashThrice ends the job three times within so many operations on the disk, merging
// files again and again, and has it end; it returns its last life.
func (w *world) crashThrice(t *testing.T, r *rand.Rand, within int, plan func() *job.Job) *life {
	t.Helper()
	next := func() *life {
		return &life{order: r.Uint64(), every: 2, piece: 2, merge: checkpoint.MergeLimits{DeltasMax: 1}}
	}
	for range 3 {
		p := plan()
		w.disk.StopAt(w.disk.Ops() + 1 + r.IntN(within))
		_ = w.live(t, p, next())
		w.end(r.IntN(2) == 0)
	}
	p, last := plan(), next()
	if err := w.live(t, p, last); err != nil {
		t.Errorf("after three crashes: %v", err)
	}
	return last
}

// spread plans a job of functions with some parallelism.
func spread(t *testing.T, r *rand.Rand, text string) *job.Job {
	t.Helper()
	plan := parsePlan(t, text, "../../testdata/wasm")
	plan.Parallelism = 1 + r.IntN(4)
	return plan
}

// TestCrashesWithMergedFiles has files merged again and again, and crashes anywhere
// among that.
func TestCrashesWithMergedFiles(t *testing.T) {
	plan, want := crashPlan(t), crashWant()
	merged := 0
	for seed := range uint64(60) {
		w, r := newWorld(seed), rand.New(rand.NewPCG(seed, 3))
		w.crashThrice(t, r, 600, func() *job.Job { return plan })
		if w.check(t, want); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		merged += w.merged
	}
	if t.Logf("%d runs went on from merged files", merged); merged < 40 {
		t.Errorf("only %d runs went on from merged files", merged)
	}
}
