package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"slices"

	"github.com/wasmstream/wasmstream/host/stream"
)

// Delta gathers the records that one task changed in one epoch, and writes them sorted. Its zero value is empty. Adding
// copies the record and moves nothing that was added before, so no call takes long. It belongs to one goroutine.
type Delta struct {
	chunks [][]byte   // records as in the file, in order of arrival; none is ever moved
	used   int        // chunks in use; those behind them are left from before, and empty
	groups [][]uint64 // by key group: where each record is, chunk<<32 | offset
	count  int
	bytes  int64
	sorter sorter
}

// The capacities of chunks: small at first, for a job with little state, then so large that few are needed.
const (
	chunkBytesMin = 4 << 10
	chunkBytesMax = 1 << 20
)

// Add takes a key's new value. Of several calls for one key the last counts.
func (d *Delta) Add(group stream.KeyGroup, key, value []byte) {
	b := d.room(group, 2*binary.MaxVarintLen64+len(key)+len(value))
	d.took(appendRecord(b, key, value))
}

// Delete takes note that a key has no value any more.
func (d *Delta) Delete(group stream.KeyGroup, key []byte) {
	b := d.room(group, 2*binary.MaxVarintLen64+len(key))
	d.took(appendDeleted(b, key))
}

// room returns the chunk that has room for n more bytes, and notes that the group's next record begins there.
func (d *Delta) room(group stream.KeyGroup, n int) []byte {
	for d.used == 0 || cap(d.chunks[d.used-1])-len(d.chunks[d.used-1]) < n {
		if d.used == len(d.chunks) {
			size := min(chunkBytesMax, chunkBytesMin<<min(d.used, 16))
			d.chunks = append(d.chunks, make([]byte, 0, max(size, n)))
		}
		d.used++
	}
	for int(group) >= len(d.groups) {
		d.groups = append(d.groups, nil)
	}
	b := d.chunks[d.used-1]
	d.groups[group] = append(d.groups[group], uint64(d.used-1)<<32|uint64(len(b)))
	return b
}

func (d *Delta) took(b []byte) {
	d.bytes += int64(len(b) - len(d.chunks[d.used-1]))
	d.chunks[d.used-1] = b
	d.count++
}

// Len is the number of calls of Add and Delete since Reset.
func (d *Delta) Len() int { return d.count }

// Bytes is what they amount to, about the size of the file.
func (d *Delta) Bytes() int64 { return d.bytes }

// Reset empties the delta. It keeps the memory that was in use and lets go of what was not even this time.
func (d *Delta) Reset() {
	clear(d.chunks[d.used:])
	d.chunks = d.chunks[:d.used]
	for i := range d.chunks {
		d.chunks[i] = d.chunks[i][:0]
	}
	for i := range d.groups {
		if len(d.groups[i]) == 0 {
			d.groups[i] = nil
		}
		d.groups[i] = d.groups[i][:0]
	}
	d.used, d.count, d.bytes = 0, 0, 0
}

// Write writes the file of the records so far. It calls yield, if that is not nil, after every piece of work of at most
// about 200 µs, so that whoever shares the core is not held up; what the writer takes is the writer's.
func (d *Delta) Write(w io.Writer, yield func()) (FileSummary, error) {
	if yield == nil {
		yield = func() {}
	}
	out := newFileWriter(w, yield)
	for group, records := range d.groups {
		if len(records) == 0 {
			continue
		}
		out.begin(stream.KeyGroup(group))
		if err := d.writeGroup(out, d.sorter.sort(d, records, yield), yield); err != nil {
			return FileSummary{}, err
		}
		if err := out.end(); err != nil {
			return FileSummary{}, err
		}
	}
	return out.finish()
}

// writeGroup writes sorted records; of those of one key the last, which came last (invariant F).
func (d *Delta) writeGroup(out *fileWriter, sorted []sortItem, yield func()) error {
	for i := range sorted {
		if i%pieceRecords == 0 {
			yield()
		}
		whole, key, value := d.record(sorted[i].at)
		if i+1 < len(sorted) && sorted[i].prefix == sorted[i+1].prefix {
			if _, next, _ := d.record(sorted[i+1].at); bytes.Equal(key, next) {
				continue
			}
		}
		if err := out.record(whole, value == nil); err != nil {
			return err
		}
	}
	return nil
}

// record returns the record at a place, and taken apart. Records are our own, so they are sound.
func (d *Delta) record(at uint64) (whole, key, value []byte) {
	b := d.chunks[at>>32][uint32(at):]
	key, value, rest, _ := nextRecord(b)
	return b[:len(b)-len(rest)], key, value
}

// pieceRecords is how many records are looked at between two calls of yield: each may be a miss of every cache.
const pieceRecords = 1024

// pieceCompares is the same for comparisons.
const pieceCompares = 4096

// sortItem is a record to be sorted: 8 bytes of its key decide nearly always, without a look at the record.
type sortItem struct {
	prefix uint64
	at     uint64
}

// sorter keeps the memory for sorting.
type sorter struct{ items []sortItem }

// sort puts the records of a group in the order of their keys, equal ones as they came.
func (s *sorter) sort(d *Delta, records []uint64, yield func()) []sortItem {
	if !s.gather(d, records, d.guessShared(records), yield) {
		s.gather(d, records, 0, yield)
	}
	compares := 0
	slices.SortFunc(s.items, func(a, b sortItem) int {
		if compares++; compares%pieceCompares == 0 {
			yield()
		}
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		_, x, _ := d.record(a.at)
		_, y, _ := d.record(b.at)
		return cmp.Or(bytes.Compare(x, y), cmp.Compare(a.at, b.at))
	})
	return s.items
}

// gather fills items. It is false if some key does not begin with the bytes that all were thought to share.
func (s *sorter) gather(d *Delta, records []uint64, shared int, yield func()) bool {
	_, first, _ := d.record(records[0])
	s.items = slices.Grow(s.items[:0], len(records))
	for i, at := range records {
		if i%pieceRecords == 0 {
			yield()
		}
		_, key, _ := d.record(at)
		if len(key) < shared || string(key[:shared]) != string(first[:shared]) {
			return false
		}
		s.items = append(s.items, sortItem{prefix: prefixOf(key[shared:]), at: at})
	}
	return true
}

// guessShared is how many bytes some keys of a group have in common at their beginning. Rows begin with a header that is
// the same in nearly all of them, and would decide nothing.
func (d *Delta) guessShared(records []uint64) int {
	const looks = 16
	_, first, _ := d.record(records[0])
	shared := len(first)
	for i := 1; i < looks; i++ {
		_, key, _ := d.record(records[len(records)*i/looks])
		n := min(shared, len(key))
		for shared = 0; shared < n && key[shared] == first[shared]; {
			shared++
		}
	}
	return shared
}

// prefixOf is the first 8 bytes as a number of the same order; a shorter key is filled with zeros, and the full
// comparison tells it from one that has those zeros.
func prefixOf(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}
