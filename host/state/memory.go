package state

import (
	"bytes"
	"math"

	"github.com/wasmstream/wasmstream/host/stream"
)

// Memory is a Backend that holds everything in the process: an open-addressing
// table of entries, their values of fixed width in slabs, keys and the other
// values in arenas, timers in queues. In steady state it allocates nothing.
type Memory struct {
	maxParallelism int
	cells          []cell
	stride         int      // bytes of the cells of fixed width
	table          []uint64 // combined hash << 32 | ref+1; 0 is free; len is a power of two
	entries        []entry
	free           []Ref
	suspects       []Ref // may hold nothing; looked at in Release
	live           int
	timed          int      // timers of all entries
	entryBytes     int      // of an entry, without its key and its values of variable width
	values         [][]byte // slabs of slabEntries values
	keys           arena
	texts          arena // of the cells of variable width
	timers         [domains]timerQueue
	many           timerTable // timers of entries that have more than two
	parts          parts
	changes        changes
	restoring      restoring
	fetched        byte // what Expect has looked at
}

// entry is 64 bytes without a pointer.
type entry struct {
	ns      Namespace
	inline  [2]int64 // times of up to two timers, see used; of a part its whole
	key     place    // the key's row, behind it a part's name
	hash    uint32   // of key and namespace, and name
	rowLen  uint32   // of the key
	nameLen uint32
	count   uint32 // timers, the extra ones included
	extra   uint32 // first of them + 1, linked by next
	used    uint8  // bit i: inline[i] is a timer; bit i+2: its domain; bits noted, parted, named
	holds   uint8  // bit i: cell i holds a value; bit live: the entry is in the table
	group   stream.KeyGroup
}

// live is the bit of entry.holds that says that the entry is in the table.
const live = 1 << CellsMax

// noted is the bit of entry.used that says that the entry is marked.
const noted = 1 << 7

// CellsMax is how many cells an entry may have.
const CellsMax = 7

// cell is where the values of one cell are.
type cell struct {
	bytes  int    // of a value; Variable
	offset int    // in the slab's stride
	texts  []text // Variable: by ref
}

// text is a value of variable width.
type text struct {
	place  place
	length uint32
	room   uint32 // bytes at place
}

const (
	entryBytes = 64 // of an entry
	textBytes  = 16 // of a text
)

const (
	slabEntries  = 1 << 10
	tableSlotMin = 1 << 10
)

var _ Backend = (*Memory)(nil)

// NewMemory makes an empty backend in a job with maxParallelism key groups. Each
// of at most CellsMax cells has values of so many bytes (a multiple of 8), or
// Variable.
func NewMemory(maxParallelism int, cells ...int) *Memory {
	m := &Memory{
		maxParallelism: maxParallelism,
		table:          make([]uint64, tableSlotMin),
		changes:        changes{isBase: true},
	}
	for _, bytes := range cells {
		m.cells = append(m.cells, cell{bytes: bytes, offset: m.stride})
		m.stride += bytes
		if bytes == Variable {
			m.entryBytes += textBytes
		}
	}
	m.entryBytes += entryBytes + m.stride
	return m
}

// combine mixes a key's hash with a namespace.
func combine(hash uint32, ns Namespace) uint32 {
	h := (uint64(ns.Start)*0x9e3779b97f4a7c15 ^ uint64(ns.End)) * 0xff51afd7ed558ccd
	h ^= uint64(hash) * 0xc4ceb9fe1a85ec53
	return uint32((h * 0x9e3779b97f4a7c15) >> 32)
}

// Entry implements Backend.
func (m *Memory) Entry(hash uint32, key stream.Row, ns Namespace) Ref {
	h := combine(hash, ns)
	mask := uint32(len(m.table) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		slot := m.table[i]
		if slot == 0 {
			return m.insert(h, hash, key, ns)
		}
		if uint32(slot>>32) == h {
			r := Ref(uint32(slot) - 1)
			e := &m.entries[r]
			if e.ns == ns && int(e.rowLen) == len(key) && e.used&named == 0 && bytes.Equal(m.keys.at(e.key, len(key)), key) {
				return r
			}
		}
	}
}

func (m *Memory) insert(h, keyHash uint32, key stream.Row, ns Namespace) Ref {
	if 2*(m.live+1) > len(m.table) {
		m.grow()
	}
	r := m.create(h, keyHash, key, ns)
	m.link(h, r)
	m.suspects = append(m.suspects, r)
	return r
}

// create makes an entry that is not in the table yet.
func (m *Memory) create(h, keyHash uint32, key stream.Row, ns Namespace) Ref {
	r := m.place()
	m.entries[r] = entry{
		ns: ns, key: m.keys.put(key), hash: h, rowLen: uint32(len(key)), holds: live,
		group: stream.KeyGroupOf(keyHash, m.maxParallelism),
	}
	m.live++
	return r
}

// place finds room for an entry and its value.
func (m *Memory) place() Ref {
	if n := len(m.free); n > 0 {
		r := m.free[n-1]
		m.free = m.free[:n-1]
		return r
	}
	r := Ref(len(m.entries))
	m.entries = append(m.entries, entry{})
	m.changes.hasRoom(r)
	if int(r)/slabEntries == len(m.values) {
		m.values = append(m.values, make([]byte, slabEntries*m.stride))
	}
	return r
}

func (m *Memory) link(h uint32, r Ref) {
	mask := uint32(len(m.table) - 1)
	i := h & mask
	for m.table[i] != 0 {
		i = (i + 1) & mask
	}
	m.table[i] = uint64(h)<<32 | uint64(r+1)
}

func (m *Memory) grow() {
	old := m.table
	m.table = make([]uint64, 2*len(old))
	for _, slot := range old {
		if slot != 0 {
			m.link(uint32(slot>>32), Ref(uint32(slot)-1))
		}
	}
}

// unlink takes an entry out of the table and moves what lies behind it up, so
// that no search stops early.
func (m *Memory) unlink(r Ref) {
	mask := uint32(len(m.table) - 1)
	i := m.entries[r].hash & mask
	for uint32(m.table[i]) != uint32(r+1) {
		i = (i + 1) & mask
	}
	for j := (i + 1) & mask; m.table[j] != 0; j = (j + 1) & mask {
		home := uint32(m.table[j]>>32) & mask
		if (j-home)&mask >= (j-i)&mask { // its search would pass place i
			m.table[i] = m.table[j]
			i = j
		}
	}
	m.table[i] = 0
}

// Key implements Backend.
func (m *Memory) Key(r Ref) stream.Row {
	e := &m.entries[r]
	return stream.Row(m.keys.at(e.key, int(e.rowLen)))
}

// Namespace implements Backend.
func (m *Memory) Namespace(r Ref) Namespace { return m.entries[r].ns }

// Has implements Backend.
func (m *Memory) Has(r Ref, c Cell) bool { return m.entries[r].holds>>c&1 != 0 }

// Value implements Backend.
func (m *Memory) Value(r Ref, c Cell) []byte {
	k := &m.cells[c]
	if k.bytes == Variable {
		return m.text(r, k)
	}
	from := int(r)%slabEntries*m.stride + k.offset
	return m.values[r/slabEntries][from : from+k.bytes : from+k.bytes]
}

func (m *Memory) text(r Ref, k *cell) []byte {
	if int(r) >= len(k.texts) || k.texts[r].room == 0 {
		return nil
	}
	t := &k.texts[r]
	return m.texts.at(t.place, int(t.length))
}

// Edit implements Backend. What the cell has before Hold is in no snapshot.
func (m *Memory) Edit(r Ref, c Cell) []byte {
	if !m.changes.dirty.has(r) && m.Has(r, c) {
		m.mark(r)
	}
	return m.Value(r, c)
}

// Hold implements Backend.
func (m *Memory) Hold(r Ref, c Cell) {
	if !m.Has(r, c) {
		m.touch(r)
		if m.IsPart(r) {
			m.show(r)
		}
		m.entries[r].holds |= 1 << c
	}
}

// Note implements Backend.
func (m *Memory) Note(r Ref) { m.entries[r].used |= noted }

// Noted implements Backend.
func (m *Memory) Noted(r Ref) bool { return m.entries[r].used&noted != 0 }

// Put implements Backend.
func (m *Memory) Put(r Ref, c Cell, value []byte) {
	m.touch(r)
	t := m.resize(r, c, 0, len(value))
	copy(m.texts.at(t.place, len(value)), value)
}

// Append implements Backend.
func (m *Memory) Append(r Ref, c Cell, value []byte) {
	m.touch(r)
	before := len(m.Value(r, c))
	t := m.resize(r, c, before, before+len(value))
	copy(m.texts.at(t.place, int(t.length))[before:], value)
}

// resize makes the value of a cell length bytes long, keeps its first kept bytes, and
// says that the cell holds it.
func (m *Memory) resize(r Ref, c Cell, kept, length int) *text {
	k, n := &m.cells[c], length
	for int(r) >= len(k.texts) {
		k.texts = append(k.texts, text{})
	}
	t := &k.texts[r]
	if n > int(t.room) || t.room == 0 || kept == 0 && isMuchLess(n, int(t.room)) {
		if kept > 0 {
			n = max(n, 2*int(t.room)) // a list that grows moves seldom
		}
		_, room := class(max(n, 1))
		p := m.texts.reserve(room)
		copy(m.texts.at(p, kept), m.texts.at(t.place, kept))
		m.dropText(t)
		t.place, t.room = p, uint32(room)
	}
	t.length = uint32(length)
	if m.IsPart(r) {
		m.show(r)
	}
	m.entries[r].holds |= 1 << c
	return t
}

// isMuchLess tells that a value is so much shorter than its room that it gets another:
// what an entry takes is to follow from what it holds, and not from what it once held.
func isMuchLess(n, room int) bool { return room > 256 && n < room/4 }

func (m *Memory) dropText(t *text) {
	if t.room > 0 {
		m.texts.drop(t.place, int(t.room))
	}
	*t = text{}
}

// Clear implements Backend.
func (m *Memory) Clear(r Ref, c Cell) {
	if m.Has(r, c) {
		m.touch(r)
		m.entries[r].holds &^= 1 << c
		if m.IsPart(r) {
			m.hide(r)
		}
	}
	if k := &m.cells[c]; k.bytes == Variable && int(r) < len(k.texts) && k.texts[r].room > 0 {
		k.texts[r].length = 0
		m.suspects = append(m.suspects, r) // its room is given back at the next Release
		return
	}
	m.suspect(r)
}

func (m *Memory) suspect(r Ref) {
	if e := &m.entries[r]; e.count == 0 && e.holds&^live == 0 {
		m.suspects = append(m.suspects, r)
	}
}

// Release implements Backend.
func (m *Memory) Release() {
	for i := 0; i < len(m.suspects); i++ { // it grows: a whole may be empty without its last part
		r := m.suspects[i]
		if m.IsEmpty(r) {
			m.discard(r)
		} else {
			m.dropTexts(r)
		}
	}
	m.suspects = m.suspects[:0]
}

// IsEmpty implements Backend: the entry is there, and nothing needs it.
func (m *Memory) IsEmpty(r Ref) bool {
	e := &m.entries[r]
	return e.holds == live && e.count == 0 && e.used&parted == 0
}

// discard frees an entry that is empty.
func (m *Memory) discard(r Ref) {
	e := &m.entries[r]
	m.forget(r)
	m.unlink(r)
	m.dropTexts(r)
	m.keys.drop(e.key, int(e.rowLen+e.nameLen))
	*e = entry{}
	m.free = append(m.free, r)
	m.live--
}

// dropTexts gives the rooms of cells back that hold no value.
func (m *Memory) dropTexts(r Ref) {
	for c := range m.cells {
		if k := &m.cells[c]; int(r) < len(k.texts) && k.texts[r].room > 0 && !(m.entries[r].holds>>c&1 != 0) {
			m.dropText(&k.texts[r])
		}
	}
}

// Discard implements Backend.
func (m *Memory) Discard(part Ref) {
	if m.IsPart(part) && m.IsEmpty(part) {
		m.discard(part)
		if n := len(m.suspects); n > 0 && m.suspects[n-1] == part { // it was emptied just now
			m.suspects = m.suspects[:n-1]
		}
	}
}

// Stats implements Backend.
func (m *Memory) Stats() Stats {
	return Stats{
		Entries: m.live, Timers: m.timed, Bytes: int64(m.live)*int64(m.entryBytes) + int64(m.parts.live)*nodeBytes + m.keys.live + m.texts.live +
			int64(m.many.len)*TimerBytes,
	}
}

// NextTimer implements Backend.
func (m *Memory) NextTimer(d Domain) int64 {
	if q := &m.timers[d]; q.len > 0 {
		return q.next()
	}
	return math.MaxInt64
}
