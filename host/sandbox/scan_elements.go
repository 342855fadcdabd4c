package sandbox

// elementSection reads the contents of the table. The engine keeps an expression
// for each entry, dozens of bytes for one, so their number has a limit of its own.
func (s *scanner) elementSection() {
	for range s.count("element segments", 2, segmentsMax) {
		start := s.at
		mode := s.u32("an element segment's mode")
		switch {
		case s.err != nil:
		case mode > 7:
			s.refuse(RefusedMalformed, start, "an element segment has the mode %d", mode)
		case mode&1 != 0:
			// The engine panics when it is to make an instance: it wants a place in the table.
			s.refuse(RefusedFeature, start, "an element segment is not for a place in the table; without reference types all must be")
		}
		if s.err != nil {
			return
		}
		s.elementTarget(mode, start)
		s.elementItems(mode)
		if s.err != nil {
			return
		}
	}
}

// elementTarget reads where a segment goes and what it holds. Bit 0 of the mode
// says that it is not put into the table at once, bit 1 that a table is named, bit 2
// that entries are expressions.
func (s *scanner) elementTarget(mode uint32, start int) {
	named, expressions := mode&2 != 0, mode&4 != 0
	if named {
		if table := s.u32("a table's index"); s.err == nil && table != 0 {
			s.refuse(RefusedTable, start, "an element segment is for table %d; one table is allowed", table)
		}
	}
	s.constant()
	if !named {
		return
	}
	at := s.at
	kind := s.byte("what an element segment holds")
	if want := map[bool]byte{false: 0x00, true: 0x70}[expressions]; s.err == nil && kind != want {
		s.refuse(RefusedFeature, at, "an element segment holds 0x%02x; only functions are supported", kind)
	}
}

func (s *scanner) elementItems(mode uint32) {
	start := s.at
	n := s.count("entries of an element segment", 1, elementsMax)
	if s.elements += n; s.elements > elementsMax {
		s.refuse(RefusedLimit, start, "its element segments have more than %d entries in all", elementsMax)
	}
	for range n {
		if mode&4 != 0 {
			s.constant()
		} else {
			s.u32("a function's index")
		}
		if s.err != nil {
			return
		}
	}
}
