package runtime

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// tally is an operator that counts rows by key.
type tally struct {
	timeless
	keeper
	seen int
}

func (o *tally) rows(_ side, b *stream.Batch, from, to int) (int, error) {
	for i := from; i < to; i++ {
		o.count(b.Row(i))
	}
	o.seen += to - from
	return to, nil
}

func (o *tally) count(row stream.Row) {
	r := o.backend.Entry(row.Hash(), row, state.Namespace{})
	if !o.backend.Has(r, 0) {
		o.backend.Hold(r, 0)
		clear(o.backend.Edit(r, 0))
	}
	o.backend.Edit(r, 0)[0]++
}

func (o *tally) advance(stream.EventTime) (bool, error) { return true, nil }
func (o *tally) complete() (bool, error)                { return true, nil }

// tallyTask is a task with a tally of so many keys, and its input.
type tallyTask struct {
	*operatorTask
	op    *tally
	in    *pipe[*stream.Batch]
	out   *pipe[*stream.Batch]
	shots []part // that were handed over
	t     *testing.T
}

func newTallyTask(t *testing.T, keys int) *tallyTask {
	still := &node{}
	still.state.Store(running)
	connect := func() *pipe[*stream.Batch] {
		p := newPipe(func() *stream.Batch { return new(stream.Batch) })
		p.producer, p.consumer = still, still
		return p
	}
	out := newOutput(Limits{BatchRows: 100, BatchBytes: 1 << 20}, newMeter())
	k := &tallyTask{op: &tally{}, in: connect(), out: connect(), t: t}
	out.routes = []*route{{pipes: []*pipe[*stream.Batch]{k.out}}}
	k.op.keeper = keeper{backend: state.NewMemory(128, 8), outs: outputs{out}, check: &checkpoints{node: still}, records: defaultSliceRecords}
	k.operatorTask = &operatorTask{op: k.op, node: newScheduler(&stillClock{}).add("", 0, nil, false), check: k.op.check, keeper: &k.op.keeper, flush: flushTimer{clock: &stillClock{}}}
	k.operatorTask.in.connect(k.in, left, 0)
	for i := range keys {
		k.op.count(rowOf(i))
	}
	return k
}

var tallyKey = stream.MustSchema(stream.Field{Name: "k", Type: stream.Type{Kind: stream.BigInt}})

func rowOf(key int) stream.Row {
	w := stream.NewRowWriter(tallyKey)
	w.BeginIn(nil, stream.Insert)
	w.SetInt64(0, int64(key))
	return w.Buffer()
}

// send puts a batch with one row for the key, and a mark unless it is 0, in.
func (k *tallyTask) send(key int, kind stream.MarkKind, value int64) {
	b, ok := k.in.take()
	if !ok {
		k.t.Fatal("the task did not give its batches back")
	}
	b.Reset()
	b.Append(rowOf(key), 1)
	if kind != 0 {
		b.Mark(kind, value)
	}
	k.in.send(b)
}

func (k *tallyTask) step() (more bool) {
	out, err := k.operatorTask.step()
	if err != nil {
		k.t.Fatal(err)
	}
	k.shots = k.op.check.take(k.shots)
	return out.more
}

// put is the marks that the task put out, by kind.
func (k *tallyTask) put() (kinds []stream.MarkKind) {
	for {
		b, ok := k.out.receive()
		if !ok {
			return kinds
		}
		for _, m := range b.Marks {
			kinds = append(kinds, m.Kind)
		}
		k.out.giveBack(b)
	}
}

// counts is what a shot says that the keys' counts are.
func (k *tallyTask) counts(s part) map[string]byte {
	k.t.Helper()
	store := checkpoint.NewMemory()
	ref := checkpoint.FileRef{Name: "1-000001-tally-0.base", Base: true, Groups: checkpoint.AllGroups}
	err := putFile(store, &ref, func(w io.Writer) (checkpoint.FileSummary, error) { return s.delta.Write(w, func() {}) })
	if err != nil {
		k.t.Fatal(err)
	}
	files, err := checkpoint.OpenRefs(store, []checkpoint.FileRef{ref})
	if err != nil {
		k.t.Fatal(err)
	}
	b := state.NewMemory(128, 8)
	counts := map[string]byte{}
	var rows []stream.Row
	err = checkpoint.Load(files, checkpoint.AllGroups, func(key, value []byte) error {
		rows = append(rows, stream.Row(slices.Clone(key[:len(key)-1]))) // less the namespace, which is zero
		return b.Restore(key, value)
	})
	if err := errors.Join(err, b.Restored(), checkpoint.CloseAll(files)); err != nil {
		k.t.Fatal(err)
	}
	for _, row := range rows {
		counts[string(row)] = b.Value(b.Entry(row.Hash(), row, state.Namespace{}), 0)[0]
	}
	return counts
}

const tallyKeys = 9*defaultSliceRecords + 1

// TestShotBetweenBatches: a barrier goes on at once, records are handled while the
// snapshot is written, and are not in it; a task without input goes on writing.
func TestShotBetweenBatches(t *testing.T) {
	k := newTallyTask(t, tallyKeys)
	k.send(0, stream.MarkBarrier, 7)
	k.step()
	if kinds := k.put(); len(kinds) != 1 || kinds[0] != stream.MarkBarrier {
		t.Fatalf("marks %v were put out, not a barrier", kinds)
	}
	if len(k.shots) > 0 {
		t.Fatal("the whole state was written at once")
	}
	k.send(tallyKeys-1, 0, 0)
	k.step()
	if k.op.seen != 2 || len(k.shots) > 0 {
		t.Fatalf("%d records were handled, %d snapshots taken: the task waits for its snapshot", k.op.seen, len(k.shots))
	}
	for steps := 0; k.step(); steps++ {
		if steps > 10 {
			t.Fatal("the snapshot has no end")
		}
	}
	if len(k.shots) != 1 || k.shots[0].epoch != 7 || !k.shots[0].base {
		t.Fatalf("snapshots %+v were taken, not one base of epoch 7", k.shots)
	}
	counts := k.counts(k.shots[0])
	if len(counts) != tallyKeys || counts[string(rowOf(0))] != 2 || counts[string(rowOf(tallyKeys-1))] != 1 {
		t.Errorf("%d keys, counts %d and %d: want %d keys, 2 and 1", len(counts), counts[string(rowOf(0))], counts[string(rowOf(tallyKeys-1))], tallyKeys)
	}
}

// TestShotBeforeTheNext: a second barrier, and the end, come when the snapshot
// under way is handed over.
func TestShotBeforeTheNext(t *testing.T) {
	k := newTallyTask(t, tallyKeys)
	for epoch := range int64(2) {
		k.send(0, stream.MarkBarrier, 1+epoch)
		k.step()
		k.put()
	}
	if len(k.shots) != 1 || k.shots[0].epoch != 1 {
		t.Fatalf("%d snapshots were taken at the second barrier, not the first", len(k.shots))
	}
	k.send(0, stream.MarkEnd, 0)
	k.step()
	if kinds := k.put(); len(kinds) != 1 || kinds[0] != stream.MarkEnd || len(k.shots) != 2 {
		t.Fatalf("marks %v were put out behind %d snapshots, not the end behind 2", kinds, len(k.shots))
	}
	for i, want := range []byte{2, 3} {
		if got := k.counts(k.shots[i])[string(rowOf(0))]; got != want {
			t.Errorf("snapshot %d has count %d, want %d", i, got, want)
		}
	}
}
