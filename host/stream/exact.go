package stream

import "fmt"

// CheckExact tells whether hostile bytes are a row in the one form that the ABI
// gives its values: what CheckRow asks for, of kind +I, with the slots of NULLs
// zero, and with the longer values in the order of their columns, without gaps
// between them or behind the last. So rows of equal values are equal bytes. It
// does not look into nested values.
func CheckExact(s *Schema, row []byte) error {
	if err := CheckRow(s, row); err != nil {
		return err
	}
	if kind := Row(row).Change(); kind != Insert {
		return fmt.Errorf("its change kind is %s, %d; it must be %s, %d", kind, kind, Insert, Insert)
	}
	at := nullBytes(len(s.fields)) + 8*len(s.fields)
	if at == len(row) {
		return nil // it has no longer values
	}
	for i := range s.columns {
		c := &s.columns[i]
		if c.IsNull(row) {
			if c.Slot(row) != 0 {
				return fmt.Errorf("column %q: it is NULL but its slot is not zero", c.Name)
			}
			continue
		}
		room, begin := c.room(row)
		if room == 0 {
			continue
		}
		if begin != at {
			return fmt.Errorf("column %q: its value is at offset %d; in the order of columns, without gaps, it must be at %d", c.Name, begin, at)
		}
		at += room
	}
	if at != len(row) {
		return fmt.Errorf("it has %d bytes; its values take %d", len(row), at)
	}
	return nil
}

// room is how many bytes of the variable part a value takes that is not NULL, and
// where they begin; 0 if it stands in its slot.
func (c *Column) room(r Row) (room, at int) {
	slot := c.Slot(r)
	if reserved := c.Type.reserves(); reserved > 0 {
		return reserved, int(slot >> 32)
	}
	switch c.Type.Kind {
	case String, Bytes:
		if slot>>63 != 0 {
			return 0, 0
		}
	case Array, Map, RowType:
	default:
		return 0, 0
	}
	return (int(uint32(slot)) + 7) &^ 7, int(slot >> 32)
}

// RowBytes is how long a row is that a RowWriter or a Projection wrote, and behind which
// other bytes follow.
func (s *Schema) RowBytes(r Row) int {
	n := s.FixedBytes()
	for i := range s.columns {
		c := &s.columns[i]
		if !c.IsNull(r) {
			room, _ := c.room(r)
			n += room
		} else if c.Slot(r) != 0 {
			n += c.Type.reserves() // room is kept for a value that may come
		}
	}
	return n
}
