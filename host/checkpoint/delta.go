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
	groups []deltaGroup // by key group
	count  int
	bytes  int64
	sorter sorter
}

// deltaGroup has the records of a key group, as in the file and in order of arrival. They are by themselves so that
// sorting them stays within the processor's cache.
type deltaGroup struct {
	tail   []byte   // the chunk that is being filled; in chunks it stands as it was at its beginning
	chunks [][]byte // none is ever moved
	used   int      // chunks in use; those behind them are left from before, and empty
	count  int
}

// The capacities of chunks: small at first, since there may be very many groups, then so large that few are needed.
const (
	chunkBytesMin = 512
	chunkBytesMax = 64 << 10
)

// Add takes a key's new value. Of several calls for one key the last counts.
func (d *Delta) Add(group stream.KeyGroup, key, value []byte) {
	g := d.group(group, 2*binary.MaxVarintLen64+len(key)+len(value))
	before := len(g.tail)
	g.tail = appendRecord(g.tail, key, value)
	d.bytes += int64(len(g.tail) - before)
}

// Delete takes note that a key has no value any more.
func (d *Delta) Delete(group stream.KeyGroup, key []byte) {
	g := d.group(group, 2*binary.MaxVarintLen64+len(key))
	before := len(g.tail)
	g.tail = appendDeleted(g.tail, key)
	d.bytes += int64(len(g.tail) - before)
}

// group returns the group for one more record, with room for n bytes in its tail.
func (d *Delta) group(group stream.KeyGroup, n int) *deltaGroup {
	for int(group) >= len(d.groups) {
		d.groups = append(d.groups, deltaGroup{})
	}
	d.count++
	g := &d.groups[group]
	g.count++
	if cap(g.tail)-len(g.tail) < n {
		g.grow(n)
	}
	return g
}

// grow begins the next chunk that has room for n bytes.
func (g *deltaGroup) grow(n int) {
	g.settle()
	for {
		if g.used == len(g.chunks) {
			size := min(chunkBytesMax, chunkBytesMin<<min(g.used, 16))
			g.chunks = append(g.chunks, make([]byte, 0, max(size, n)))
		}
		g.used++
		if g.tail = g.chunks[g.used-1]; cap(g.tail) >= n {
			return
		}
	}
}

// settle makes chunks know what is in the tail.
func (g *deltaGroup) settle() {
	if g.used > 0 {
		g.chunks[g.used-1] = g.tail
	}
}

// Len is the number of calls of Add and Delete since Reset.
func (d *Delta) Len() int { return d.count }

// Bytes is what they amount to, about the size of the file.
func (d *Delta) Bytes() int64 { return d.bytes }

// Reset empties the delta. It keeps the memory that was in use and lets go of what was not even this time.
func (d *Delta) Reset() {
	for i := range d.groups {
		g := &d.groups[i]
		clear(g.chunks[g.used:])
		g.chunks = g.chunks[:g.used]
		for j := range g.chunks {
			g.chunks[j] = g.chunks[j][:0]
		}
		g.tail, g.used, g.count = nil, 0, 0
	}
	d.count, d.bytes = 0, 0
}

// Write writes the file of the records so far. It calls yield, if that is not nil, after every piece of work of at most
// about 200 µs, so that whoever shares the core is not held up; what the writer takes is the writer's.
func (d *Delta) Write(w io.Writer, yield func()) (FileSummary, error) {
	if yield == nil {
		yield = func() {}
	}
	out := newFileWriter(w, yield)
	for i := range d.groups {
		g := &d.groups[i]
		if g.count == 0 {
			continue
		}
		g.settle()
		out.begin(stream.KeyGroup(i))
		if err := g.write(out, d.sorter.sort(g, yield), yield); err != nil {
			return FileSummary{}, err
		}
		if err := out.end(); err != nil {
			return FileSummary{}, err
		}
	}
	return out.finish()
}

// write writes sorted records; of those of one key the last, which came last (invariant F).
func (g *deltaGroup) write(out *fileWriter, sorted []sortItem, yield func()) error {
	for i := range sorted {
		if i%pieceRecords == 0 {
			yield()
		}
		whole, key, value := g.record(sorted[i].at)
		if i+1 < len(sorted) && sorted[i].prefix == sorted[i+1].prefix {
			if _, next, _ := g.record(sorted[i+1].at); bytes.Equal(key, next) {
				continue
			}
		}
		if err := out.record(whole, value == nil); err != nil {
			return err
		}
	}
	return nil
}

// record returns the record at a place, chunk<<32 | offset, and taken apart. Records are our own, so they are sound.
func (g *deltaGroup) record(at uint64) (whole, key, value []byte) {
	b := g.chunks[at>>32][uint32(at):]
	key, value, rest, _ := nextRecord(b)
	return b[:len(b)-len(rest)], key, value
}

// pieceRecords is how many records are looked at between two calls of yield: each may be a miss of every cache.
const pieceRecords = 512

// pieceItems is the same for items to be sorted.
const pieceItems = 4096

// sortItem is a record to be sorted: 8 bytes of its key decide nearly always, without a look at the record.
type sortItem struct {
	prefix uint64
	at     uint64
}

// sorter keeps the memory for sorting.
type sorter struct{ items, spare []sortItem }

// sort puts the records of a group in the order of their keys, equal ones as they came.
func (s *sorter) sort(g *deltaGroup, yield func()) []sortItem {
	if !s.gather(g, g.guessShared(), yield) {
		s.gather(g, nil, yield)
	}
	s.sortPrefixes(yield)
	for from := 0; from < len(s.items); {
		to := from + 1
		for to < len(s.items) && s.items[to].prefix == s.items[from].prefix {
			to++
		}
		if to-from > 1 {
			g.sortSame(s.items[from:to], yield)
		}
		from = to
	}
	return s.items
}

// sortSame sorts records whose keys have the same prefix.
func (g *deltaGroup) sortSame(items []sortItem, yield func()) {
	compares := 0
	slices.SortFunc(items, func(a, b sortItem) int {
		if compares++; compares%pieceRecords == 0 {
			yield()
		}
		_, x, _ := g.record(a.at)
		_, y, _ := g.record(b.at)
		return cmp.Or(bytes.Compare(x, y), cmp.Compare(a.at, b.at))
	})
}

// sortPrefixes sorts by prefixes alone, byte by byte from the last, without those that
// are the same in all: of a million numbers three differ.
func (s *sorter) sortPrefixes(yield func()) {
	var counts [8][256]int
	for i, item := range s.items {
		if i%pieceItems == 0 {
			yield()
		}
		for b := range counts {
			counts[b][byte(item.prefix>>(8*b))]++
		}
	}
	s.spare = slices.Grow(s.spare[:0], len(s.items))[:len(s.items)]
	for b := range counts {
		places := &counts[b]
		if len(s.items) == 0 || places[byte(s.items[0].prefix>>(8*b))] == len(s.items) {
			continue
		}
		at := 0
		for v, n := range places {
			places[v] = at
			at += n
		}
		for i, item := range s.items {
			if i%pieceItems == 0 {
				yield()
			}
			v := byte(item.prefix >> (8 * b))
			s.spare[places[v]] = item
			places[v]++
		}
		s.items, s.spare = s.spare, s.items
	}
}

// gather fills items. It is false if some key does not begin with the bytes that all were thought to share.
func (s *sorter) gather(g *deltaGroup, shared []byte, yield func()) bool {
	s.items = slices.Grow(s.items[:0], g.count)
	for i, chunk := range g.chunks[:g.used] {
		for rest := chunk; len(rest) > 0; {
			if len(s.items)%pieceRecords == 0 {
				yield()
			}
			at := uint64(i)<<32 | uint64(len(chunk)-len(rest))
			var key []byte
			key, _, rest, _ = nextRecord(rest)
			if len(key) < len(shared) || string(key[:len(shared)]) != string(shared) {
				return false
			}
			s.items = append(s.items, sortItem{prefix: prefixOf(key[len(shared):]), at: at})
		}
	}
	return true
}

// guessShared is what some keys of a group have in common at their beginning: those at the beginning of chunks and the
// first few. Rows begin with a header that is the same in nearly all of them, and would decide nothing.
func (g *deltaGroup) guessShared() []byte {
	const looks = 16
	shared, _, rest, _ := nextRecord(g.chunks[0])
	for range min(looks, g.count-1) {
		var key []byte
		if len(rest) == 0 {
			break
		}
		key, _, rest, _ = nextRecord(rest)
		shared = shared[:common(shared, key)]
	}
	for _, chunk := range g.chunks[1:g.used] {
		if len(chunk) > 0 {
			key, _, _, _ := nextRecord(chunk)
			shared = shared[:common(shared, key)]
		}
	}
	return shared
}

// common is how many bytes a and b have in common at their beginning.
func common(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
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
