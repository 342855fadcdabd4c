package refine

import (
	"encoding/binary"
	"errors"
	"fmt"
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
	c := cursor{data: wasm[headerBytes:]}
	var params, types []uint64
	for len(c.data) > 0 && !c.bad {
		id := c.bytes(1)
		content := cursor{data: c.bytes(c.u32())}
		if c.bad {
			break
		}
		all := content.data
		switch id[0] {
		case sectionType:
			params = content.params()
		case sectionFunction:
			for range content.u32() {
				types = append(types, content.u32())
				if content.bad {
					return nil, errMalformed
				}
			}
		case sectionCode:
			var err error
			if all, err = rewriteCode(content, params, types); err != nil {
				return nil, err
			}
		}
		if content.bad {
			return nil, errMalformed
		}
		out = append(out, id[0])
		out = binary.AppendUvarint(out, uint64(len(all)))
		out = append(out, all...)
	}
	if c.bad {
		return nil, errMalformed
	}
	return out, nil
}

// rewriteCode rewrites the functions of the code section.
func rewriteCode(c cursor, params, types []uint64) ([]byte, error) {
	out := make([]byte, 0, len(c.data))
	count := c.u32()
	out = binary.AppendUvarint(out, count)
	var f function
	for n := range count {
		body := c.bytes(c.u32())
		if c.bad || n >= uint64(len(types)) || types[n] >= uint64(len(params)) {
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

// cursor reads what was found well-formed before; anything else is bad.
type cursor struct {
	data []byte
	bad  bool
}

func (c *cursor) u32() uint64 {
	v, n := binary.Uvarint(c.data)
	if n <= 0 || v >= 1<<32 {
		c.bad = true
		return 0
	}
	c.data = c.data[n:]
	return v
}

func (c *cursor) bytes(n uint64) []byte {
	if c.bad || n > uint64(len(c.data)) {
		c.bad = true
		return nil
	}
	b := c.data[:n:n]
	c.data = c.data[n:]
	return b
}

// params reads how many parameters the types have.
func (c *cursor) params() (params []uint64) {
	for range c.u32() {
		c.bytes(1)
		n := c.u32()
		c.bytes(n)
		c.bytes(c.u32())
		if c.bad {
			return nil
		}
		params = append(params, n)
	}
	return params
}
