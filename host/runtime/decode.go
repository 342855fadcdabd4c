package runtime

import (
	"errors"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/stream"
)

// decodeTask turns the chunks it is dealt into batches of rows. Several work on
// one source; sourceTask puts their batches back in order.
type decodeTask struct {
	in        *pipe[*chunk]
	out       *pipe[*decoded]
	decoder   format.Decoder
	guest     *guestDecoder // instead of decoder; nil: the format is built in
	writer    *stream.RowWriter
	eventTime *stream.Column // nil: none
	metadata  *metadata      // nil: the source has no such columns
	timed     bool           // a record's event time is what the source knows of it
	limits    Limits
	stamper   *stamper // says the records' event times; nil: eventTime does
	keeps     bool     // the bytes of records that cannot be decoded are wanted
	traced    string   // the source, if it is wanted where rows come from
	room      *room    // where its functions give way; nil: it has none

	chunk  *chunk             // being decoded
	record int                // next of its records
	at     connector.Position // of that record
}

// decoded is a batch of rows with what became of the records it was made from,
// which are of one split.
type decoded struct {
	batch    *stream.Batch
	split    string
	identity string
	end      connector.Position // behind the last record
	bytes    int64
	faults   []recordFault
	lost     []byte                // of records that could not be decoded
	marks    []punctuatedWatermark // that the source's function says
	last     bool                  // of its chunk
	closed   bool                  // the split has no more records
	ended    bool                  // of the input
	// announcing says that more splits are to be made known first.
	announcing bool
}

// recordFault is a record that could not be decoded.
type recordFault struct {
	at       connector.Position
	err      error
	from, to int // of decoded.lost; the same: the record's bytes are not wanted, not known, or none
}

// fault notes a record that could not be decoded.
func (t *decodeTask) fault(d *decoded, record int, at connector.Position, err error) {
	f := recordFault{at: at, err: err}
	if t.keeps {
		f.from = len(d.lost)
		d.lost = append(d.lost, t.original(record)...)
		f.to = len(d.lost)
	}
	d.faults = append(d.faults, f)
}

// Why a record has no event time.
const (
	noEventTime = "it is null or missing, and it is the event time"
	leastTime   = "it is the least of all timestamps, which stands for no event time"
)

func (t *decodeTask) step() (outcome, error) {
	if t.room != nil {
		return t.room.resume()
	}
	return t.work()
}

func (t *decodeTask) work() (outcome, error) {
	for range stepBatches {
		if t.chunk == nil {
			var ok bool
			if t.chunk, ok = t.in.receive(); !ok {
				return outcome{}, nil
			}
			t.begin()
		}
		d, ok := t.out.take()
		if !ok {
			return outcome{blocked: true}, nil
		}
		if err := t.decode(d); err != nil {
			return outcome{}, err
		}
		if d.last {
			t.in.giveBack(t.chunk)
			t.chunk = nil
		}
		t.out.send(d)
	}
	return outcome{more: true}, nil
}

// begin takes the chunk's first record up.
func (t *decodeTask) begin() {
	t.record, t.at = 0, t.chunk.Start
	if offsets := t.chunk.Offsets; len(offsets) > 0 {
		t.at.Offset = offsets[0] // there may be gaps before it
	}
}

// decode fills one batch from the chunk.
func (t *decodeTask) decode(d *decoded) error {
	c := t.chunk
	d.batch.Reset()
	d.split, d.identity = c.Split, c.Identity
	d.faults, d.bytes = d.faults[:0], 0
	d.lost, d.marks = d.lost[:0], d.marks[:0]
	if t.guest != nil {
		if err := t.decodeByGuest(d); err != nil {
			return err
		}
	} else {
		t.decodeRecords(d)
	}
	if t.stamper != nil {
		if err := t.stamper.stamp(t, d); err != nil {
			return err
		}
	}
	d.last = t.record == len(c.Ends)
	d.closed, d.ended, d.announcing, d.end = d.last && c.Ended, c.end, c.Announcing, t.at
	if d.last && c.Fault != nil {
		d.faults = append(d.faults, recordFault{at: t.at, err: c.Fault})
	}
	if d.last && !d.ended {
		if len(c.Offsets) == 0 {
			d.bytes += c.Next.Offset - t.at.Offset // what the fault passes over
		}
		d.end = c.Next
	}
	return nil
}

// decodeRecords decodes records until the batch is full.
func (t *decodeTask) decodeRecords(d *decoded) {
	c, b := t.chunk, d.batch
	for t.record < len(c.Ends) && b.Len() < t.limits.BatchRows && b.Bytes() < t.limits.BatchBytes {
		from, to := t.bounds(t.record)
		rows := b.Len()
		if err := t.decodeRecord(b, c.Data[from:to]); err != nil {
			t.fault(d, t.record, t.at, err)
		} else if t.stamper != nil {
			t.stamper.came(b.Len(), t.record, t.at)
		}
		if b.Len() > rows {
			t.trace(b, t.record, t.at)
		}
		d.bytes += int64(to - from)
		t.move(to - from)
	}
}

// trace says what record the last row comes from, if that is wanted.
func (t *decodeTask) trace(b *stream.Batch, record int, at connector.Position) {
	if t.traced != "" {
		o := stream.Origin{Source: t.traced, Split: t.chunk.Split, Record: at.Record, Offset: at.Offset}
		b.SetOrigin(o, t.original(record))
	}
}

// bounds is where a record lies in the chunk.
func (t *decodeTask) bounds(record int) (from, to uint32) {
	if record > 0 {
		from = t.chunk.Ends[record-1]
	}
	return from, t.chunk.Ends[record]
}

// original is a record as it was read: a line without its end, or all of a message.
func (t *decodeTask) original(record int) []byte {
	from, to := t.bounds(record)
	if b := t.chunk.Data[from:to]; len(t.chunk.Offsets) > 0 {
		return b
	}
	return withoutLineEnd(t.chunk.Data[from:to])
}

// move goes on to the record behind the next one, which has so many bytes.
func (t *decodeTask) move(bytes uint32) {
	t.record++
	t.at.Record++
	switch offsets := t.chunk.Offsets; {
	case len(offsets) == 0:
		t.at.Offset += int64(bytes)
	case t.record < len(offsets):
		t.at.Offset = offsets[t.record]
	default:
		t.at.Offset = offsets[t.record-1] + 1
	}
}

// errTombstone is why a record without a value is passed over.
var errTombstone = errors.New("the record has no value (a tombstone)")

// decodeRecord decodes a record into a row of the batch, unless it is blank.
func (t *decodeTask) decodeRecord(b *stream.Batch, record []byte) error {
	for len(record) > 0 && (record[len(record)-1] == '\n' || record[len(record)-1] == '\r') {
		record = record[:len(record)-1]
	}
	known := t.chunk.Meta
	if len(known) > 0 && known[t.record].Null {
		return errTombstone
	}
	if len(record) == 0 && len(t.chunk.Offsets) == 0 {
		return nil // a blank line
	}
	t.writer.Begin(b, stream.Insert)
	if err := t.decoder.Decode(record, t.writer); err != nil {
		return err
	}
	if t.metadata != nil {
		t.metadata.fill(t.writer, &t.chunk.Chunk, t.record)
	}
	at, err := t.timeOf(t.writer.Row(), t.chunk, t.record)
	if err != nil {
		return err
	}
	t.writer.End(at)
	return nil
}

// timeOf is the event time of a decoded row.
func (t *decodeTask) timeOf(row stream.Row, c *chunk, record int) (stream.EventTime, error) {
	switch {
	case t.timed || t.stamper != nil && len(c.Meta) > 0: // which a function may look at
		return stream.EventTime(c.Meta[record].Timestamp), nil
	case t.eventTime == nil:
		return stream.MinTime, nil
	case t.eventTime.IsNull(row):
		return 0, &format.Error{Offset: format.NoOffset, Column: t.eventTime.Name, Reason: noEventTime}
	}
	at := stream.EventTime(t.eventTime.Int64(row))
	if at == stream.MinTime {
		return 0, &format.Error{Offset: format.NoOffset, Column: t.eventTime.Name, Reason: leastTime}
	}
	return at, nil
}
