package stream

import "strconv"

// Origin is where a record was read. The zero value: it is not known.
type Origin struct {
	Source, Split  string // Split is "" where the source has only one, a file
	Record, Offset int64  // number in the split from 0; of a file, bytes before it
}

// String is the place for people; empty if it is not known.
func (o Origin) String() string { return string(o.AppendTo(nil)) }

// AppendTo appends the same.
func (o Origin) AppendTo(dst []byte) []byte {
	if o.Source == "" {
		return dst
	}
	dst = append(append(dst, "source "...), o.Source...)
	if o.Split != "" {
		dst = append(append(append(dst, ", "...), o.Split...), ", offset "...)
	} else {
		dst = strconv.AppendInt(append(dst, ", line "...), o.Record+1, 10)
		dst = append(dst, ", byte "...)
	}
	return strconv.AppendInt(dst, o.Offset, 10)
}

// rowOrigin is where a row was read, and what: a part of the batch's originals.
type rowOrigin struct {
	Origin
	from, to uint32
}

// SetOrigin says where the last row comes from, and what was read there; it copies that.
// Rows go without, unless somebody wants to know: it is 56 bytes for each, and the bytes
// of each record, which follow each other in the batch and count among its bytes. Rows
// that were made of one record share them if they follow each other.
func (b *Batch) SetOrigin(o Origin, original []byte) {
	from := uint32(len(b.originals))
	for len(b.origins) < b.Len()-1 {
		b.origins = append(b.origins, rowOrigin{from: from, to: from})
	}
	if n := len(b.origins); n > 0 && b.origins[n-1].Origin == o {
		b.origins = append(b.origins, b.origins[n-1])
		return
	}
	b.originals = append(b.originals, original...)
	b.origins = append(b.origins, rowOrigin{o, from, uint32(len(b.originals))})
}

// Origin is where row i comes from.
func (b *Batch) Origin(i int) Origin {
	if i >= len(b.origins) {
		return Origin{}
	}
	return b.origins[i].Origin
}

// Original is what row i was made of, as it was read: a view into the batch; nil if it is
// not known, or empty.
func (b *Batch) Original(i int) []byte {
	if i >= len(b.origins) || b.origins[i].from == b.origins[i].to {
		return nil
	}
	at := &b.origins[i]
	return b.originals[at.from:at.to:at.to]
}

// cutOrigins leaves those of the first n rows.
func (b *Batch) cutOrigins(n int) {
	if n >= len(b.origins) {
		return
	}
	end := uint32(0)
	if n > 0 {
		end = b.origins[n-1].to // none before it ends further on
	}
	b.origins, b.originals = b.origins[:n], b.originals[:end]
}

// CopyOrigin says that the last row comes from where row i of another batch does.
func (b *Batch) CopyOrigin(of *Batch, i int) {
	if len(of.origins) > 0 {
		b.SetOrigin(of.Origin(i), of.Original(i))
	}
}
