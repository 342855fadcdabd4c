// Package enrich keeps the records that wait for answers, and says what may be put out
// next: Flink's AsyncWaitOperator without its threads. It is pure: who asks, and how
// long that takes, is the caller's business.
//
// Invariants:
//
//	(O) Ordered: records leave in the order in which they came, whenever they were
//	    finished.
//	(U) Unordered: records leave in the order in which they were finished, but none
//	    passes a mark: those before one leave before it, those behind it after it.
//	(M) Marks keep their order, and their place as (O) and (U) say.
//	(C) A queue that is Full takes no record. Marks count, as in Flink, so a caller that
//	    heeds Full for watermarks too keeps no more entries than Capacity, but for the few
//	    marks that cannot wait.
//	(R) All goes through the records that have not left, in the order in which they came:
//	    what is to be asked again after a recovery.
package enrich

import "github.com/wasmstream/wasmstream/host/stream"

// Order is how records leave.
type Order uint8

// The orders.
const (
	Ordered Order = iota
	Unordered
)

// Record is a record that has not left yet. Its buffers are reused.
type Record struct {
	// Number is the record's place in the order of arrival.
	Number int64
	Row    []byte
	Time   stream.EventTime
	// Origin is where it was read, and Original what; not known unless the caller says so.
	Origin   stream.Origin
	Original []byte
	// Data and Results are the rows that it leads to.
	Data    []byte
	Results []Result

	finished   bool
	next, prev *Record
	segment    *segment
	ready      *Record // unordered: the one of the segment that was finished next
}

// Finished tells whether the record has its results.
func (r *Record) Finished() bool { return r.finished }

// Result is a row in a record's Data.
type Result struct {
	From, To int
	Output   uint32
}

// Add adds a row for an output to the results.
func (r *Record) Add(output uint32, row []byte) {
	from := len(r.Data)
	r.Data = append(r.Data, row...)
	r.Results = append(r.Results, Result{from, len(r.Data), output})
}

// Item is what leaves next: a record, or a mark.
type Item struct {
	Record *Record // nil: it is a mark
	Mark   stream.Mark
}

// segment is a run of records with what comes behind it.
type segment struct {
	records int // that have not left
	// ready are those that are finished, in that order; unordered only.
	ready, readyLast *Record
	marks            []stream.Mark // behind them
}

// Queue holds the records and marks of one task.
type Queue struct {
	order    Order
	capacity int
	entries  int // records and marks

	segments      []*segment // the first leaves first; there is always one
	first, last   *Record    // of all records, in the order of arrival
	number        int64
	spare         []*Record
	spareSegments []*segment
}

// NewQueue makes a queue that is full with so many entries.
func NewQueue(order Order, capacity int) *Queue {
	q := &Queue{order: order, capacity: capacity}
	q.segments = append(q.segments, &segment{})
	return q
}

// Full tells whether to wait before another record, or a watermark, is taken.
func (q *Queue) Full() bool { return q.entries >= q.capacity }

// Empty tells whether all has left.
func (q *Queue) Empty() bool { return q.entries == 0 }

// Len is how many records and marks there are.
func (q *Queue) Len() int { return q.entries }

// Add takes a record in. It copies the row.
func (q *Queue) Add(row stream.Row, t stream.EventTime) *Record {
	r := q.free()
	r.Number, r.Time, r.Row = q.number, t, append(r.Row[:0], row...)
	q.number++
	s := q.segments[len(q.segments)-1]
	if len(s.marks) > 0 {
		s = q.beginSegment()
	}
	r.segment = s
	s.records++
	if r.prev = q.last; r.prev != nil {
		r.prev.next = r
	} else {
		q.first = r
	}
	q.last = r
	q.entries++
	return r
}

// recordBytesKept is how large a record's buffers may be to be used again.
const recordBytesKept = 16 << 10

func (q *Queue) free() *Record {
	n := len(q.spare)
	if n == 0 {
		return &Record{}
	}
	r := q.spare[n-1]
	q.spare = q.spare[:n-1]
	*r = Record{Row: r.Row[:0], Original: r.Original[:0], Data: r.Data[:0], Results: r.Results[:0]}
	if cap(r.Row) > recordBytesKept {
		r.Row = nil
	}
	if cap(r.Original) > recordBytesKept {
		r.Original = nil
	}
	if cap(r.Data) > recordBytesKept {
		r.Data, r.Results = nil, nil
	}
	return r
}

func (q *Queue) beginSegment() *segment {
	s := &segment{}
	if n := len(q.spareSegments); n > 0 {
		s = q.spareSegments[n-1]
		q.spareSegments = q.spareSegments[:n-1]
		*s = segment{marks: s.marks[:0]}
	}
	q.segments = append(q.segments, s)
	return s
}

// Mark takes a mark in, behind all that came before. A watermark replaces one that
// stands at the same place, and that an input is active takes back that it is idle.
func (q *Queue) Mark(kind stream.MarkKind, value int64) {
	s := q.segments[len(q.segments)-1]
	if n := len(s.marks); n > 0 {
		switch last := &s.marks[n-1]; {
		case kind == stream.MarkWatermark && last.Kind == stream.MarkWatermark:
			last.Value = value
			return
		case kind == stream.MarkActive && last.Kind == stream.MarkIdle, kind == stream.MarkIdle && last.Kind == stream.MarkActive:
			s.marks = s.marks[:n-1]
			q.entries--
			return
		}
	}
	s.marks = append(s.marks, stream.Mark{Kind: kind, Value: value})
	q.entries++
}

// Finish says that a record has its results.
func (q *Queue) Finish(r *Record) {
	r.finished = true
	if q.order == Ordered {
		return
	}
	s := r.segment
	if s.readyLast != nil {
		s.readyLast.ready = r
	} else {
		s.ready = r
	}
	s.readyLast = r
}

// Next is what may leave now; false: nothing may. Pop takes it out.
func (q *Queue) Next() (Item, bool) {
	s := q.segments[0]
	switch {
	case s.records == 0 && len(s.marks) > 0:
		return Item{Mark: s.marks[0]}, true
	case s.records == 0:
		return Item{}, false
	case q.order == Unordered:
		return Item{Record: s.ready}, s.ready != nil
	}
	return Item{Record: q.first}, q.first.finished
}

// Pop takes out what Next gave. A record is gone, with its buffers.
func (q *Queue) Pop() {
	s := q.segments[0]
	q.entries--
	if s.records == 0 {
		s.marks = append(s.marks[:0], s.marks[1:]...)
		q.endSegment()
		return
	}
	r := q.first
	if q.order == Unordered {
		r = s.ready
		if s.ready = r.ready; s.ready == nil {
			s.readyLast = nil
		}
	}
	s.records--
	q.unlink(r)
	q.spare = append(q.spare, r)
}

// endSegment goes on to the next segment if all of the first has left.
func (q *Queue) endSegment() {
	if s := q.segments[0]; len(s.marks) == 0 && len(q.segments) > 1 {
		q.segments = append(q.segments[:0], q.segments[1:]...)
		q.spareSegments = append(q.spareSegments, s)
	}
}

func (q *Queue) unlink(r *Record) {
	if r.prev != nil {
		r.prev.next = r.next
	} else {
		q.first = r.next
	}
	if r.next != nil {
		r.next.prev = r.prev
	} else {
		q.last = r.prev
	}
}

// All goes through the records that have not left, in the order of arrival.
func (q *Queue) All(yield func(*Record) bool) {
	for r := q.first; r != nil; r = r.next {
		if !yield(r) {
			return
		}
	}
}
