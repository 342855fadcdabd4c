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

// SetOrigin says where the last row comes from. Rows go without, unless somebody wants
// to know: it is 48 bytes for each.
func (b *Batch) SetOrigin(o Origin) {
	for len(b.origins) < b.Len()-1 {
		b.origins = append(b.origins, Origin{})
	}
	b.origins = append(b.origins, o)
}

// Origin is where row i comes from.
func (b *Batch) Origin(i int) Origin {
	if i >= len(b.origins) {
		return Origin{}
	}
	return b.origins[i]
}

// CopyOrigin says that the last row comes from where row i of another batch does.
func (b *Batch) CopyOrigin(of *Batch, i int) {
	if len(of.origins) > 0 {
		b.SetOrigin(of.Origin(i))
	}
}
