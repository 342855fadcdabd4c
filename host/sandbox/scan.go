package sandbox

import (
	"bytes"
	"fmt"
)

// Limits on what a module may claim, beside those of Options. They are far above
// what compilers write and keep what the engine allocates to decode a module to a
// small multiple of its size.
const (
	typesMax          = 10_000
	valuesInTypeMax   = 1_000
	importsMax        = 1_000
	globalsMax        = 10_000
	exportsMax        = 10_000
	segmentsMax       = 10_000  // of elements, and custom sections
	dataSegmentsMax   = 100_000 // Go's linker writes one for each run of bytes between zeros
	elementsMax       = 100_000
	localsMax         = 50_000    // of one function
	localsOfModuleMax = 1_000_000 // of all functions
	namesMax          = 200_000   // in the names section
)

// Section numbers of the binary format.
const (
	sectionCustom    = 0
	sectionType      = 1
	sectionImport    = 2
	sectionFunction  = 3
	sectionTable     = 4
	sectionMemory    = 5
	sectionGlobal    = 6
	sectionExport    = 7
	sectionStart     = 8
	sectionElement   = 9
	sectionCode      = 10
	sectionData      = 11
	sectionDataCount = 12
	sectionTag       = 13
)

// sectionOrder lists the sections in their order: the count of data segments was
// added late and stands before the code.
var sectionOrder = []byte{
	sectionType, sectionImport, sectionFunction, sectionTable, sectionMemory, sectionGlobal,
	sectionExport, sectionStart, sectionElement, sectionDataCount, sectionCode, sectionData,
}

// wasmHeader is the magic number and the version of the binary format.
var wasmHeader = []byte("\x00asm\x01\x00\x00\x00")

// functionType is where a function type lies in the module: 12 bytes instead of
// two slices, because a module may have thousands.
type functionType struct {
	at              uint32
	params, results uint16
	number          bool // all its types are numbers
}

// importedFunction is one import, before it is held against the allow-list.
type importedFunction struct {
	module, name []byte
	typeIndex    uint32
	offset       int
}

// exported is one export, before it is held against the contract.
type exported struct {
	name   []byte
	kind   byte
	index  uint32
	offset int
}

// scanner reads the sections of a module without running or believing anything
// (invariant A).
type scanner struct {
	reader
	options   Options
	types     []functionType
	imports   []importedFunction
	functions []uint32 // type of each defined function
	exports   []exported
	globals   int

	memory       *limits
	memoryOffset int
	table        *limits

	codeCount    int
	dataCount    int // announced by its section; -1 if it is absent
	dataSegments int
	elements     int
	locals       int
	names        int

	branchTargets int // of all br_tables
	blockLocals   int // locals times blocks, of all functions
	values        int // that instructions hand on at once
	counter       valueCounter
	crowds        branchCrowds
	cost          workCounter
	work          work

	manifest       []byte
	manifestOffset int // -1 if it is absent
	nameSeen       bool
	custom         []CustomSection
}

// limits are the least and the greatest size of a memory or a table.
type limits struct {
	least, most uint32
	bounded     bool
}

// scan reads all of a module. The scanner holds what was found up to the refusal.
func scan(wasm []byte, options Options) (*scanner, *RefusedError) {
	s := &scanner{
		reader:  reader{data: wasm, end: len(wasm)},
		options: options, dataCount: -1, manifestOffset: -1,
	}
	s.counter.s = s
	s.header()
	place := 0
	for s.err == nil && s.at < len(wasm) {
		place = s.section(place)
	}
	if s.err == nil {
		s.agreement()
	}
	return s, s.err
}

// header checks the size and the first eight bytes.
func (s *scanner) header() {
	if len(s.data) > s.options.ModuleBytesMax {
		s.refuse(RefusedTooLarge, -1, "it has %d bytes; the limit is %d", len(s.data), s.options.ModuleBytesMax)
		return
	}
	if len(s.data) < 4 || !bytes.Equal(s.data[:4], wasmHeader[:4]) {
		s.refuse(RefusedNotWasm, 0, "it is no Wasm module: it begins with %s, and Wasm begins with %s",
			firstBytes(s.data), firstBytes(wasmHeader[:4]))
		return
	}
	if len(s.data) < 8 {
		s.refuse(RefusedTruncated, len(s.data), "the header is cut off")
		return
	}
	if !bytes.Equal(s.data[4:8], wasmHeader[4:]) {
		hint := ""
		if s.data[6] == 1 {
			hint = "; this is a component, and a core module is needed"
		}
		s.refuse(RefusedNotWasm, 4, "its format is version %x, and this host reads version %x%s", s.data[4:8], wasmHeader[4:], hint)
		return
	}
	s.at = 8
}

func firstBytes(data []byte) string {
	if len(data) == 0 {
		return "nothing"
	}
	head := data[:min(len(data), 8)]
	return fmt.Sprintf("% x (%q)", head, head)
}

// section reads the next section and returns its place in the order.
func (s *scanner) section(place int) int {
	start := s.at
	id := s.byte("a section's number")
	size := s.u32("a section's size")
	if s.err != nil {
		return place
	}
	if int64(size) > int64(s.left()) {
		s.refuse(RefusedTruncated, start, "section %d claims %d bytes, and %d remain", id, size, s.left())
		return place
	}
	if id != sectionCustom {
		if place = s.nextPlace(id, place, start); s.err != nil {
			return place
		}
	}
	outer := s.end
	s.end = s.at + int(size)
	s.content(id, start)
	if s.err == nil && s.at != s.end {
		s.refuse(RefusedMalformed, s.at, "section %d has %d bytes more than its content", id, s.left())
	}
	s.end = outer
	return place
}

// nextPlace checks that a section comes after the one before, and only once.
func (s *scanner) nextPlace(id byte, place, offset int) int {
	if id == sectionTag {
		s.refuse(RefusedFeature, offset, "it uses exceptions (a tag section), which are not supported; build it without them")
		return place
	}
	at := bytes.IndexByte(sectionOrder, id)
	if at < 0 {
		s.refuse(RefusedMalformed, offset, "section %d is unknown", id)
		return place
	}
	if at+1 <= place {
		s.refuse(RefusedMalformed, offset, "section %d is out of order or there twice", id)
	}
	return at + 1
}

// content reads what a section holds.
func (s *scanner) content(id byte, offset int) {
	switch id {
	case sectionCustom:
		s.customSection()
	case sectionType:
		s.typeSection()
	case sectionImport:
		s.importSection()
	case sectionFunction:
		s.functionSection()
	case sectionTable:
		s.tableSection()
	case sectionMemory:
		s.memorySection()
	case sectionGlobal:
		s.globalSection()
	case sectionExport:
		s.exportSection()
	case sectionStart:
		s.refuse(RefusedStart, offset,
			"it has a start section, whose code would run before any limit holds; export _initialize instead (a WASI reactor does)")
	case sectionElement:
		s.elementSection()
	case sectionDataCount:
		s.dataCount = int(s.u32("the number of data segments"))
	case sectionCode:
		s.codeSection()
	case sectionData:
		s.dataSection()
	}
}

// agreement checks what sections say about each other.
func (s *scanner) agreement() {
	if s.codeCount != len(s.functions) {
		s.refuse(RefusedMalformed, -1, "it declares %d functions and has the code of %d", len(s.functions), s.codeCount)
	}
	if s.dataCount >= 0 && s.dataCount != s.dataSegments {
		s.refuse(RefusedMalformed, -1, "it announces %d data segments and has %d", s.dataCount, s.dataSegments)
	}
}
