package kafka

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/wasmstream/wasmstream/host/connector"
)

// The header of a batch of records (message format 2).
const (
	batchHeaderBytes = 61
	lengthBehind     = 12 // where what the length counts begins

	attributeCodec         = 0x07
	attributeAppendTime    = 0x08
	attributeTransactional = 0x10
	attributeControl       = 0x20
)

// batch is the header of a batch of records.
type batch []byte

func (b batch) first() int64    { return int64(binary.BigEndian.Uint64(b)) }
func (b batch) bytes() int      { return int(int32(binary.BigEndian.Uint32(b[8:]))) + lengthBehind }
func (b batch) epoch() int32    { return int32(binary.BigEndian.Uint32(b[12:])) }
func (b batch) sum() uint32     { return binary.BigEndian.Uint32(b[17:]) }
func (b batch) attributes() int { return int(binary.BigEndian.Uint16(b[21:])) }
func (b batch) next() int64     { return b.first() + int64(int32(binary.BigEndian.Uint32(b[23:]))) + 1 }
func (b batch) time() int64     { return int64(binary.BigEndian.Uint64(b[27:])) }
func (b batch) maxTime() int64  { return int64(binary.BigEndian.Uint64(b[35:])) }
func (b batch) producer() int64 { return int64(binary.BigEndian.Uint64(b[43:])) }
func (b batch) records() int    { return int(int32(binary.BigEndian.Uint32(b[57:]))) }

// cutBatch returns the batch that data begins with; nil if it is not there whole, as
// the last one of a response may not be.
func cutBatch(data []byte) (batch, error) {
	if len(data) < batchHeaderBytes {
		if len(data) > 16 && data[16] < 2 {
			return nil, errOldFormat
		}
		return nil, nil
	}
	if data[16] != 2 {
		return nil, errOldFormat
	}
	n := batch(data).bytes()
	switch {
	case n < batchHeaderBytes:
		return nil, fmt.Errorf("a batch says that it has %d bytes", n)
	case n > len(data):
		return nil, nil
	}
	return batch(data[:n]), nil
}

var (
	errOldFormat = errors.New("its records are in a message format older than Kafka 0.11's, which is not read")
	errSum       = errors.New("a batch of records is damaged: its checksum is wrong")
	errRecord    = errors.New("a batch of records is damaged: a record reaches beyond its end")
	castagnoli   = crc32.MakeTable(crc32.Castagnoli)
)

// behind returns the offset behind all whole batches, and the leader's epoch when
// the last one was written; from and epoch if there is none.
func behind(data []byte, from int64, epoch int32) (int64, int32) {
	for {
		b, err := cutBatch(data)
		if b == nil || err != nil {
			return from, epoch
		}
		if b.next() > from {
			from, epoch = b.next(), b.epoch()
		}
		data = data[b.bytes():]
	}
}

// aborted are the transactions of a response that were given up: of each producer
// the offsets where they begin, ascending.
type aborted map[int64][]int64

func abortedIn(list []kmsg.FetchResponseTopicPartitionAbortedTransaction) aborted {
	if len(list) == 0 {
		return nil
	}
	a := aborted{}
	for _, t := range list {
		a[t.ProducerID] = append(a[t.ProducerID], t.FirstOffset)
	}
	for _, offsets := range a {
		slices.Sort(offsets)
	}
	return a
}

// covers says whether the batch is of a transaction that was given up.
func (a aborted) covers(b batch) bool {
	offsets := a[b.producer()]
	return len(offsets) > 0 && b.attributes()&attributeTransactional != 0 && b.first() >= offsets[0]
}

// passed notes that the marker of a transaction that was given up lies behind.
func (a aborted) passed(b batch) {
	if offsets := a[b.producer()]; len(offsets) > 0 && b.first() >= offsets[0] {
		a[b.producer()] = offsets[1:]
	}
}

// batchReader reads the records of one partition in a response. It copies each value
// once, into the chunk; a response is large, and most of it is not looked at again.
type batchReader struct {
	decompress kgo.Decompressor
	scratch    *scratch
	recordMax  int
	meta       bool

	data    []byte // batches not begun
	aborted aborted
	end     int64 // records from there on are not read; -1: none are left out
	at      int64 // the offset to read next

	batch   batch  // being read; nil: none
	records []byte // of it, not read
	left    int
}

// scratch is the buffer that batches are decompressed into, one at a time.
type scratch struct{ buffer []byte }

// GetDecompressBytes implements kgo.PoolDecompressBytes.
func (s *scratch) GetDecompressBytes([]byte, kgo.CompressionCodecType) []byte { return s.buffer }

// PutDecompressBytes implements kgo.PoolDecompressBytes.
func (s *scratch) PutDecompressBytes(b []byte) { s.buffer = b }

func newBatchReader(recordMax int, meta bool) *batchReader {
	s := &scratch{}
	return &batchReader{decompress: kgo.DefaultDecompressor(s), scratch: s, recordMax: recordMax, meta: meta}
}

// start takes what a response has of a partition.
func (r *batchReader) start(data []byte, a aborted, at, end int64) {
	r.data, r.aborted, r.at, r.end = data, a, at, end
	r.batch, r.records, r.left = nil, nil, 0
}

// fill appends records to the chunk until it has about chunkBytes, a fault, or all
// there are. It says whether there may be more.
func (r *batchReader) fill(c *connector.Chunk) (more bool, err error) {
	for len(c.Data) < chunkBytes && len(c.Ends) < chunkRecordsMax {
		if r.left == 0 {
			if r.batch != nil {
				r.at = max(r.at, r.batch.next()) // compaction may have taken the last ones
				r.batch = nil
			}
			if r.end >= 0 && r.at >= r.end {
				r.at = r.end
				return false, nil
			}
			if more, err := r.nextBatch(); !more || err != nil {
				return false, err
			}
			continue
		}
		if err := r.copyRecords(c); err != nil || c.Fault != nil {
			return true, err
		}
	}
	return true, nil
}

// nextBatch begins a batch, if there is one; there may be nothing to read in it.
func (r *batchReader) nextBatch() (bool, error) {
	b, err := cutBatch(r.data)
	if b == nil || err != nil {
		return false, err
	}
	r.data = r.data[len(b):]
	if b.next() <= r.at {
		return true, nil // the broker sends the batch that the offset is in, and may send more
	}
	if crc32.Checksum(b[21:], castagnoli) != b.sum() {
		return false, errSum
	}
	r.batch = b
	switch {
	case b.attributes()&attributeControl != 0:
		if abortMarker(b[batchHeaderBytes:]) {
			r.aborted.passed(b)
		}
		return true, nil
	case r.aborted.covers(b):
		return true, nil
	}
	r.records, r.left = b[batchHeaderBytes:], b.records()
	if codec := b.attributes() & attributeCodec; codec != 0 {
		if r.records, err = r.decompress.Decompress(r.records, kgo.CompressionCodecType(codec)); err != nil {
			return false, fmt.Errorf("a batch of records cannot be decompressed: %w", err)
		}
		r.scratch.buffer = r.records
	}
	if r.left < 0 || r.left > len(r.records) {
		return false, errRecord
	}
	return true, nil
}

// abortMarker says whether the one record of a control batch says that a transaction
// was given up: its key is a version and a type, and 0 is that type.
func abortMarker(record []byte) bool {
	var f fields
	f.rest = record
	f.varint() // length
	f.skip(1)
	f.varint()
	f.varint()
	key := f.bytes()
	return !f.bad && len(key) >= 4 && binary.BigEndian.Uint16(key[2:]) == 0
}

// copyRecords appends the records of the batch to the chunk, up to where fill stops.
func (r *batchReader) copyRecords(c *connector.Chunk) error {
	first := r.batch.first()
	for r.left > 0 && len(c.Data) < chunkBytes && len(c.Ends) < chunkRecordsMax {
		f := fields{rest: r.records}
		size := f.varint()
		if f.bad || size < 0 || size > int64(len(f.rest)) {
			return errRecord
		}
		r.records = f.rest[size:]
		r.left--
		f.rest = f.rest[:size]
		f.skip(1)
		age := f.varint()
		offset := first + f.varint()
		key := f.bytes()
		value := f.bytes()
		if f.bad {
			return errRecord
		}
		if offset < r.at {
			continue // the offset lies within the batch
		}
		if r.end >= 0 && offset >= r.end {
			r.at, r.left, r.batch, r.data = r.end, 0, nil, nil
			return nil
		}
		r.at = offset + 1
		if len(value) > r.recordMax {
			c.Fault = fmt.Errorf("the record at offset %d has %d bytes, and the limit is %d", offset, len(value), r.recordMax)
			return nil
		}
		c.Data = append(c.Data, value...)
		c.Ends = append(c.Ends, uint32(len(c.Data)))
		c.Offsets = append(c.Offsets, offset)
		if r.meta || value == nil || len(c.Meta) > 0 {
			if err := r.describe(c, age, key, value, &f); err != nil {
				return err
			}
		}
	}
	return nil
}

// describe appends what is known of the last record beside its value. A chunk has
// that of all its records or of none; before the first tombstone it may be none.
func (r *batchReader) describe(c *connector.Chunk, age int64, key, value []byte, f *fields) error {
	for len(c.Meta) < len(c.Ends)-1 {
		c.Meta = append(c.Meta, connector.Meta{})
	}
	m := connector.Meta{Timestamp: r.batch.time() + age, Null: value == nil}
	if r.batch.attributes()&attributeAppendTime != 0 {
		m.Timestamp = r.batch.maxTime()
	}
	n := f.varint()
	if f.bad || n < 0 || n > int64(len(f.rest)) {
		return errRecord
	}
	// One copy holds all: responses and scratch are used again, and what is handed out
	// may be kept.
	kept := append(make([]byte, 0, len(key)+len(f.rest)), key...)
	if key != nil {
		m.Key = kept
	}
	if n > 0 {
		kept = append(kept, f.rest...)
		f.rest = kept[len(key):]
		m.Headers = make([]connector.Header, n)
		for i := range m.Headers {
			m.Headers[i] = connector.Header{Name: string(f.bytes()), Value: f.bytes()}
		}
		if f.bad {
			return errRecord
		}
	}
	c.Meta = append(c.Meta, m)
	return nil
}

// fields reads the fields of a record one after another. Once one is bad, all are.
type fields struct {
	rest []byte
	bad  bool
}

func (f *fields) varint() int64 {
	if len(f.rest) > 0 && f.rest[0] < 0x80 {
		u := f.rest[0]
		f.rest = f.rest[1:]
		return int64(u>>1) ^ -int64(u&1)
	}
	u, n := binary.Uvarint(f.rest)
	if n <= 0 {
		f.bad = true
		return 0
	}
	f.rest = f.rest[n:]
	return int64(u>>1) ^ -int64(u&1)
}

func (f *fields) skip(n int) {
	if n > len(f.rest) {
		f.bad = true
		return
	}
	f.rest = f.rest[n:]
}

// bytes returns nil for null, which an empty field is not.
func (f *fields) bytes() []byte {
	n := f.varint()
	switch {
	case f.bad, n > int64(len(f.rest)), n < -1, n > math.MaxInt32:
		f.bad = true
		return nil
	case n < 0:
		return nil
	}
	b := f.rest[:n:n]
	f.rest = f.rest[n:]
	return b
}
