package runtime

import (
	"bytes"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// recordEncoder makes records of rows, with all that the sink wants beside the
// value.
type recordEncoder struct {
	value     format.Encoder
	key       format.Encoder // with keyRow; nil: no key, or a raw one
	keyRow    *stream.Projection
	rawKey    *stream.Column // nil: no raw key
	partition *stream.Column // nil: the sink chooses
	headers   []stream.Column
	timed     bool // the sink wants event times
	upsert    bool // rows that take back are records without a value
	keyed     bool // with a function: records may have keys, and no value
	buf       []byte
	replaces  bool // the last record takes back what the next may replace
}

func newRecordEncoder(s *job.Sink, value, key format.Encoder) recordEncoder {
	e := recordEncoder{value: value, key: key}
	k := s.Connector.KafkaSink
	if k == nil {
		return e
	}
	e.timed, e.upsert, e.keyed = k.EventTimestamp, k.Mode == job.UpsertMode, true
	switch {
	case len(k.Key) > 0 && k.KeyFormat == job.RawKey:
		c := s.Input.Column(k.Key[0])
		e.rawKey = &c
	case len(k.Key) > 0:
		e.keyRow = stream.NewProjection(s.Input, k.Key)
	}
	if k.Partition >= 0 {
		c := s.Input.Column(k.Partition)
		e.partition = &c
	}
	for _, h := range k.Headers {
		if h.Column >= 0 {
			e.headers = append(e.headers, s.Input.Column(h.Column))
		}
	}
	return e
}

// append adds the record of a row.
func (e *recordEncoder) append(to *connector.Records, row stream.Row, t stream.EventTime) {
	if e.begin(to, row) {
		to.Data = e.value.Append(to.Data, row)
	}
	e.end(to, row, t)
}

// appendMessage adds the record of a row that a function has encoded. The function's key
// counts where the sink has none.
func (e *recordEncoder) appendMessage(to *connector.Records, row stream.Row, t stream.EventTime, m *message) {
	valued := e.begin(to, row)
	if valued {
		to.Data = append(to.Data, m.value...)
	}
	if e.keyed && !e.hasKey() {
		to.Keys = append(to.Keys, m.key...)
		to.KeyEnds = append(to.KeyEnds, uint32(len(to.Keys)))
		to.NoKey = append(to.NoKey, !m.hasKey)
	}
	if e.keyed && !e.upsert {
		to.Deleted = append(to.Deleted, !m.hasValue)
	} else if valued && !m.hasValue {
		to.Deleted[len(to.Deleted)-1] = true
	}
	e.end(to, row, t)
}

// begin begins a record; false: it has no value.
func (e *recordEncoder) begin(to *connector.Records, row stream.Row) bool {
	from := len(to.Keys)
	if e.hasKey() {
		e.appendKey(to, row)
	}
	if e.upsert {
		e.takeBack(to, row, from)
	}
	return !e.upsert || !to.Deleted[len(to.Deleted)-1]
}

// end ends a record whose value is there.
func (e *recordEncoder) end(to *connector.Records, row stream.Row, t stream.EventTime) {
	to.Data = append(to.Data, '\n')
	to.Ends = append(to.Ends, uint32(len(to.Data)))
	if e.timed {
		to.Times = append(to.Times, int64(t))
	}
	if e.partition != nil {
		p := int32(-1)
		if !e.partition.IsNull(row) {
			p = e.partition.Int32(row)
		}
		to.Partitions = append(to.Partitions, p)
	}
	for i := range e.headers {
		if c := &e.headers[i]; !c.IsNull(row) {
			to.Headers = append(to.Headers, c.Bytes(row)...)
		}
		to.HeaderEnds = append(to.HeaderEnds, uint32(len(to.Headers)))
	}
}

func (e *recordEncoder) hasKey() bool { return e.keyRow != nil || e.rawKey != nil }

func (e *recordEncoder) appendKey(to *connector.Records, row stream.Row) {
	switch {
	case e.keyRow != nil:
		e.buf = e.keyRow.AppendTo(e.buf[:0], row, stream.Insert)
		to.Keys = e.key.Append(to.Keys, stream.Row(e.buf))
	case !e.rawKey.IsNull(row):
		to.Keys = append(to.Keys, e.rawKey.Bytes(row)...)
	}
	to.KeyEnds = append(to.KeyEnds, uint32(len(to.Keys)))
}

// takeBack says whether the row takes back what its key had. The row that a value
// replaces comes just before it: if both have one key, the value alone says all.
func (e *recordEncoder) takeBack(to *connector.Records, row stream.Row, from int) {
	kind := row.Change()
	if n := len(to.Deleted); e.replaces && n > 0 && kind == stream.UpdateAfter {
		if before := start(to.KeyEnds, n-1); bytes.Equal(to.Keys[before:from], to.Keys[from:]) {
			e.dropLast(to, from)
		}
	}
	e.replaces = kind == stream.UpdateBefore
	to.Deleted = append(to.Deleted, kind == stream.UpdateBefore || kind == stream.Delete)
}

// dropLast takes the record away that the one whose key begins at from replaces.
func (e *recordEncoder) dropLast(to *connector.Records, from int) {
	n := len(to.Deleted) - 1 // its number
	to.Keys = to.Keys[:from]
	to.KeyEnds = to.KeyEnds[:n+1]
	to.Data = to.Data[:start(to.Ends, n)]
	to.Ends = to.Ends[:n]
	to.Deleted = to.Deleted[:n]
	if e.timed {
		to.Times = to.Times[:n]
	}
	if e.partition != nil {
		to.Partitions = to.Partitions[:n]
	}
	if headers := len(e.headers); headers > 0 {
		to.Headers = to.Headers[:start(to.HeaderEnds, n*headers)]
		to.HeaderEnds = to.HeaderEnds[:n*headers]
	}
}

// start is where piece i begins.
func start(ends []uint32, i int) int {
	if i == 0 {
		return 0
	}
	return int(ends[i-1])
}
