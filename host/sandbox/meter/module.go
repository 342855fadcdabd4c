package meter

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/wasmstream/wasmstream/host/sandbox/opcode"
)

// The names under which the counters are exported. A module that exports a name with
// the prefix Reserved must not be rewritten.
const (
	Reserved = "wasmstream."
	Fuel     = Reserved + "fuel"
	Depth    = Reserved + "depth"
)

// Sections of the binary format that are looked into.
const (
	sectionType     = 1
	sectionImport   = 2
	sectionFunction = 3
	sectionGlobal   = 6
	sectionExport   = 7
	sectionElement  = 9
	sectionCode     = 10
)

// rank gives the order of sections; the count of data segments and tags came late.
var rank = [14]int{1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 13: 6, 6: 7, 7: 8, 8: 9, 9: 10, 12: 11, 10: 12, 11: 13}

const headerBytes = 8

// rewriter is a module on its way from in to out.
type rewriter struct {
	in       []byte
	sections []section
	types    []functionType
	imported int      // functions
	defined  []uint32 // their types
	globals  uint32
	bodies   []span   // of defined functions
	callees  []callee // the defined functions

	added     []byte // types
	typesMore uint32
	code      []byte // the new code section's content

	// Of the function that is being rewritten.
	f    function
	body []byte
}

// section is a section's content.
type section struct {
	id byte
	span
}

// span is a stretch of the input.
type span struct{ from, to int }

// functionType is how many values a type takes, and where its results are.
type functionType struct {
	params  uint32
	results span
	count   uint32 // of results
	block   int64  // what a block of these results has as its type; 0 if none was made yet
}

// Rewrite returns the module with meters in it.
func Rewrite(wasm []byte) ([]byte, error) {
	r := &rewriter{in: wasm}
	if err := r.read(); err != nil {
		return nil, fmt.Errorf("meter: %w", err)
	}
	r.findLeaves()
	r.code = make([]byte, 0, len(wasm)+len(wasm)/2)
	r.code = binary.AppendUvarint(r.code, uint64(len(r.bodies)))
	for n := range r.bodies {
		if err := r.function(n); err != nil {
			return nil, fmt.Errorf("meter: function %d: %w", r.imported+n, err)
		}
	}
	return r.write(), nil
}

var errMalformed = errors.New("the module is malformed")

// read finds out what rewriting has to know.
func (r *rewriter) read() error {
	if len(r.in) < headerBytes {
		return errMalformed
	}
	c := opcode.NewCursor(r.in, headerBytes, len(r.in))
	for c.At < c.End && !c.Bad {
		id := c.Byte()
		size := int(c.U32())
		if c.Bad || size > c.End-c.At || int(id) >= len(rank) {
			return errMalformed
		}
		s := section{id, span{c.At, c.At + size}}
		c.At += size
		r.sections = append(r.sections, s)
		if !r.readSection(s) {
			return fmt.Errorf("section %d: %w", id, errMalformed)
		}
	}
	if c.Bad || len(r.bodies) != len(r.defined) {
		return errMalformed
	}
	return nil
}

func (r *rewriter) readSection(s section) bool {
	c := opcode.NewCursor(r.in, s.from, s.to)
	switch s.id {
	case sectionType:
		r.readTypes(&c)
	case sectionImport:
		r.readImports(&c)
	case sectionFunction:
		for range c.Count(1) {
			index := c.U32()
			if int64(index) >= int64(len(r.types)) {
				return false
			}
			r.defined = append(r.defined, index)
		}
		r.callees = make([]callee, len(r.defined))
	case sectionGlobal:
		r.globals += uint32(c.Count(1))
	case sectionExport:
		return r.checkExports(&c)
	case sectionElement:
		r.readElements(&c)
	case sectionCode:
		n := c.Count(2)
		r.bodies = make([]span, 0, n)
		for range n {
			size := int(c.U32())
			if c.Bad || size > c.End-c.At {
				return false
			}
			r.bodies = append(r.bodies, span{c.At, c.At + size})
			c.At += size
		}
	}
	return !c.Bad
}

func (r *rewriter) readTypes(c *opcode.Cursor) {
	n := c.Count(3)
	r.types = make([]functionType, 0, n)
	for range n {
		var t functionType
		if c.Byte() != 0x60 {
			c.Bad = true
		}
		t.params = uint32(c.Count(1))
		c.Bytes(t.params)
		t.results.from = c.At
		t.count = uint32(c.Count(1))
		c.Bytes(t.count)
		t.results.to = c.At
		if c.Bad {
			return
		}
		r.types = append(r.types, t)
	}
}

func (r *rewriter) readImports(c *opcode.Cursor) {
	for range c.Count(4) {
		c.Bytes(c.U32())
		c.Bytes(c.U32())
		switch c.Byte() {
		case 0:
			c.U32()
			r.imported++
		case 1:
			c.Byte()
			skipLimits(c)
		case 2:
			skipLimits(c)
		case 3:
			c.Bytes(2)
			r.globals++
		default:
			c.Bad = true
		}
		if c.Bad {
			return
		}
	}
}

// readElements notes which functions may be called through the table. All segments are
// for a place in it, others are refused before.
func (r *rewriter) readElements(c *opcode.Cursor) {
	const passive, named, expressions = 1, 2, 4
	for range c.Count(2) {
		mode := c.U32()
		if mode&passive != 0 {
			c.Bad = true
		}
		if mode&named != 0 {
			c.U32()
		}
		r.readConstant(c)
		if mode&named != 0 {
			c.Byte()
		}
		for range c.Count(1) {
			if mode&expressions == 0 {
				r.expose(c.U32())
			} else {
				r.readConstant(c)
			}
			if c.Bad {
				return
			}
		}
	}
}

// readConstant reads the expression of an index: of a place in the table, or of a function.
func (r *rewriter) readConstant(c *opcode.Cursor) {
	const refNull, refFunc = 0xd0, 0xd2
	switch c.Byte() {
	case opI32Const:
		for c.Byte() >= 0x80 {
		}
	case opcode.GlobalGet:
		c.U32()
	case refFunc:
		r.expose(c.U32())
	case refNull:
		c.Byte()
	default:
		c.Bad = true
	}
	if c.Byte() != opEnd {
		c.Bad = true
	}
}

func (r *rewriter) expose(index uint32) {
	if to := r.callee(index); to != nil {
		to.open = true
	}
}

// checkExports is invariant D for what is exported. (Constant expressions cannot reach
// the counters: they are mutable, and no import.)
func (r *rewriter) checkExports(c *opcode.Cursor) bool {
	for range c.Count(3) {
		c.Bytes(c.U32())
		kind, index := c.Byte(), c.U32()
		if c.Bad || kind == 3 && index >= r.globals {
			return false
		}
		if kind == 0 {
			r.expose(index)
		}
	}
	return true
}

// write puts the module together.
func (r *rewriter) write() []byte {
	out := make([]byte, 0, len(r.in)+len(r.code)+len(r.added)+64)
	out = append(out, r.in[:headerBytes]...)
	missing := []byte{sectionGlobal, sectionExport}
	for _, s := range r.sections {
		for len(missing) > 0 && s.id != 0 && rank[s.id] >= rank[missing[0]] {
			if s.id != missing[0] {
				out = r.appendSection(out, section{id: missing[0]})
			}
			missing = missing[1:]
		}
		out = r.appendSection(out, s)
	}
	for _, id := range missing {
		out = r.appendSection(out, section{id: id})
	}
	return out
}

// appendSection appends a section with what is added to it.
func (r *rewriter) appendSection(out []byte, s section) []byte {
	more, content := uint32(0), []byte(nil)
	switch s.id {
	case sectionType:
		more, content = r.typesMore, r.added
	case sectionGlobal:
		more, content = 2, []byte{typeI64, 1, opI64Const, 0, opEnd, typeI64, 1, opI64Const, 0, opEnd}
	case sectionExport:
		more, content = 2, r.exports()
	case sectionCode:
		out = append(out, s.id)
		out = binary.AppendUvarint(out, uint64(len(r.code)))
		return append(out, r.code...)
	}
	old := r.in[s.from:s.to]
	if more == 0 {
		out = append(out, s.id)
		out = binary.AppendUvarint(out, uint64(len(old)))
		return append(out, old...)
	}
	c := opcode.NewCursor(old, 0, len(old))
	count := uint64(0)
	if len(old) > 0 {
		count = uint64(c.U32())
	}
	head := binary.AppendUvarint(nil, count+uint64(more))
	out = append(out, s.id)
	out = binary.AppendUvarint(out, uint64(len(head)+len(old)-c.At+len(content)))
	return append(append(append(out, head...), old[c.At:]...), content...)
}

func (r *rewriter) exports() []byte {
	var out []byte
	for n, name := range []string{Fuel, Depth} {
		out = append(append(append(out, byte(len(name))), name...), 3)
		out = binary.AppendUvarint(out, uint64(r.globals)+uint64(n))
	}
	return out
}

func skipLimits(c *opcode.Cursor) {
	flags := c.Byte()
	c.U32()
	if flags&1 != 0 {
		c.U32()
	}
}
