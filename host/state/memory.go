package state

import (
	"bytes"
	"math"

	"github.com/wasmstream/wasmstream/host/stream"
)

// Memory is a Backend that holds everything in the process: an open-addressing
// table of entries, their values in slabs at a fixed stride, timers in a heap.
// In steady state it allocates nothing.
type Memory struct {
	maxParallelism int
	stride         int
	table          []uint64 // combined hash << 32 | ref+1; 0 is free; len is a power of two
	entries        []entry
	free           []Ref
	suspects       []Ref // may hold nothing; looked at in Release
	live           int
	values         [][]byte // slabs of slabEntries values
	keys           arena
	timers         [domains]timerHeap
	many           map[timerKey]struct{} // timers of entries that have more than two
	snapshotBuf    []byte
}

// entry is 64 bytes without a pointer.
type entry struct {
	ns     Namespace
	inline [2]int64 // times of up to two timers, see used
	key    place
	hash   uint32 // of key and namespace
	rowLen uint32 // of the key
	count  uint32 // timers, those in many included
	used   uint8  // bit i: inline[i] is a timer; bit i+2: its domain
	flags  uint8
	group  stream.KeyGroup
}

const (
	flagLive  = 1 << iota // in the table
	flagValue             // holds a value
)

const (
	slabEntries  = 1 << 10
	tableSlotMin = 1 << 10
)

var _ Backend = (*Memory)(nil)

// NewMemory makes an empty backend for values of valueBytes each (a multiple of
// 8), in a job with maxParallelism key groups.
func NewMemory(valueBytes, maxParallelism int) *Memory {
	return &Memory{
		maxParallelism: maxParallelism,
		stride:         valueBytes,
		table:          make([]uint64, tableSlotMin),
		many:           map[timerKey]struct{}{},
	}
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
			if e.ns == ns && int(e.rowLen) == len(key) && bytes.Equal(m.keys.at(e.key, len(key)), key) {
				return r
			}
		}
	}
}

func (m *Memory) insert(h, keyHash uint32, key stream.Row, ns Namespace) Ref {
	if 2*(m.live+1) > len(m.table) {
		m.grow()
	}
	r := m.place()
	m.entries[r] = entry{
		ns: ns, key: m.keys.put(key), hash: h, rowLen: uint32(len(key)), flags: flagLive,
		group: stream.KeyGroupOf(keyHash, m.maxParallelism),
	}
	m.live++
	m.link(h, r)
	m.suspects = append(m.suspects, r)
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
func (m *Memory) Has(r Ref) bool { return m.entries[r].flags&flagValue != 0 }

// Value implements Backend.
func (m *Memory) Value(r Ref) stream.Row {
	from := int(r) % slabEntries * m.stride
	return stream.Row(m.values[r/slabEntries][from : from+m.stride : from+m.stride])
}

// SetHas implements Backend.
func (m *Memory) SetHas(r Ref) { m.entries[r].flags |= flagValue }

// Clear implements Backend.
func (m *Memory) Clear(r Ref) {
	m.entries[r].flags &^= flagValue
	m.suspect(r)
}

func (m *Memory) suspect(r Ref) {
	if e := &m.entries[r]; e.count == 0 && e.flags&flagValue == 0 {
		m.suspects = append(m.suspects, r)
	}
}

// Release implements Backend.
func (m *Memory) Release() {
	for _, r := range m.suspects {
		e := &m.entries[r]
		if e.flags == flagLive && e.count == 0 {
			m.unlink(r)
			m.keys.drop(e.key, int(e.rowLen))
			*e = entry{}
			m.free = append(m.free, r)
			m.live--
		}
	}
	m.suspects = m.suspects[:0]
}

// Stats implements Backend.
func (m *Memory) Stats() Stats {
	s := Stats{Entries: m.live}
	for i := range m.entries {
		s.Timers += int(m.entries[i].count)
	}
	return s
}

// NextTimer implements Backend.
func (m *Memory) NextTimer(d Domain) int64 {
	if h := m.timers[d].heap; len(h) > 0 {
		return h[0].at
	}
	return math.MaxInt64
}
