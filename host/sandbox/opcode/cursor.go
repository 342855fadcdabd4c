package opcode

// Cursor reads what is around instructions, of what was found well-formed before.
// Anything else makes it Bad; what it returns then means nothing.
type Cursor struct {
	Reader
	Bad bool
}

// NewCursor returns a cursor on a stretch of data.
func NewCursor(data []byte, at, end int) Cursor {
	return Cursor{Reader: Reader{Data: data, At: at, End: end}}
}

// Byte reads a byte.
func (c *Cursor) Byte() byte {
	if b := c.Bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// Bytes reads so many bytes, and returns a view of them.
func (c *Cursor) Bytes(n uint32) []byte {
	if c.Bad || int64(n) > int64(c.End-c.At) {
		c.Bad = true
		return nil
	}
	c.At += int(n)
	return c.Data[c.At-int(n) : c.At : c.At]
}

// U32 reads an unsigned number.
func (c *Cursor) U32() uint32 {
	n, err := c.u32()
	c.Bad = c.Bad || err != nil
	return n
}

// Count reads the length of a vector whose items have so many bytes at least.
func (c *Cursor) Count(itemBytes int) int {
	n := c.U32()
	if c.Bad = c.Bad || int64(n)*int64(itemBytes) > int64(c.End-c.At); c.Bad {
		return 0
	}
	return int(n)
}

// Locals are those of a function.
type Locals struct {
	// Count is of all, its parameters too.
	Count uint32
	// Groups is how many declare them; they lie from From up to To.
	Groups   int
	From, To int
}

// Locals reads what a function's body begins with.
func (c *Cursor) Locals(params uint32) (l Locals) {
	count := uint64(params)
	l.Groups = c.Count(2)
	l.From = c.At
	for range l.Groups {
		count += uint64(c.U32())
		c.Byte()
		c.Bad = c.Bad || count >= 1<<31
		if c.Bad {
			return l
		}
	}
	l.Count, l.To = uint32(count), c.At
	return l
}
