package runtime

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// median is a window function in Go: it gets all records of a firing and puts out
// as many rows as it likes, here the middle value and how many there were.
type median struct {
	nothingLost
	out    *output
	writer *stream.RowWriter
	input  stream.Column
}

func (f *median) fire(_ state.Ref, w window.Window, rows []listedRow) error {
	var values []int64
	for _, e := range rows {
		values = append(values, f.input.Int64(e.row))
	}
	slices.Sort(values)
	for _, v := range []int64{values[len(values)/2], int64(len(values))} {
		f.writer.Begin(f.out.batch, stream.Insert)
		f.writer.SetInt64(0, v)
		f.writer.End(stream.EventTime(w.MaxTimestamp()))
	}
	return nil
}

func (f *median) retire(state.Ref, window.Window) {}
func (f *median) pump() bool                      { return true }
func (f *median) watermark(t stream.EventTime)    { f.out.batch.Mark(stream.MarkWatermark, int64(t)) }
func (f *median) complete() error                 { return nil }

// TestApply: a window function gets the records of each firing in order of arrival,
// those of sessions that merged included, and what an evictor left.
func TestApply(t *testing.T) {
	long := stream.Type{Kind: stream.BigInt}
	in := stream.MustSchema(stream.Field{Name: "k", Type: long}, stream.Field{Name: "v", Type: long})
	result := stream.MustSchema(stream.Field{Name: "x", Type: long})
	for name, c := range map[string]struct {
		options window.Options
		want    []string
	}{
		"tumbling": {window.Options{Assigner: window.Assigner{Kind: window.Tumbling, Size: 10}}, []string{"7 @9", "3 @9", "1 @19", "1 @19"}},
		"session":  {window.Options{Assigner: window.Assigner{Kind: window.Session, Gap: 5}}, []string{"7 @16", "4 @16"}},
		"evicted": {window.Options{Assigner: window.Assigner{Kind: window.Tumbling, Size: 10}, Evictor: &window.Evictor{Kind: window.ByCount, Count: 1}},
			[]string{"7 @9", "1 @9", "1 @19", "1 @19"}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.options.Validate(); err != nil {
				t.Fatal(err)
			}
			out := newOutput(Limits{BatchRows: 100, BatchBytes: 1 << 20}, newMeter())
			core := window.New(c.options)
			o := &windowOperator{
				core: core, merges: core.Merges(), stateful: core.NeedsTrigger(), out: out, stats: &StepStats{}, failing: failing{&faults{}},
				facts: window.Facts{Now: window.Now{Watermark: stream.MinTime}},
			}
			o.sides[left].key = stream.NewProjection(in, []int{0})
			(&builder{plan: &job.Job{MaxParallelism: 128}}).windowCells(o, 0, true, nil)
			o.contents = &listed{backend: o.backend, evictor: c.options.Evictor, fn: &median{out: out, writer: stream.NewRowWriter(result), input: in.Column(1)}}

			batch, w := new(stream.Batch), stream.NewRowWriter(in)
			for _, r := range [][2]int64{{3, 9}, {12, 1}, {4, 5}, {8, 7}} { // time, value
				w.Begin(batch, stream.Insert)
				w.SetInt64(1, r[1])
				w.End(stream.EventTime(r[0]))
			}
			if n, err := o.rows(left, batch, 0, batch.Len()); err != nil || n != batch.Len() {
				t.Fatalf("%d rows, error %v", n, err)
			}
			if done, err := o.advance(stream.MaxTime); err != nil || !done {
				t.Fatalf("done %v, error %v", done, err)
			}
			var got []string
			x := result.Column(0)
			for i := range out.batch.Len() {
				got = append(got, fmt.Sprintf("%d @%v", x.Int64(out.batch.Row(i)), out.batch.Time(i)))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
