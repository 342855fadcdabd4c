package sandbox

import (
	"math"
	"strconv"

	"github.com/wasmstream/wasmstream/abi"
)

// valueType reads a type and refuses all that are no numbers.
func (s *scanner) valueType(what string) byte {
	start := s.at
	t := s.byte(what)
	if s.err != nil {
		return 0
	}
	letter, ok := letterOf(t)
	switch {
	case ok:
	case t == 0x7b:
		s.refuse(RefusedFeature, start, "%s is a vector: SIMD is not supported; build without it (clang: -mno-simd128)", what)
	case t == 0x6f || t == 0x70 || t == 0x63 || t == 0x64 || t == 0x69:
		s.refuse(RefusedFeature, start, "%s is a reference: reference types, exceptions and garbage collection are not supported", what)
	default:
		s.refuse(RefusedMalformed, start, "%s is 0x%02x, which is no value type", what, t)
	}
	return letter
}

func (s *scanner) typeSection() {
	n := s.count("types", 3, typesMax)
	s.types = make([]functionType, 0, n)
	for range n {
		start := s.at
		if form := s.byte("a type"); s.err == nil && form != 0x60 {
			s.refuse(RefusedFeature, start, "type %d has the form 0x%02x; only function types are supported", len(s.types), form)
		}
		t := functionType{number: true}
		count := s.count("parameters of a type", 1, valuesInTypeMax)
		t.at, t.params = uint32(s.at), uint16(count)
		for range count {
			s.valueType("a parameter's type")
		}
		count = s.count("results of a type", 1, valuesInTypeMax)
		t.results = uint16(count)
		for range count {
			s.valueType("a result's type")
		}
		if s.err != nil {
			return
		}
		s.types = append(s.types, t)
	}
}

// signatureOf spells a type that the scanner has read.
func (s *scanner) signatureOf(typeIndex uint32) signature {
	t := s.types[typeIndex]
	params := s.data[t.at : t.at+uint32(t.params)]
	r := reader{data: s.data, at: int(t.at) + int(t.params), end: len(s.data)}
	r.u32("the number of results")
	return signature{letters(params), letters(s.data[r.at : r.at+int(t.results)])}
}

func letters(types []byte) string {
	spelt := make([]byte, len(types))
	for i, t := range types {
		spelt[i], _ = letterOf(t)
	}
	return string(spelt)
}

func (s *scanner) importSection() {
	n := s.count("imports", 4, importsMax)
	s.imports = make([]importedFunction, 0, n)
	for range n {
		i := importedFunction{offset: s.at}
		i.module = s.name("an import's module")
		i.name = s.name("an import's name")
		kind := s.byte("an import's kind")
		if s.err != nil {
			return
		}
		if kind != 0 {
			s.refuse(RefusedImport, i.offset, "it imports %s %s.%s; only functions can be imported, and it must define its own memory",
				externKind(kind), show(i.module), show(i.name))
			return
		}
		i.typeIndex = s.typeIndex()
		s.imports = append(s.imports, i)
	}
}

func externKind(kind byte) string {
	switch kind {
	case 0:
		return "function"
	case 1:
		return "table"
	case 2:
		return "memory"
	case 3:
		return "global"
	case 4:
		return "tag"
	}
	return "unknown"
}

func (s *scanner) typeIndex() uint32 {
	start := s.at
	index := s.u32("a type's index")
	if s.err == nil && int64(index) >= int64(len(s.types)) {
		s.refuse(RefusedMalformed, start, "type %d is used, and there are %d", index, len(s.types))
	}
	return index
}

func (s *scanner) functionSection() {
	n := s.count("functions", 1, s.options.FunctionsMax)
	s.functions = make([]uint32, n)
	for i := range s.functions {
		s.functions[i] = s.typeIndex()
	}
}

// limits reads a size range.
func (s *scanner) limits(what string) *limits {
	start := s.at
	flags := s.byte("the limits of a " + what)
	switch {
	case s.err != nil:
		return nil
	case flags >= 4 && flags <= 7:
		s.refuse(RefusedFeature, start, "its %s has 64-bit addresses, which are not supported; build for wasm32", what)
		return nil
	case flags == 2 || flags == 3:
		s.refuse(RefusedFeature, start, "its %s is shared between threads, which are not supported; build without threads", what)
		return nil
	case flags > 7:
		s.refuse(RefusedMalformed, start, "the limits of its %s have the flags 0x%02x", what, flags)
		return nil
	}
	l := &limits{most: math.MaxUint32, bounded: flags == 1}
	l.least = s.u32("the least size of a " + what)
	if l.bounded {
		l.most = s.u32("the greatest size of a " + what)
	}
	if s.err == nil && l.most < l.least {
		s.refuse(RefusedMalformed, start, "the greatest size of its %s, %d, is under its least, %d", what, l.most, l.least)
	}
	return l
}

func (s *scanner) tableSection() {
	start := s.at
	n := s.count("tables", 3, math.MaxInt32)
	if n > 1 {
		s.refuse(RefusedTable, start, "it has %d tables; one is allowed", n)
	}
	for range n {
		at := s.at
		if t := s.byte("a table's type"); s.err == nil && t != 0x70 {
			s.refuse(RefusedFeature, at, "its table holds 0x%02x; only functions are supported", t)
		}
		s.table = s.limits("table")
		if s.err != nil {
			return
		}
		if s.table.least > s.options.TableElementsMax {
			s.refuse(RefusedTable, at, "its table has %d entries; the limit is %d", s.table.least, s.options.TableElementsMax)
		}
	}
}

func (s *scanner) memorySection() {
	start := s.at
	n := s.count("memories", 2, math.MaxInt32)
	if n > 1 {
		s.refuse(RefusedMemory, start, "it has %d memories; one is allowed", n)
	}
	for range n {
		s.memoryOffset = s.at
		s.memory = s.limits("memory")
		if s.err != nil {
			return
		}
		if s.memory.bounded && s.memory.most > pagesEnd {
			s.refuse(RefusedMalformed, s.memoryOffset, "the greatest size of its memory is %d pages; 4 GiB are %d", s.memory.most, pagesEnd)
		}
		if s.memory.least > s.options.MemoryPagesMax {
			s.refuse(RefusedMemory, s.memoryOffset,
				"it starts with %d pages of memory (%d KiB); the limit is %d; build it with a smaller stack or less static data",
				s.memory.least, uint64(s.memory.least)*64, s.options.MemoryPagesMax)
		}
	}
}

func (s *scanner) globalSection() {
	s.globals = s.count("globals", 3, globalsMax)
	for range s.globals {
		s.valueType("a global's type")
		start := s.at
		if mutable := s.byte("a global's mutability"); s.err == nil && mutable > 1 {
			s.refuse(RefusedMalformed, start, "a global's mutability is %d", mutable)
		}
		s.constant()
		if s.err != nil {
			return
		}
	}
}

// constant reads a constant expression.
func (s *scanner) constant() {
	for s.err == nil {
		start := s.at
		switch op := s.byte("a constant expression"); op {
		case 0x0b:
			return
		case 0x41:
			s.leb("an i32 constant", 32, true)
		case 0x42:
			s.leb("an i64 constant", 64, true)
		case 0x43:
			s.bytes(4, "an f32 constant")
		case 0x44:
			s.bytes(8, "an f64 constant")
		case 0x23, 0xd2:
			s.u32("an index in a constant expression")
		case 0xd0:
			if t := s.byte("a null's type"); s.err == nil && t != 0x70 {
				s.refuse(RefusedFeature, start, "a null of type 0x%02x is not supported", t)
			}
		default:
			s.refuse(RefusedFeature, start, "a constant expression has the instruction 0x%02x, which is not supported there", op)
		}
	}
}

func (s *scanner) exportSection() {
	n := s.count("exports", 3, exportsMax)
	s.exports = make([]exported, 0, n)
	for range n {
		e := exported{offset: s.at}
		e.name = s.name("an export's name")
		e.kind = s.byte("an export's kind")
		e.index = s.u32("an export's index")
		if s.err != nil {
			return
		}
		if e.kind > 3 {
			s.refuse(RefusedMalformed, e.offset, "export %s has the kind %d", show(e.name), e.kind)
		}
		s.exports = append(s.exports, e)
	}
}

func (s *scanner) codeSection() {
	s.codeCount = s.count("function bodies", 3, s.options.FunctionsMax)
	outer := s.end
	for n := range s.codeCount {
		start := s.at
		size := s.u32("a function's size")
		if s.err == nil && int64(size) > int64(s.left()) {
			s.refuse(RefusedTruncated, start, "a function claims %d bytes, and %d remain", size, s.left())
		}
		if s.err != nil {
			return
		}
		s.end = s.at + int(size)
		s.functionBody(n, start)
		s.end = outer
		if s.err != nil {
			return
		}
	}
	s.workLimit()
}

// functionBody reads the locals of a function and its code.
func (s *scanner) functionBody(n, start int) {
	groups := s.count("groups of locals", 2, localsMax)
	total := uint64(0)
	for range groups {
		total += uint64(s.u32("a number of locals"))
		s.valueType("a local's type")
		if s.err != nil {
			return
		}
	}
	if total > localsMax {
		s.refuse(RefusedLimit, start, "a function has %d locals; the limit is %d", total, localsMax)
		return
	}
	if s.locals += int(total); s.locals > localsOfModuleMax {
		s.refuse(RefusedLimit, start, "the functions have more than %d locals in all", localsOfModuleMax)
	}
	s.instructions(n, start, int(total))
}

func (s *scanner) dataSection() {
	s.dataSegments = s.count("data segments", 2, dataSegmentsMax)
	for range s.dataSegments {
		start := s.at
		switch mode := s.u32("a data segment's mode"); {
		case s.err != nil:
			return
		case mode == 2:
			if memory := s.u32("a memory's index"); s.err == nil && memory != 0 {
				s.refuse(RefusedMalformed, start, "a data segment is for memory %d, and there is one", memory)
			}
			s.constant()
		case mode == 0:
			s.constant()
		case mode != 1:
			s.refuse(RefusedMalformed, start, "a data segment has the mode %d", mode)
		}
		s.bytes(int(s.u32("a data segment's size")), "a data segment")
		if s.err != nil {
			return
		}
	}
}

// show quotes a name from a module, cut to a length fit for an error.
func show(name []byte) string {
	const most = 80
	if len(name) > most {
		return strconv.Quote(string(name[:most])) + "…"
	}
	return strconv.Quote(string(name))
}

func (s *scanner) customSection() {
	offset := s.at
	name := s.name("a custom section's name")
	if s.err != nil {
		return
	}
	content := s.at
	if len(s.custom) < segmentsMax {
		s.custom = append(s.custom, CustomSection{Name: string(name), Bytes: s.left(), Offset: content})
	}
	switch string(name) {
	case abi.ManifestSection:
		if s.manifestOffset >= 0 {
			s.refuse(RefusedManifest, offset, "it has two sections %q; run `wasmstream module pack` on a module with none", name)
			return
		}
		s.manifestOffset = content
		s.manifest = s.bytes(s.left(), "the manifest")
	case "name":
		s.nameSection(offset)
	default:
		s.at = s.end
	}
}
