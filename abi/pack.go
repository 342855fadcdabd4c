package abi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"
)

// wasmMagic is what a core module, version 1, begins with.
const wasmMagic = "\x00asm\x01\x00\x00\x00"

// Pack returns the module with the manifest in its custom section, in place of one that it had. The section comes last,
// so that everything before it, and with it every byte offset in an error or a profile, stays where it was.
func Pack(wasm []byte, m *Manifest) ([]byte, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	content, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("abi: manifest: %w", err)
	}
	if len(content) > ManifestBytesMax {
		return nil, fmt.Errorf("abi: the manifest has %d bytes, the limit is %d", len(content), ManifestBytesMax)
	}
	out := make([]byte, 0, len(wasm)+len(content)+64)
	out = append(out, wasmMagic...)
	err = sections(wasm, func(whole []byte, name string, _ []byte) error {
		if name != ManifestSection {
			out = append(out, whole...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	body := binary.AppendUvarint(nil, uint64(len(ManifestSection)))
	body = append(append(body, ManifestSection...), content...)
	out = append(out, 0)
	out = binary.AppendUvarint(out, uint64(len(body)))
	return append(out, body...), nil
}

// ErrNoManifest says that a module has no section ManifestSection.
var ErrNoManifest = errors.New("abi: the module has no section " + ManifestSection + "; `wasmstream module pack` writes one")

// FindManifest parses the manifest of a module without looking at anything else in it. It is not validated.
func FindManifest(wasm []byte) (*Manifest, error) {
	var content []byte
	found := 0
	err := sections(wasm, func(_ []byte, name string, c []byte) error {
		if name == ManifestSection {
			content = c
			found++
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case found == 0:
		return nil, ErrNoManifest
	case found > 1:
		return nil, fmt.Errorf("abi: the module has %d sections %s, one is allowed", found, ManifestSection)
	}
	return ParseManifest(content)
}

// sections calls visit with each section of a module: its bytes whole, and the name and content of custom ones.
func sections(wasm []byte, visit func(whole []byte, name string, content []byte) error) error {
	if len(wasm) < len(wasmMagic) || string(wasm[:len(wasmMagic)]) != wasmMagic {
		return errors.New("abi: not a WebAssembly module: it does not begin with \\0asm, version 1")
	}
	for at := len(wasmMagic); at < len(wasm); {
		size, n := length(wasm[at+1:])
		body := at + 1 + n
		if n == 0 || size > uint64(len(wasm)-body) {
			return fmt.Errorf("abi: section at byte %d ends beyond the module (%d bytes)", at, len(wasm))
		}
		end := body + int(size)
		name, content := "", []byte(nil)
		if wasm[at] == 0 {
			nameSize, m := length(wasm[body:end])
			if m == 0 || nameSize > uint64(end-body-m) {
				return fmt.Errorf("abi: name of the custom section at byte %d ends beyond it", at)
			}
			name, content = string(wasm[body+m:body+m+int(nameSize)]), wasm[body+m+int(nameSize):end]
		}
		if err := visit(wasm[at:end], name, content); err != nil {
			return err
		}
		at = end
	}
	return nil
}

// length reads an unsigned 32-bit LEB128: at most five bytes. n is 0 if there is none.
func length(b []byte) (v uint64, n int) {
	v, n = binary.Uvarint(b[:min(len(b), 5)])
	if n <= 0 || v > math.MaxUint32 {
		return 0, 0
	}
	return v, n
}
