package refine

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/wasmstream/wasmstream/host/sandbox/opcode"
)

const (
	headerBytes     = 8
	sectionType     = 1
	sectionFunction = 3
	sectionCode     = 10
)

var errMalformed = errors.New("the module is malformed")

// Rewrite returns the module with better code.
func Rewrite(wasm []byte) ([]byte, error) {
	out, err := rewrite(wasm)
	if err != nil {
		return nil, fmt.Errorf("refine: %w", err)
	}
	return out, nil
}

func rewrite(wasm []byte) ([]byte, error) {
	if len(wasm) < headerBytes {
		return nil, errMalformed
	}
	out := append(make([]byte, 0, len(wasm)), wasm[:headerBytes]...)
	c := opcode.NewCursor(wasm, headerBytes, len(wasm))
	var params, types []uint32
	for c.At < c.End && !c.Bad {
		id := c.Byte()
		all := c.Bytes(c.U32())
		if c.Bad {
			break
		}
		content := opcode.NewCursor(all, 0, len(all))
		switch id {
		case sectionType:
			params = readParams(&content)
		case sectionFunction:
			for range content.Count(1) {
				types = append(types, content.U32())
			}
		case sectionCode:
			var err error
			if all, err = rewriteCode(content, params, types); err != nil {
				return nil, err
			}
		}
		if content.Bad {
			return nil, errMalformed
		}
		out = append(out, id)
		out = binary.AppendUvarint(out, uint64(len(all)))
		out = append(out, all...)
	}
	if c.Bad {
		return nil, errMalformed
	}
	return out, nil
}

// rewriteCode rewrites the functions of the code section.
func rewriteCode(c opcode.Cursor, params, types []uint32) ([]byte, error) {
	out := make([]byte, 0, c.End)
	count := c.Count(2)
	out = binary.AppendUvarint(out, uint64(count))
	var f function
	for n := range count {
		body := c.Bytes(c.U32())
		if c.Bad || n >= len(types) || uint64(types[n]) >= uint64(len(params)) {
			return nil, errMalformed
		}
		if err := f.rewrite(body, params[types[n]]); err != nil {
			return nil, fmt.Errorf("function %d of the code: %w", n, err)
		}
		out = binary.AppendUvarint(out, uint64(len(f.head)+len(f.out)))
		out = append(append(out, f.head...), f.out...)
	}
	return out, nil
}

// readParams reads how many parameters the types have.
func readParams(c *opcode.Cursor) (params []uint32) {
	for range c.Count(3) {
		c.Byte()
		n := c.U32()
		c.Bytes(n)
		c.Bytes(c.U32())
		params = append(params, n)
	}
	return params
}
