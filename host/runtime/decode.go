package runtime

import (
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
	writer    *stream.RowWriter
	eventTime *stream.Column // nil: none
	limits    Limits

	chunk  *chunk // being decoded
	record int    // next of its records
}

// decoded is a batch of rows with what became of the records it was made from.
type decoded struct {
	batch  *stream.Batch
	end    connector.Position // behind the last record
	faults []recordFault
	last   bool // of its chunk
	ended  bool // of the input
}

// recordFault is a record that could not be decoded.
type recordFault struct {
	record int64 // number from 0
	err    error
}

// Why a record has no event time.
const (
	noEventTime = "it is null or missing, and it is the event time"
	leastTime   = "it is the least of all timestamps, which stands for no event time"
)

func (t *decodeTask) step() (outcome, error) {
	for range stepBatches {
		if t.chunk == nil {
			var ok bool
			if t.chunk, ok = t.in.receive(); !ok {
				return outcome{}, nil
			}
			t.record = 0
		}
		d, ok := t.out.take()
		if !ok {
			return outcome{}, nil
		}
		t.decode(d)
		if d.last {
			t.in.giveBack(t.chunk)
			t.chunk = nil
		}
		t.out.send(d)
	}
	return outcome{more: true}, nil
}

// decode fills one batch from the chunk.
func (t *decodeTask) decode(d *decoded) {
	c, b := t.chunk, d.batch
	b.Reset()
	d.faults = d.faults[:0]
	from := uint32(0)
	if t.record > 0 {
		from = c.Ends[t.record-1]
	}
	for t.record < len(c.Ends) && b.Len() < t.limits.BatchRows && b.Bytes() < t.limits.BatchBytes {
		to := c.Ends[t.record]
		if err := t.decodeRecord(b, c.Data[from:to]); err != nil {
			d.faults = append(d.faults, recordFault{c.Start.Record + int64(t.record), err})
		}
		from = to
		t.record++
	}
	d.last, d.ended = t.record == len(c.Ends), c.end
	d.end = connector.Position{Offset: c.Start.Offset + int64(from), Record: c.Start.Record + int64(t.record)}
	if d.last && c.Fault != nil {
		d.faults = append(d.faults, recordFault{d.end.Record, c.Fault})
	}
	if d.last && !d.ended {
		d.end = c.Next
	}
}

func (t *decodeTask) decodeRecord(b *stream.Batch, record []byte) error {
	for len(record) > 0 && (record[len(record)-1] == '\n' || record[len(record)-1] == '\r') {
		record = record[:len(record)-1]
	}
	if len(record) == 0 {
		return nil // a blank line
	}
	t.writer.Begin(b, stream.Insert)
	if err := t.decoder.Decode(record, t.writer); err != nil {
		return err
	}
	at := stream.MinTime
	if t.eventTime != nil {
		row := t.writer.Row()
		if t.eventTime.IsNull(row) {
			return &format.Error{Offset: format.NoOffset, Column: t.eventTime.Name, Reason: noEventTime}
		}
		if at = stream.EventTime(t.eventTime.Int64(row)); at == stream.MinTime {
			return &format.Error{Offset: format.NoOffset, Column: t.eventTime.Name, Reason: leastTime}
		}
	}
	t.writer.End(at)
	return nil
}
