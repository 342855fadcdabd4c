package stream

// MarkKind says what a mark in a batch means.
type MarkKind uint8

// The kinds of marks.
const (
	MarkWatermark MarkKind = iota + 1 // Value: the watermark, in milliseconds
	MarkIdle                          // the channel is idle: its watermark does not count
	MarkActive                        // the channel is active again
	MarkBarrier                       // Value: the checkpoint's epoch; the last thing in its batch
	MarkEnd                           // no more records on this channel; barriers may still come
)

// Mark is something that travels with the records, before row At of its batch
// (At may be the number of rows: after the last).
type Mark struct {
	At    int32
	Kind  MarkKind
	Value int64
}

// Batch is a run of rows with their event times and marks: what tasks hand to
// each other. Its buffers are reused.
type Batch struct {
	Marks  []Mark
	times  []EventTime
	starts []uint32 // of each row, and the end of the last: one more than there are rows
	data   []byte

	origins   []rowOrigin // of the first rows; most batches have none
	originals []byte      // that they were read from
}

// Len is the number of rows.
func (b *Batch) Len() int { return len(b.times) }

// Bytes is the number of bytes that the rows take, and what they were read from.
func (b *Batch) Bytes() int { return len(b.data) + len(b.originals) }

// IsEmpty tells whether there is neither a row nor a mark.
func (b *Batch) IsEmpty() bool { return len(b.times) == 0 && len(b.Marks) == 0 }

// Row is row i, a view into the batch.
func (b *Batch) Row(i int) Row { return Row(b.data[b.starts[i]:b.starts[i+1]:b.starts[i+1]]) }

// Change is the change kind of row i.
func (b *Batch) Change(i int) ChangeKind { return ChangeKind(b.data[b.starts[i]]) }

// Time is the event time of row i; MinTime if it has none.
func (b *Batch) Time(i int) EventTime { return b.times[i] }

// SetTime sets the event time of row i.
func (b *Batch) SetTime(i int, t EventTime) { b.times[i] = t }

// Reset empties the batch and keeps its buffers.
func (b *Batch) Reset() {
	b.Marks, b.times, b.data = b.Marks[:0], b.times[:0], b.data[:0]
	b.origins, b.originals = b.origins[:0], b.originals[:0]
	b.starts = append(b.starts[:0], 0)
}

// Truncate takes rows off the end, until there are n. No mark may stand behind
// row n.
func (b *Batch) Truncate(n int) {
	b.data = b.data[:b.starts[n]]
	b.starts, b.times = b.starts[:n+1], b.times[:n]
	b.cutOrigins(n)
}

// Keep takes out the rows that are not to be kept. There are no marks yet.
func (b *Batch) Keep(keeps func(i int) bool) {
	n, known, end := 0, 0, uint32(0) // rows are moved to the front, at most to where they are; the first known ones have origins
	for i := range b.Len() {
		if !keeps(i) {
			continue
		}
		row := b.data[b.starts[i]:b.starts[i+1]]
		copy(b.data[end:], row)
		b.times[n], b.starts[n] = b.times[i], end
		if i < len(b.origins) {
			b.origins[n] = b.origins[i]
			known = n + 1
		}
		end += uint32(len(row))
		n++
	}
	if b.Len() > 0 {
		b.starts[n] = end
		b.data, b.starts, b.times = b.data[:end], b.starts[:n+1], b.times[:n]
		b.cutOrigins(known)
	}
}

// CopyFrom makes the batch equal to another.
func (b *Batch) CopyFrom(o *Batch) {
	b.Marks = append(b.Marks[:0], o.Marks...)
	b.times = append(b.times[:0], o.times...)
	b.starts = append(b.starts[:0], o.starts...)
	b.data = append(b.data[:0], o.data...)
	b.origins = append(b.origins[:0], o.origins...)
	b.originals = append(b.originals[:0], o.originals...)
}

// Append copies a row to the end.
func (b *Batch) Append(r Row, t EventTime) {
	b.data = append(b.data, r...)
	b.added(t)
}

func (b *Batch) added(t EventTime) {
	if len(b.starts) == 0 {
		b.starts = append(b.starts, 0)
	}
	b.starts = append(b.starts, uint32(len(b.data)))
	b.times = append(b.times, t)
}

// Mark adds a mark after the last row. A watermark replaces one that stands at
// the same place: nothing can tell that the smaller one was there.
func (b *Batch) Mark(kind MarkKind, value int64) {
	at := int32(len(b.times))
	if n := len(b.Marks); kind == MarkWatermark && n > 0 && b.Marks[n-1].Kind == MarkWatermark && b.Marks[n-1].At == at {
		b.Marks[n-1].Value = value
		return
	}
	b.Marks = append(b.Marks, Mark{At: at, Kind: kind, Value: value})
}

// StampOnEvent marks, behind each row whose event time is the greatest so far,
// the watermark that follows: that time less delay (ms) and one, held at a ceiling.
// It takes and returns the greatest time and the last watermark; rows without event
// time are passed over.
func (b *Batch) StampOnEvent(greatest, last, ceiling EventTime, delay int64) (EventTime, EventTime) {
	for i, t := range b.times {
		if t <= greatest {
			continue
		}
		greatest = t
		if w := min(t.Add(-delay).Add(-1), ceiling); w > last {
			last = w
			b.Marks = append(b.Marks, Mark{At: int32(i + 1), Kind: MarkWatermark, Value: int64(w)})
		}
	}
	return greatest, last
}
