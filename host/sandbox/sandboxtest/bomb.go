// Package sandboxtest makes modules for tests of what is built on the sandbox.
package sandboxtest

import (
	"bytes"
	"encoding/binary"

	"google.golang.org/protobuf/proto"

	"github.com/wasmstream/wasmstream/abi"
)

// CompileBomb is a module that is valid, and which takes the engine's compiler a second and more: 16 functions of so many
// loops with branches, over 249 locals. With 460 of them the scanner just takes it. Its function "f" is a filter of
// rows with a BIGINT n.
func CompileBomb(loops int) []byte {
	const functions, locals = 16, 249
	var code []byte
	for n := range loops {
		local := binary.AppendUvarint(nil, uint64(n%locals))
		code = append(append(append(code, 0x03, 0x40, 0x20), local...), 0x1a)
		code = append(append(append(code, 0x41, 1, 0x21), local...), 0x20)
		code = append(append(code, local...), 0x0d, 0)
	}
	return Filter(functions, locals, append(code, bytes.Repeat([]byte{0x0b}, loops)...))
}

// Filter is a module with the function "f", a filter of rows with a BIGINT n, and beside it with so many functions of
// the given code, without its last end, and so many locals of 32 bits. Function 0 does nothing, and so does type 0.
func Filter(functions, locals int, code []byte) []byte {
	const i32, i64 = 0x7f, 0x7e
	types := list(bytesOf(0x60, 0, 0), bytesOf(0x60, 1, i32, 1, i32), bytesOf(0x60, 3, i32, i32, i32, 1, i64))
	ofTypes := [][]byte{{0}, {1}, {2}}
	bodies := [][]byte{body(0), body(0, 0x41, 0x80, 0x08), body(0, 0x42, 0)}
	for range functions {
		ofTypes, bodies = append(ofTypes, []byte{0}), append(bodies, body(locals, code...))
	}
	module := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range []struct {
		id      byte
		content []byte
	}{
		{1, types}, {3, list(ofTypes...)}, {4, bytesOf(1, 0x70, 0, 1)}, {5, bytesOf(1, 0, 1)},
		{7, list(export(abi.ExportMarker, 0, 0), export(abi.ExportIn, 0, 1), export(abi.ExportCall, 0, 2), export(abi.ExportMemory, 2, 0))},
		{10, list(bodies...)}, {0, append(text(abi.ManifestSection), manifest()...)},
	} {
		module = append(module, s.id)
		module = append(binary.AppendUvarint(module, uint64(len(s.content))), s.content...)
	}
	return module
}

func manifest() []byte {
	schema := &abi.Schema{Fields: []*abi.Field{{Name: "n", Type: "BIGINT"}}}
	content, err := proto.Marshal(&abi.Manifest{Functions: []*abi.Function{{Name: "f", Role: abi.RoleFilter, Input: schema}}})
	if err != nil {
		panic(err) // a manifest of constants can be written
	}
	return content
}

func bytesOf(b ...byte) []byte { return b }

// list is a vector of what is given.
func list(items ...[]byte) []byte {
	return append(binary.AppendUvarint(nil, uint64(len(items))), bytes.Join(items, nil)...)
}

func text(s string) []byte { return append(binary.AppendUvarint(nil, uint64(len(s))), s...) }

func export(name string, kind, index byte) []byte { return append(text(name), kind, index) }

// body is a function with so many locals, of 32 bits.
func body(locals int, code ...byte) []byte {
	b := []byte{0}
	if locals > 0 {
		b = append(binary.AppendUvarint([]byte{1}, uint64(locals)), 0x7f)
	}
	b = append(append(b, code...), 0x0b)
	return append(binary.AppendUvarint(nil, uint64(len(b))), b...)
}
