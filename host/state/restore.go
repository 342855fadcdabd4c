package state

import (
	"bytes"
	"errors"
	"slices"

	"github.com/wasmstream/wasmstream/host/stream"
)

var (
	errBrokenKey   = errors.New("the key of a state record is broken")
	errBrokenValue = errors.New("the value of a state record is broken")
	errTwice       = errors.New("an entry of the state is there twice")
)

// restoring is the entries that were restored and are not in the table yet. A place
// in a table of millions is seldom in the cache; looked for one by one, each
// is waited for, and many at once take little longer than one.
type restoring struct {
	refs  []Ref
	parts []Ref  // all there were: their wholes may come later
	warm  uint64 // says nothing: it is there so that the table is read
}

const restoringMax = 256

// Grow implements Backend.
func (m *Memory) Grow(entries int) {
	if entries <= 0 {
		return
	}
	m.entries = slices.Grow(m.entries, entries)
	for 2*(m.live+entries) > len(m.table) {
		m.grow()
	}
}

// Restore implements Backend. A snapshot under way is a mistake in the caller's
// code, which no run gets over, so it panics.
func (m *Memory) Restore(key, value []byte) error {
	if m.changes.underWay {
		panic("state: Restore while a snapshot is under way")
	}
	k, ok := decodeKey(key)
	if !ok {
		return errBrokenKey
	}
	if k.isShared() && k.copy != m.parts.copy {
		m.changes.fresh.Delete(k.copy.Home, key) // of another task, before there were more or fewer
		m.changes.isBase = false
		return nil
	}
	r, err := m.restore(&k, value)
	if err != nil {
		return err
	}
	m.changes.dirty.unset(r)
	m.changes.stored.set(r)
	m.changes.isBase = false
	return m.linkLater(r)
}

// RestoreCopy implements Backend.
func (m *Memory) RestoreCopy(key, value []byte) error {
	k, ok := decodeKey(key)
	if !ok {
		return errBrokenKey
	}
	if !k.isShared() {
		return nil
	}
	k.copy = m.parts.copy
	r, err := m.restore(&k, value)
	if err != nil {
		return err
	}
	return m.linkLater(r)
}

// CopyOf tells whose copy of the shared entry a record is a part of; false if it is none.
func CopyOf(key []byte) (c Copy, ok bool) {
	k, ok := decodeKey(key)
	return k.copy, ok && k.isShared()
}

// restore makes the entry of a record, which is not in the table yet.
func (m *Memory) restore(k *recordKey, value []byte) (Ref, error) {
	in := reader{b: value}
	holds := in.u8()
	if holds&^hasTimers>>len(m.cells) != 0 || k.isPart && holds&hasTimers != 0 {
		return 0, errBrokenValue
	}
	hash := k.row.Hash()
	h, group := combine(hash, k.ns), stream.KeyGroupOf(hash, m.maxParallelism)
	if k.isShared() {
		group = k.copy.Home
	}
	var r Ref
	if k.isPart {
		r = m.createNamed(mixName(h, k.name), group, k.row, k.name, k.ns)
		m.restoring.parts = append(m.restoring.parts, r)
	} else {
		r = m.create(h, hash, k.row, k.ns)
	}
	m.restoreCells(r, holds, &in)
	if holds&hasTimers != 0 {
		m.restoreTimers(r, &in)
	}
	if e := &m.entries[r]; in.bad || len(in.b) > 0 || e.holds == live && e.count == 0 {
		return 0, errBrokenValue
	}
	return r, nil
}

func (m *Memory) linkLater(r Ref) error {
	if m.restoring.refs = append(m.restoring.refs, r); len(m.restoring.refs) < restoringMax {
		return nil
	}
	return m.linkAll()
}

// Restored implements Backend.
func (m *Memory) Restored() error {
	if err := m.linkAll(); err != nil {
		return err
	}
	for _, r := range m.restoring.parts {
		key := m.Key(r)
		whole := m.Entry(key.Hash(), key, m.entries[r].ns)
		m.entries[whole].group = m.entries[r].group
		m.join(whole, r)
	}
	m.restoring.parts = nil
	return nil
}

// linkAll brings what was restored into the table.
func (m *Memory) linkAll() error {
	in := &m.restoring
	for 2*m.live > len(m.table) {
		m.grow()
	}
	mask := uint32(len(m.table) - 1)
	for _, r := range in.refs {
		in.warm ^= m.table[m.entries[r].hash&mask]
	}
	for _, r := range in.refs {
		if !m.linkNew(r) {
			return errTwice
		}
	}
	in.refs = in.refs[:0]
	return nil
}

// linkNew is link for an entry that may be there twice; it is then not linked.
func (m *Memory) linkNew(r Ref) bool {
	e, mask := &m.entries[r], uint32(len(m.table)-1)
	i := e.hash & mask
	for ; m.table[i] != 0; i = (i + 1) & mask {
		if uint32(m.table[i]>>32) != e.hash {
			continue
		}
		other := Ref(uint32(m.table[i]) - 1)
		if o := &m.entries[other]; o.ns == e.ns && o.rowLen == e.rowLen && m.IsPart(other) == m.IsPart(r) && bytes.Equal(m.fullKey(other), m.fullKey(r)) {
			return false
		}
	}
	m.table[i] = uint64(e.hash)<<32 | uint64(r+1)
	return true
}

// fullKey is all that an entry's key is: the row, and the name of a part.
func (m *Memory) fullKey(r Ref) []byte {
	e := &m.entries[r]
	return m.keys.at(e.key, int(e.rowLen+e.nameLen))
}

func (m *Memory) restoreCells(r Ref, holds uint8, in *reader) {
	for i := range m.cells {
		c := Cell(i)
		switch bytes := m.cells[i].bytes; {
		case holds>>i&1 == 0:
		case bytes == Variable:
			m.Put(r, c, in.take(in.uvarint()))
		default:
			if value := in.take(uint64(bytes)); !in.bad {
				m.Hold(r, c)
				copy(m.Value(r, c), value)
			}
		}
	}
}

func (m *Memory) restoreTimers(r Ref, in *reader) {
	for d := range domains {
		at := m.entries[r].ns.End
		for i, n := uint64(0), in.uvarint(); i < n; i++ {
			if i == 0 {
				at += in.varint()
			} else {
				at += int64(in.uvarint())
			}
			if in.bad {
				return
			}
			m.SetTimer(d, at, r)
		}
	}
}
