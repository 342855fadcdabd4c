package sandbox

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/proto"

	"github.com/wasmstream/wasmstream/abi"
)

// builder assembles small modules. Its zero value makes an empty one; goodModule
// one that the host takes.
type builder struct {
	imports  []buildImport
	funcs    []buildFunc
	pages    []uint32 // least, and greatest if there are two
	table    []uint32
	elements []uint32 // functions put into the table from entry 0 on
	data     map[uint32]string
	globals  int // mutable i32 globals, at first 0
	exports  []buildExport
	custom   []customContent
	extra    map[byte][]byte // sections given as bytes
}

type buildImport struct {
	module, name string
	signature
}

type buildFunc struct {
	export string
	signature
	locals int // i32 locals beside the parameters
	body   []byte
}

type buildExport struct {
	name  string
	kind  byte
	index uint32
}

// customContent is a custom section with its bytes.
type customContent struct{ name, content string }

// Instructions that tests write, with their operands after them.
const (
	opUnreachable  = 0x00
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0b
	opBr           = 0x0c
	opReturn       = 0x0f
	opCall         = 0x10
	opCallIndirect = 0x11
	opDrop         = 0x1a
	opLocalSet     = 0x21
	opLocalGet     = 0x20
	opLocalTee     = 0x22
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opI32Load8     = 0x2d
	opI32Store     = 0x36
	opMemorySize   = 0x3f
	opMemoryGrow   = 0x40
	opI32Const     = 0x41
	opI64Const     = 0x42
	opI32Eq        = 0x46
	opI32Add       = 0x6a
	opI64Or        = 0x84
	opI64Shl       = 0x86
	opI64ExtendU   = 0xad
	void           = 0x40
)

func uleb(n uint64) []byte { return binary.AppendUvarint(nil, n) }

func sleb(n int64) []byte {
	var out []byte
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if n == 0 && b&0x40 == 0 || n == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

func i32(n int32) []byte { return append([]byte{opI32Const}, sleb(int64(n))...) }
func i64(n int64) []byte { return append([]byte{opI64Const}, sleb(n)...) }

// code joins bytes and stretches of bytes.
func code(parts ...any) []byte {
	var out []byte
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			out = append(out, byte(p))
		case []byte:
			out = append(out, p...)
		}
	}
	return out
}

func text(s string) []byte { return append(uleb(uint64(len(s))), s...) }

func section(id byte, content []byte) []byte {
	return append(append([]byte{id}, uleb(uint64(len(content)))...), content...)
}

func rangeOf(r []uint32) []byte {
	out := append([]byte{byte(len(r) - 1)}, uleb(uint64(r[0]))...)
	if len(r) > 1 {
		out = append(out, uleb(uint64(r[1]))...)
	}
	return out
}

// bytes assembles the module. Each function has a type of its own.
func (b builder) bytes() []byte {
	var types, imports, functions, exports, bodies []byte
	addType := func(s signature) {
		types = append(types, 0x60)
		for _, letters := range []string{s.params, s.results} {
			types = append(types, uleb(uint64(len(letters)))...)
			types = append(types, valueTypes(letters)...)
		}
	}
	for n, i := range b.imports {
		addType(i.signature)
		imports = append(append(append(imports, text(i.module)...), text(i.name)...), 0)
		imports = append(imports, uleb(uint64(n))...)
	}
	count := 0
	export := func(name string, kind byte, index uint32) {
		exports = append(append(append(exports, text(name)...), kind), uleb(uint64(index))...)
		count++
	}
	for n, f := range b.funcs {
		addType(f.signature)
		index := uint32(len(b.imports) + n)
		functions = append(functions, uleb(uint64(index))...)
		if f.export != "" {
			export(f.export, 0, index)
		}
		body := []byte{0}
		if f.locals > 0 {
			body = append(append([]byte{1}, uleb(uint64(f.locals))...), 0x7f)
		}
		body = append(append(body, f.body...), opEnd)
		bodies = append(append(bodies, uleb(uint64(len(body)))...), body...)
	}
	for _, e := range b.exports {
		export(e.name, e.kind, e.index)
	}
	vector := func(n int, content []byte) []byte { return append(uleb(uint64(n)), content...) }
	sections := map[byte][]byte{
		sectionType:     vector(len(b.imports)+len(b.funcs), types),
		sectionImport:   vector(len(b.imports), imports),
		sectionFunction: vector(len(b.funcs), functions),
		sectionExport:   vector(count, exports),
		sectionCode:     vector(len(b.funcs), bodies),
	}
	b.addRest(sections)
	for id, content := range b.extra {
		sections[id] = content
	}
	out := append([]byte(nil), wasmHeader...)
	for _, id := range append(sectionOrder, sectionTag) {
		if content, ok := sections[id]; ok {
			out = append(out, section(id, content)...)
		}
	}
	for _, c := range b.custom {
		out = append(out, section(sectionCustom, append(text(c.name), c.content...))...)
	}
	return out
}

func (b builder) addRest(sections map[byte][]byte) {
	if b.pages != nil {
		sections[sectionMemory] = append([]byte{1}, rangeOf(b.pages)...)
	}
	if b.table != nil {
		sections[sectionTable] = append([]byte{1, 0x70}, rangeOf(b.table)...)
	}
	if b.elements != nil {
		content := code(1, 0, i32(0), opEnd, uleb(uint64(len(b.elements))))
		for _, f := range b.elements {
			content = append(content, uleb(uint64(f))...)
		}
		sections[sectionElement] = content
	}
	if b.data != nil {
		content := uleb(uint64(len(b.data)))
		for at, bytes := range b.data {
			content = append(content, code(0, i32(int32(at)), opEnd, text(bytes))...)
		}
		sections[sectionData] = content
	}
	if b.globals > 0 {
		content := uleb(uint64(b.globals))
		for range b.globals {
			content = append(content, code(0x7f, 1, i32(0), opEnd)...)
		}
		sections[sectionGlobal] = content
	}
}

// The layout of the test guests: the frame at 1024, effects at 32768.
const (
	framePointer   = 1024
	effectsPointer = 32768
)

// effectsAt is code that answers so many bytes at a pointer.
func effectsAt(pointer, length uint32) []byte { return i64(int64(pointer)<<32 | int64(length)) }

// testManifest is the smallest manifest that is valid.
func testManifest() []byte {
	schema := &abi.Schema{Fields: []*abi.Field{{Name: "n", Type: "BIGINT"}}}
	content, err := proto.Marshal(&abi.Manifest{Functions: []*abi.Function{
		{Name: "count", Role: abi.RoleAggregate, Input: schema, Accumulator: schema, Output: schema},
	}})
	if err != nil {
		panic(err)
	}
	return content
}

// goodModule is a guest that answers no effects and takes frames of up to 16 KiB.
func goodModule() builder {
	return builder{
		pages: []uint32{1},
		funcs: []buildFunc{
			{export: abi.ExportMarker},
			{export: abi.ExportIn, signature: signature{"i", "i"}, body: i32(framePointer)},
			{export: abi.ExportCall, signature: signature{"iii", "I"}, body: effectsAt(effectsPointer, 0)},
		},
		exports: []buildExport{{abi.ExportMemory, 2, 0}},
		custom:  []customContent{{abi.ManifestSection, string(testManifest())}},
	}
}

// guestThat is goodModule with other code for in or call; nil keeps it.
func guestThat(in, call []byte, imports ...string) builder {
	b := goodModule()
	if in != nil {
		b.funcs[1].body = in
	}
	if call != nil {
		b.funcs[2].body = call
	}
	for _, name := range imports {
		module := abi.ImportModule
		if findHostFunction(module, name) == nil {
			module = moduleWASI
		}
		b.imports = append(b.imports, buildImport{module, name, findHostFunction(module, name).signature})
	}
	return b
}

const maxU32 = math.MaxUint32
