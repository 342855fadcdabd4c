package sandbox

// nameBytesMax bounds a name: the engine has it in each line of a backtrace.
const nameBytesMax = 64 << 10

// nameSection reads the names of functions and locals. The engine decodes it for
// its backtraces and believes its counts, so that it is checked like the rest,
// although the specification calls it optional.
func (s *scanner) nameSection(offset int) {
	if s.nameSeen {
		s.refuse(RefusedMalformed, offset, "it has two sections \"name\"")
		return
	}
	s.nameSeen = true
	outer := s.end
	for s.err == nil && s.at < outer {
		start := s.at
		id := s.byte("a kind of names")
		size := s.u32("a size of names")
		if s.err == nil && int64(size) > int64(s.left()) {
			s.refuse(RefusedTruncated, start, "the names of kind %d claim %d bytes, and %d remain", id, size, s.left())
		}
		if s.err != nil {
			return
		}
		s.end = s.at + int(size)
		s.namesOfKind(id)
		if s.err == nil && s.at != s.end {
			s.refuse(RefusedMalformed, s.at, "the names of kind %d have %d bytes more than their content", id, s.left())
		}
		s.end = outer
	}
}

func (s *scanner) namesOfKind(id byte) {
	switch id {
	case 0:
		s.name("the module's name")
	case 1:
		s.nameMap()
	case 2:
		for range s.count("functions with names of locals", 2, namesMax) {
			s.u32("a function's index")
			s.nameMap()
			if s.err != nil {
				return
			}
		}
	default:
		s.at = s.end
	}
}

func (s *scanner) nameMap() {
	start := s.at
	n := s.count("names", 2, namesMax)
	if s.names += n; s.names > namesMax {
		s.refuse(RefusedLimit, start, "it has more than %d names of functions and locals; strip them", namesMax)
	}
	for range n {
		s.u32("an index of a name")
		at := s.at
		if name := s.name("a name"); s.err == nil && len(name) > nameBytesMax {
			s.refuse(RefusedLimit, at, "the name of a function or local takes %d bytes; the limit is %d", len(name), nameBytesMax)
		}
		if s.err != nil {
			return
		}
	}
}
