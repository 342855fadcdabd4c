package meter

import (
	"encoding/binary"
	"errors"
	"fmt"
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
	bodies   []span // of defined functions
	short    []uint32

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
	r.findShort()
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
	c := cursor{data: r.in, at: headerBytes, end: len(r.in)}
	for c.at < c.end && !c.bad {
		id := c.byte()
		size := int(c.u32())
		if c.bad || size > c.end-c.at || int(id) >= len(rank) {
			return errMalformed
		}
		s := section{id, span{c.at, c.at + size}}
		c.at += size
		r.sections = append(r.sections, s)
		if !r.readSection(s) {
			return fmt.Errorf("section %d: %w", id, errMalformed)
		}
	}
	if c.bad || len(r.bodies) != len(r.defined) {
		return errMalformed
	}
	return nil
}

func (r *rewriter) readSection(s section) bool {
	c := cursor{data: r.in, at: s.from, end: s.to}
	switch s.id {
	case sectionType:
		r.readTypes(&c)
	case sectionImport:
		r.readImports(&c)
	case sectionFunction:
		for range c.count(1) {
			index := c.u32()
			if int64(index) >= int64(len(r.types)) {
				return false
			}
			r.defined = append(r.defined, index)
		}
	case sectionGlobal:
		r.globals += uint32(c.count(1))
	case sectionExport:
		return r.checkExports(&c)
	case sectionCode:
		n := c.count(2)
		r.bodies = make([]span, 0, n)
		for range n {
			size := int(c.u32())
			if c.bad || size > c.end-c.at {
				return false
			}
			r.bodies = append(r.bodies, span{c.at, c.at + size})
			c.at += size
		}
	}
	return !c.bad
}

func (r *rewriter) readTypes(c *cursor) {
	n := c.count(3)
	r.types = make([]functionType, 0, n)
	for range n {
		var t functionType
		if c.byte() != 0x60 {
			c.bad = true
		}
		t.params = uint32(c.count(1))
		c.skip(int(t.params))
		t.results.from = c.at
		t.count = uint32(c.count(1))
		c.skip(int(t.count))
		t.results.to = c.at
		if c.bad {
			return
		}
		r.types = append(r.types, t)
	}
}

func (r *rewriter) readImports(c *cursor) {
	for range c.count(4) {
		c.skip(int(c.u32()))
		c.skip(int(c.u32()))
		switch c.byte() {
		case 0:
			c.u32()
			r.imported++
		case 1:
			c.byte()
			c.limits()
		case 2:
			c.limits()
		case 3:
			c.skip(2)
			r.globals++
		default:
			c.bad = true
		}
		if c.bad {
			return
		}
	}
}

// checkExports is invariant D for what is exported. (Constant expressions cannot reach
// the counters: they are mutable, and no import.)
func (r *rewriter) checkExports(c *cursor) bool {
	for range c.count(3) {
		c.skip(int(c.u32()))
		kind, index := c.byte(), c.u32()
		if c.bad || kind == 3 && index >= r.globals {
			return false
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
	c := cursor{data: old, end: len(old)}
	count := uint64(0)
	if len(old) > 0 {
		count = uint64(c.u32())
	}
	head := binary.AppendUvarint(nil, count+uint64(more))
	out = append(out, s.id)
	out = binary.AppendUvarint(out, uint64(len(head)+len(old)-c.at+len(content)))
	return append(append(append(out, head...), old[c.at:]...), content...)
}

func (r *rewriter) exports() []byte {
	var out []byte
	for n, name := range []string{Fuel, Depth} {
		out = append(append(append(out, byte(len(name))), name...), 3)
		out = binary.AppendUvarint(out, uint64(r.globals)+uint64(n))
	}
	return out
}

// cursor reads what was found well-formed before; anything else is bad.
type cursor struct {
	data    []byte
	at, end int
	bad     bool
}

func (c *cursor) byte() byte {
	if c.at >= c.end {
		c.bad = true
		return 0
	}
	c.at++
	return c.data[c.at-1]
}

func (c *cursor) skip(n int) {
	if n < 0 || n > c.end-c.at {
		c.bad = true
		return
	}
	c.at += n
}

func (c *cursor) u32() uint32 {
	var value uint64
	for shift := 0; shift < 35; shift += 7 {
		b := c.byte()
		value |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if value > 1<<32-1 {
				break
			}
			return uint32(value)
		}
	}
	c.bad = true
	return 0
}

// count reads the length of a vector whose items have so many bytes at least.
func (c *cursor) count(itemBytes int) int {
	n := c.u32()
	if int64(n)*int64(itemBytes) > int64(c.end-c.at) {
		c.bad = true
	}
	if c.bad {
		return 0
	}
	return int(n)
}

func (c *cursor) limits() {
	flags := c.byte()
	c.u32()
	if flags&1 != 0 {
		c.u32()
	}
}
