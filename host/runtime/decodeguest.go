package runtime

import (
	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/connector"
	guests "github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// guestDecoder has a function make rows of records: any number of each, none of one
// that is to be passed over. A record that the function fails on is as one that cannot be
// decoded, and so is one of whose rows one has no event time: none of its rows counts.
type guestDecoder struct {
	stateless
	task     *decodeTask
	function *job.Function
	caller   *guests.Caller
	clock    stream.Clock
	message  *stream.RowWriter
	rows     *stream.Projection // of what the function puts out to what the source does
	join     *stream.Join       // instead, where the source has metadata
	metadata *metadata          // whose columns are those of beside
	beside   *stream.RowWriter
	time     func(row stream.Row, chunk *chunk, record int) (stream.EventTime, error)
	buf      []byte

	into  *decoded // of the present frame
	chunk *chunk
	ops   []guestRecord
	first int   // row of the batch that is the first of the present op
	bytes int64 // of its rows
	op    int   // that first is of; -1: none
	wrong error // of the present op
}

// guestRecord is a record that is asked about.
type guestRecord struct {
	at     connector.Position
	record int // in the chunk
}

// add asks about a record.
func (g *guestDecoder) add(c *chunk, record int, value []byte, at connector.Position) {
	ctx := guests.Context{Time: int64(stream.MinTime), Watermark: int64(stream.MinTime), Clock: int64(g.clock.Now())}
	w := g.message
	w.BeginIn(g.buf[:0], stream.Insert)
	var known connector.Meta
	if len(c.Meta) > 0 {
		known = c.Meta[record]
		ctx.Time = known.Timestamp
	}
	if known.Null {
		w.SetNull(job.MessageValue)
	} else {
		w.SetBytes(job.MessageValue, value)
	}
	if known.Key == nil {
		w.SetNull(job.MessageKey)
	} else {
		w.SetBytes(job.MessageKey, known.Key)
	}
	g.buf = w.Buffer()
	g.caller.Add(abi.OpDecode, guests.NoGroup, g.caller.WholeRow(w.Row()), &ctx)
	g.ops = append(g.ops, guestRecord{at, record})
}

// perform makes rows of the records that were added, which are of one chunk; of the first
// ones, if those are enough.
func (g *guestDecoder) perform(into *decoded, c *chunk) error {
	g.into, g.chunk, g.op = into, c, -1
	return g.caller.Perform()
}

// isFull tells that the other records are for another batch.
func (g *guestDecoder) isFull() bool { return g.into.batch.Bytes() >= g.task.limits.BatchBytes }

// Take implements guest.Role.
func (g *guestDecoder) Take(i int, e abi.Effect) error {
	b := g.into.batch
	if g.op != i {
		g.op, g.first, g.bytes, g.wrong = i, b.Len(), 0, nil
	}
	if g.wrong != nil {
		return nil
	}
	record := g.ops[i].record
	if g.join != nil {
		g.beside.BeginIn(g.beside.Buffer()[:0], stream.Insert)
		g.metadata.fill(g.beside, &g.chunk.Chunk, record)
		b.AppendJoined(g.join, e.Payload, g.beside.Row(), stream.Insert, stream.MinTime)
	} else {
		b.AppendProjected(g.rows, e.Payload, stream.MinTime)
	}
	g.task.trace(b, record, g.ops[i].at)
	n := b.Len() - 1
	at, err := g.time(b.Row(n), g.chunk, record)
	b.SetTime(n, at)
	g.bytes += int64(len(b.Row(n)))
	if g.wrong = err; err == nil && g.join != nil && g.bytes > g.function.Limits.OutputBytes {
		g.wrong = overLimit("its rows with the record's metadata have more than %d bytes: limits: {output: …} at the top of the job raises it", g.function.Limits.OutputBytes)
	}
	return nil
}

// Done implements guest.Role.
func (g *guestDecoder) Done(i int) error {
	if g.op == i && g.wrong != nil {
		g.into.batch.Truncate(g.first)
		g.task.fault(g.into, g.ops[i].record, g.ops[i].at, g.wrong)
	}
	if s := g.task.stamper; s != nil {
		s.came(g.into.batch.Len(), g.ops[i].record, g.ops[i].at)
	}
	return nil
}

// Fault implements guest.Role.
func (g *guestDecoder) Fault(i int, err error) error {
	g.task.fault(g.into, g.ops[i].record, g.ops[i].at, &FunctionError{Function: g.function, Err: err, Where: "a record"})
	return nil
}

// decodeByGuest fills one batch from the chunk.
func (t *decodeTask) decodeByGuest(d *decoded) error {
	c, g, bytes := t.chunk, t.guest, 0
	for t.record < len(c.Ends) && len(g.ops) < t.limits.BatchRows && bytes < t.limits.BatchBytes && !g.caller.Due() {
		from, to := t.bounds(t.record)
		g.add(c, t.record, t.original(t.record), t.at)
		bytes += int(to - from)
		t.move(to - from)
	}
	err := g.perform(d, c)
	if n := g.caller.Performed(); n < len(g.ops) { // a format has no state: the others are asked about again
		first := g.ops[n]
		for i := first.record; i < t.record; i++ {
			bytes -= int(c.Ends[i])
			if i > 0 {
				bytes += int(c.Ends[i-1])
			}
		}
		t.record, t.at = first.record, first.at
	}
	d.bytes, g.ops = int64(bytes), g.ops[:0]
	return err
}

// withoutLineEnd leaves out what ends a line, and nothing else: the rest is the format's.
func withoutLineEnd(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\n' {
		if b = b[:n-1]; n > 1 && b[n-2] == '\r' {
			b = b[:n-2]
		}
	}
	return b
}

// guestDecoder makes the function that decodes a source's records ready.
func (b *builder) guestDecoder(s *job.Source, t *decodeTask) error {
	f := s.Decode
	g := &guestDecoder{task: t, function: f, clock: b.config.Clock, message: stream.NewRowWriter(job.MessageSchema), time: t.timeOf}
	columns := make([]int, s.Value.Len())
	for i, name := range s.Value.Names() {
		columns[i] = f.Result().Index(name)
	}
	if len(s.Metadata) == 0 {
		g.rows = stream.NewProjection(f.Result(), columns)
	} else {
		beside, at := *s, make([]int, len(s.Metadata))
		beside.Metadata = append([]job.MetadataColumn(nil), s.Metadata...)
		all := make([]int, len(at))
		for i := range at {
			at[i], all[i] = s.Metadata[i].Column, i
			beside.Metadata[i].Column = i
		}
		schema := s.Output.Project(at)
		g.metadata, g.beside = newMetadata(&beside), stream.NewRowWriter(schema)
		g.join = stream.NewJoinOf(f.Result(), columns, schema, all, s.Output)
	}
	var err error
	g.caller, err = b.callerFor(f, guests.Options{Enough: g.isFull}, g)
	t.guest = g
	return err
}
