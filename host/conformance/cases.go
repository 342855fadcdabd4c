package conformance

import (
	"encoding/json"
	"fmt"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/abi/cases"
	"github.com/wasmstream/wasmstream/abi/conform"
)

// OfCases makes a suite of a cases.txt for the functions of a module. Its ops are told with their lines.
func OfCases(name string, m *abi.Manifest, text []byte) (Suite, error) {
	manifest, err := m.JSON()
	if err != nil {
		return Suite{}, err
	}
	readable, err := cases.ReadManifest(manifest)
	if err != nil {
		return Suite{}, err
	}
	vectors, err := cases.Vectors(readable, text)
	if err != nil {
		return Suite{}, err
	}
	for _, v := range vectors {
		for _, f := range v.Frames {
			for i, line := range f.Lines {
				if line > 0 {
					f.Ops[i] = fmt.Sprintf("line %d: %s", line, f.Ops[i])
				}
			}
		}
	}
	file, err := json.Marshal(cases.File{Manifest: manifest, Vectors: vectors})
	if err != nil {
		return Suite{}, fmt.Errorf("conformance: %w", err)
	}
	read, err := conform.Read(file)
	return Suite{Name: name, File: read}, err
}
