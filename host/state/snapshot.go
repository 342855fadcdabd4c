package state

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/wasmstream/wasmstream/host/stream"
)

// The entries of a key group are, one after the other, little-endian:
//
//	u32 length of the key, the key's row, i64 start and i64 end of the namespace,
//	u8 with a bit for each cell that holds a value, then each value: of a cell of
//	variable width with u32 its length before it,
//	u32 number of timers, for each u8 domain and i64 time

// Snapshot implements Backend.
func (m *Memory) Snapshot(put func(group stream.KeyGroup, entries []byte)) {
	refs := make([]Ref, 0, m.live)
	for r := range m.entries {
		if e := &m.entries[r]; e.holds&^live != 0 || e.count > 0 {
			refs = append(refs, Ref(r))
		}
	}
	slices.SortFunc(refs, m.compare)
	many := m.manyByRef()
	for len(refs) > 0 {
		group := m.entries[refs[0]].group
		buf := m.snapshotBuf[:0]
		for len(refs) > 0 && m.entries[refs[0]].group == group {
			buf = m.appendEntry(buf, refs[0], many)
			refs = refs[1:]
		}
		m.snapshotBuf = buf
		put(group, buf)
	}
}

// compare is the canonical order of entries (invariant S).
func (m *Memory) compare(a, b Ref) int {
	x, y := &m.entries[a], &m.entries[b]
	return cmp.Or(
		cmp.Compare(x.group, y.group),
		bytes.Compare(m.Key(a), m.Key(b)),
		cmp.Compare(x.ns.Start, y.ns.Start),
		cmp.Compare(x.ns.End, y.ns.End))
}

func (m *Memory) manyByRef() map[Ref][]timerKey {
	if len(m.many) == 0 {
		return nil
	}
	by := make(map[Ref][]timerKey)
	for k := range m.many {
		by[k.ref] = append(by[k.ref], k)
	}
	return by
}

func (m *Memory) appendEntry(buf []byte, r Ref, many map[Ref][]timerKey) []byte {
	e := &m.entries[r]
	buf = binary.LittleEndian.AppendUint32(buf, e.rowLen)
	buf = append(buf, m.Key(r)...)
	buf = binary.LittleEndian.AppendUint64(buf, uint64(e.ns.Start))
	buf = binary.LittleEndian.AppendUint64(buf, uint64(e.ns.End))
	buf = append(buf, e.holds&^live)
	for c := range m.cells {
		if !m.Has(r, Cell(c)) {
			continue
		}
		value := m.Value(r, Cell(c))
		if m.cells[c].bytes == Variable {
			buf = binary.LittleEndian.AppendUint32(buf, uint32(len(value)))
		}
		buf = append(buf, value...)
	}
	timers := many[r]
	for i, at := range e.inline {
		if e.used>>i&1 != 0 {
			timers = append(timers, timerKey{at: at, domain: Domain(e.used >> 2 >> i & 1)})
		}
	}
	slices.SortFunc(timers, func(a, b timerKey) int {
		return cmp.Or(cmp.Compare(a.domain, b.domain), cmp.Compare(a.at, b.at))
	})
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(timers)))
	for _, t := range timers {
		buf = append(buf, byte(t.domain))
		buf = binary.LittleEndian.AppendUint64(buf, uint64(t.at))
	}
	return buf
}

// Restore implements Backend.
func (m *Memory) Restore(entries []byte) error {
	in := reader{b: entries}
	for len(in.b) > 0 {
		key := in.take(int(in.u32()))
		ns := Namespace{Start: in.i64(), End: in.i64()}
		holds := in.u8()
		if in.bad || len(key) < 8 || holds>>len(m.cells) != 0 {
			return errBroken
		}
		r := m.Entry(stream.Row(key).Hash(), key, ns)
		m.restoreCells(r, holds, &in)
		for n := in.u32(); n > 0; n-- {
			d := Domain(in.u8())
			at := in.i64()
			if in.bad || d >= domains {
				return errBroken
			}
			m.SetTimer(d, at, r)
		}
		if in.bad {
			return errBroken
		}
	}
	m.Release()
	return nil
}

func (m *Memory) restoreCells(r Ref, holds uint8, in *reader) {
	for i := range m.cells {
		c := Cell(i)
		switch bytes := m.cells[i].bytes; {
		case holds>>i&1 == 0:
		case bytes == Variable:
			m.Put(r, c, in.take(int(in.u32())))
		default:
			if value := in.take(bytes); !in.bad {
				m.Hold(r, c)
				copy(m.Value(r, c), value)
			}
		}
	}
}

var errBroken = errors.New("the state of a key group is broken")

// reader takes values off the front of untrusted bytes; bad is sticky.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
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

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) i64() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.LittleEndian.Uint64(b))
	}
	return 0
}
