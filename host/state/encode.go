package state

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/wasmstream/wasmstream/host/stream"
)

// A record's key is the key's row, then the namespace: nothing if it is zero,
// else its start and its length in milliseconds as varints; then a byte that says
// how many bytes the namespace has. That of a part has the name behind the row, and
// before the last byte, in which ofPart is set, the name's length, a u32. Of a part
// of the shared entry the namespace is two u16 instead: the task's first key group,
// and how many tasks there were.
//
// Its value is a byte with a bit for each cell that holds something, and hasTimers;
// of each such cell the value, of one of variable width behind its length, a
// uvarint; if there are timers, for each domain their number, a uvarint, and their
// times, ascending: the first as a varint, less the namespace's end, which a
// window's timers are near; each other one as a uvarint, less the one before.
// Arithmetic is modulo 2^64, so all times can be told.

const hasTimers = 1 << CellsMax

// encoder has the room for one record, and sorts timers.
type encoder struct {
	key, value []byte
	times      [domains][]int64
}

// encodeKey gives the key of an entry's record, good until the next call.
func (m *Memory) encodeKey(r Ref) []byte {
	e := &m.entries[r]
	b := append(m.changes.encoder.key[:0], m.keys.at(e.key, int(e.rowLen+e.nameLen))...)
	switch {
	case m.IsShared(r):
		b = appendCopy(b, m.parts.copy)
	case e.ns != (Namespace{}):
		b = binary.AppendVarint(b, e.ns.Start)
		b = binary.AppendVarint(b, e.ns.End-e.ns.Start)
	}
	last := byte(len(b) - int(e.rowLen+e.nameLen))
	if m.IsPart(r) {
		b = binary.LittleEndian.AppendUint32(b, e.nameLen)
		last |= ofPart
	}
	b = append(b, last)
	m.changes.encoder.key = b
	return b
}

// ofPart is the bit of the last byte of the key of a part's record.
const ofPart = 1 << 7

func appendCopy(b []byte, c Copy) []byte {
	b = binary.LittleEndian.AppendUint16(b, uint16(c.Home))
	return binary.LittleEndian.AppendUint16(b, uint16(c.Tasks))
}

// encodeValue gives the value of an entry's record, good until the next call.
func (m *Memory) encodeValue(r Ref) []byte {
	e := &m.entries[r]
	b := append(m.changes.encoder.value[:0], e.holds&^live)
	if e.count > 0 {
		b[0] |= hasTimers
	}
	for i := range m.cells {
		if e.holds>>i&1 == 0 {
			continue
		}
		value := m.Value(r, Cell(i))
		if m.cells[i].bytes == Variable {
			b = binary.AppendUvarint(b, uint64(len(value)))
		}
		b = append(b, value...)
	}
	if e.count > 0 {
		b = m.encodeTimers(b, r)
	}
	m.changes.encoder.value = b
	return b
}

func (m *Memory) encodeTimers(b []byte, r Ref) []byte {
	times := &m.changes.encoder.times
	for d := range times {
		times[d] = times[d][:0]
	}
	m.eachTimer(r, func(d Domain, at int64) { times[d] = append(times[d], at) })
	for d := range times {
		slices.Sort(times[d])
		b = binary.AppendUvarint(b, uint64(len(times[d])))
		for i, at := range times[d] {
			if i == 0 {
				b = binary.AppendVarint(b, at-m.entries[r].ns.End)
			} else {
				b = binary.AppendUvarint(b, uint64(at-times[d][i-1]))
			}
		}
	}
	return b
}

// keyBytesMin is the shortest row: a header and no column. No step's key is so short.
const keyBytesMin = 8

// recordKey is the key of a record, taken apart.
type recordKey struct {
	row    stream.Row
	name   []byte
	isPart bool
	ns     Namespace
	copy   Copy // of a part of the shared entry
}

func (k *recordKey) isShared() bool { return len(k.row) == keyBytesMin }

// decodeKey takes the key of a record apart.
func decodeKey(b []byte) (k recordKey, ok bool) {
	if len(b) == 0 {
		return k, false
	}
	last := b[len(b)-1]
	b = b[:len(b)-1]
	name := 0
	if k.isPart = last&ofPart != 0; k.isPart {
		if len(b) < 4 {
			return k, false
		}
		name = int(binary.LittleEndian.Uint32(b[len(b)-4:]))
		b = b[:len(b)-4]
	}
	n := len(b) - int(last&^ofPart)
	if n-name < keyBytesMin {
		return k, false
	}
	in := reader{b: b[n:]}
	k.row, k.name = stream.Row(b[:n-name]), b[n-name:n]
	if k.isShared() {
		if !k.isPart || len(in.b) != 4 || !bytes.Equal(k.row, sharedKey) {
			return k, false
		}
		k.copy.Home = stream.KeyGroup(binary.LittleEndian.Uint16(in.b))
		k.copy.Tasks = int(binary.LittleEndian.Uint16(in.b[2:]))
		return k, true
	}
	if len(in.b) > 0 {
		k.ns.Start = in.varint()
		k.ns.End = k.ns.Start + in.varint()
		if in.bad || len(in.b) > 0 {
			return k, false
		}
	}
	return k, true
}

// reader takes values off the front of untrusted bytes; bad is sticky, and what
// is taken then is zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.b, r.bad = nil, true
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) u8() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[n:]
	return v
}
