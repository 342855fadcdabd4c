package stream

import "encoding/binary"

// Projection copies chosen columns of a row into a row of their own: a key, the
// columns a function declares, a result beside its key.
type Projection struct {
	fixed int
	moves []move
	// whole: it is all columns in their order, of types that have one form each, so that
	// a row mostly is its projection already. long are those that may be variable then.
	whole bool
	long  []Column
}

// move copies the column from one row to the column at of another.
type move struct {
	from, at Column
	variable bool
}

// NewProjection copies columns of rows of schema s, in the order given.
func NewProjection(s *Schema, columns []int) *Projection {
	to := s.Project(columns)
	p := &Projection{fixed: to.FixedBytes(), whole: len(columns) == s.Len()}
	for i, c := range columns {
		m := move{from: s.columns[c], at: to.columns[i], variable: !s.fields[c].Type.IsFixedWidth()}
		p.moves = append(p.moves, m)
		p.whole = p.whole && c == i && m.from.reserve == 0
		if m.variable {
			p.long = append(p.long, m.from)
		}
	}
	return p
}

// AppendTo appends the projected row, of the given change kind, to a buffer.
func (p *Projection) AppendTo(buf []byte, r Row, kind ChangeKind) []byte {
	base := len(buf)
	if p.whole {
		if n := p.wholeBytes(r); n > 0 {
			buf = append(buf, r[:n]...)
			buf[base] = byte(kind)
			return buf
		}
	}
	buf = extendZero(buf, p.fixed)
	buf[base] = byte(kind)
	return copyColumns(buf, base, r, p.moves)
}

// wholeBytes is how long a row is whose variable parts are in the order of its columns and
// without gaps, as its projection's would be; 0 of others.
func (p *Projection) wholeBytes(r Row) int {
	n := p.fixed
	for i := range p.long {
		c := &p.long[i]
		slot := c.Slot(r)
		if isInline(c, slot) || c.IsNull(r) {
			continue
		}
		if int(slot>>32) != n {
			return 0
		}
		n += (int(uint32(slot)) + 7) &^ 7
	}
	return n
}

// Join lays out all columns of one row behind all columns of another, and
// leaves room for trailing columns that are fixed in width.
type Join struct {
	fixed         int
	first, second []move
}

// AppendTo appends the row that consists of the columns of a and then those of
// b to a buffer; the trailing columns are zero.
func (j *Join) AppendTo(buf []byte, a, b Row, kind ChangeKind) []byte {
	base := len(buf)
	buf = extendZero(buf, j.fixed)
	buf[base] = byte(kind)
	buf = copyColumns(buf, base, a, j.first)
	return copyColumns(buf, base, b, j.second)
}

// NewJoin makes rows of schema out: the columns of a, those of b, then columns
// that the caller fills in place.
func NewJoin(a, b, out *Schema) *Join {
	j := &Join{fixed: out.FixedBytes()}
	for i, f := range a.fields {
		j.first = append(j.first, move{a.columns[i], out.columns[i], !f.Type.IsFixedWidth()})
	}
	for i, f := range b.fields {
		j.second = append(j.second, move{b.columns[i], out.columns[len(a.fields)+i], !f.Type.IsFixedWidth()})
	}
	return j
}

// NewJoinOf makes rows of schema out: some columns of a, some of b, then columns
// that the caller fills in place.
func NewJoinOf(a *Schema, columnsA []int, b *Schema, columnsB []int, out *Schema) *Join {
	j := &Join{fixed: out.FixedBytes()}
	for i, c := range columnsA {
		j.first = append(j.first, move{a.columns[c], out.columns[i], !a.fields[c].Type.IsFixedWidth()})
	}
	for i, c := range columnsB {
		j.second = append(j.second, move{b.columns[c], out.columns[len(columnsA)+i], !b.fields[c].Type.IsFixedWidth()})
	}
	return j
}

// copyColumns moves columns of r into the row that starts at base of buf.
func copyColumns(buf []byte, base int, r Row, moves []move) []byte {
	for i := range moves {
		m := &moves[i]
		row := buf[base:]
		if m.from.IsNull(r) {
			// Not as it stands: a NULL has more than one legal form, and equal
			// keys must be equal bytes (invariant K).
			row[m.at.nullByte] |= m.at.nullMask
			if m.variable {
				buf = reserveNull(buf, base, &m.at)
			}
			continue
		}
		slot := binary.LittleEndian.Uint64(r[m.from.offset:])
		if m.variable && !isInline(&m.from, slot) {
			buf, slot = copyVariable(buf, base, r, &m.from, slot)
			row = buf[base:]
		}
		binary.LittleEndian.PutUint64(row[m.at.offset:], slot)
	}
	return buf
}

// reserveNull makes room for a value that may come, where Flink's writer does.
func reserveNull(buf []byte, base int, c *Column) []byte {
	n := int(c.reserve)
	if n == 0 {
		return buf
	}
	at := len(buf) - base
	buf = append(buf, zeros[:n]...)
	binary.LittleEndian.PutUint64(buf[base+c.offset:], uint64(at)<<32)
	return buf
}

func isInline(c *Column, slot uint64) bool {
	return slot>>63 != 0 && (c.Type.Kind == String || c.Type.Kind == Bytes)
}

// copyVariable appends the variable part that a slot points at and returns the
// slot that points at the copy.
func copyVariable(buf []byte, base int, r Row, c *Column, slot uint64) ([]byte, uint64) {
	from, reserved := int(slot>>32), (int(uint32(slot))+7)&^7
	switch c.Type.Kind {
	case Decimal:
		reserved = 16 // whatever the value's length
	case Timestamp, TimestampLTZ:
		reserved = 8 // the slot's low half is nanoseconds, not a length
	}
	at := len(buf) - base
	buf = append(buf, r[from:from+reserved]...)
	return buf, uint64(at)<<32 | slot&0xffffffff
}

// AppendProjected adds the projection of a row to the batch.
func (b *Batch) AppendProjected(p *Projection, r Row, t EventTime) {
	b.data = p.AppendTo(b.data, r, r.Change())
	b.added(t)
}

// AppendJoined adds the join of two rows to the batch and returns it, so that
// its trailing columns can be filled.
func (b *Batch) AppendJoined(j *Join, x, y Row, kind ChangeKind, t EventTime) Row {
	base := len(b.data)
	b.data = j.AppendTo(b.data, x, y, kind)
	b.added(t)
	return Row(b.data[base:])
}
