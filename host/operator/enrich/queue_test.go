package enrich_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/operator/enrich"
	"github.com/wasmstream/wasmstream/host/stream"
)

// model is what Flink's two queues do, as plainly as can be: a list of what came.
type model struct {
	order   enrich.Order
	entries []*modelled
	clock   int
}

// modelled is a record, or a mark with a kind.
type modelled struct {
	name     string
	kind     stream.MarkKind
	finished int // when; 0: it was not
}

// next is what may leave; -1: nothing. Of the records before the first mark the one
// that was finished first, or the first that came if it was finished.
func (m *model) next() int {
	best := -1
	for i, e := range m.entries {
		if e.kind != 0 {
			if i == 0 {
				return 0
			}
			break
		}
		if e.finished > 0 && (best < 0 || e.finished < m.entries[best].finished) {
			best = i
		}
		if m.order == enrich.Ordered {
			break
		}
	}
	return best
}

// mark adds a mark as the queue says that it does.
func (m *model) mark(kind stream.MarkKind, value int64) {
	if n := len(m.entries); n > 0 {
		switch last := m.entries[n-1]; {
		case kind == stream.MarkWatermark && last.kind == kind:
			last.name = markName(kind, value)
			return
		case kind == stream.MarkIdle && last.kind == stream.MarkActive, kind == stream.MarkActive && last.kind == stream.MarkIdle:
			m.entries = m.entries[:n-1]
			return
		}
	}
	m.entries = append(m.entries, &modelled{name: markName(kind, value), kind: kind})
}

func markName(kind stream.MarkKind, value int64) string { return fmt.Sprint("mark ", kind, " ", value) }

// TestQueueAgainstModel plays random histories on the queue and on the model: what may
// leave is the same at every point, and so is what has not left.
func TestQueueAgainstModel(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		order, capacity := enrich.Order(seed%2), 1+r.IntN(9)
		q, m := enrich.NewQueue(order, capacity), &model{order: order}
		var open []*enrich.Record
		var trail []string
		for i := range 200 {
			switch what := r.IntN(10); {
			case what < 4 && !q.Full():
				name := fmt.Sprint("record ", i)
				open = append(open, q.Add(stream.Row(name), stream.EventTime(i)))
				m.entries = append(m.entries, &modelled{name: name})
			case what == 4 && !q.Full():
				q.Mark(stream.MarkWatermark, int64(i))
				m.mark(stream.MarkWatermark, int64(i))
			case what == 5:
				kind := stream.MarkIdle + stream.MarkKind(i%2)
				q.Mark(kind, 0)
				m.mark(kind, 0)
			case what < 8 && len(open) > 0:
				at := r.IntN(len(open))
				done := open[at]
				open = slices.Delete(open, at, at+1)
				done.Add(0, done.Row)
				q.Finish(done)
				m.clock++
				m.entries[slices.IndexFunc(m.entries, func(e *modelled) bool { return e.name == string(done.Row) })].finished = m.clock
			default:
				trail = append(trail, leave(t, q, m))
			}
			check(t, seed, q, m, capacity)
		}
		if t.Failed() {
			t.Fatalf("seed %d: %s", seed, strings.Join(trail, ", "))
		}
	}
}

// leave takes out what may leave, of both.
func leave(t *testing.T, q *enrich.Queue, m *model) string {
	t.Helper()
	item, ok := q.Next()
	i := m.next()
	if ok != (i >= 0) {
		t.Fatalf("something may leave: %t, the model says %t", ok, i >= 0)
	}
	if !ok {
		return "nothing"
	}
	got := markName(item.Mark.Kind, item.Mark.Value)
	if r := item.Record; r != nil {
		got = string(r.Row)
		if result := r.Results[0]; string(r.Data[result.From:result.To]) != got || len(r.Results) != 1 {
			t.Errorf("%s has the results %v of %q", got, r.Results, r.Data)
		}
	}
	if want := m.entries[i].name; got != want {
		t.Errorf("%s leaves, the model says %s", got, want)
	}
	q.Pop()
	m.entries = slices.Delete(m.entries, i, i+1)
	return got
}

func check(t *testing.T, seed uint64, q *enrich.Queue, m *model, capacity int) {
	t.Helper()
	if q.Len() != len(m.entries) || q.Empty() != (len(m.entries) == 0) || q.Full() != (len(m.entries) >= capacity) {
		t.Errorf("seed %d: %d entries, full %t; the model has %d of %d", seed, q.Len(), q.Full(), len(m.entries), capacity)
	}
	var got, want []string
	for r := range q.All {
		got = append(got, string(r.Row))
	}
	for _, e := range m.entries {
		if e.kind == 0 {
			want = append(want, e.name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("seed %d: not left are %v, the model has %v", seed, got, want)
	}
}

// TestOrders tells the two orders apart by hand: a and b are before a watermark, c is
// behind it, and they are finished from the last to the first.
func TestOrders(t *testing.T) {
	for order, want := range map[enrich.Order]string{enrich.Ordered: "a b mark c", enrich.Unordered: "b a mark c"} {
		q := enrich.NewQueue(order, 10)
		a, b := q.Add(stream.Row("a"), 1), q.Add(stream.Row("b"), 2)
		q.Mark(stream.MarkWatermark, 2)
		c := q.Add(stream.Row("c"), 3)
		var left []string
		for _, r := range []*enrich.Record{c, b, a} {
			q.Finish(r)
			for item, ok := q.Next(); ok; item, ok = q.Next() {
				if item.Record != nil {
					left = append(left, string(item.Record.Row))
				} else {
					left = append(left, "mark")
				}
				q.Pop()
			}
		}
		if got := strings.Join(left, " "); got != want {
			t.Errorf("order %d: %s left, want %s", order, got, want)
		}
	}
}
