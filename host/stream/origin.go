package stream

import "fmt"

// Origin is where a record was read. The zero value: it is not known.
type Origin struct {
	Source, Split  string // Split is "" where the source has only one, a file
	Record, Offset int64  // number in the split from 0; of a file, bytes before it
}

// String is the place for people; empty if it is not known.
func (o Origin) String() string { return string(o.AppendTo(nil)) }

// AppendTo appends the same.
func (o Origin) AppendTo(dst []byte) []byte {
	switch {
	case o.Source == "":
		return dst
	case o.Split != "":
		return fmt.Appendf(dst, "source %s, %s, offset %d", o.Source, o.Split, o.Offset)
	}
	return fmt.Appendf(dst, "source %s, line %d, byte %d", o.Source, o.Record+1, o.Offset)
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
