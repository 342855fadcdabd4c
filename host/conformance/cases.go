package conformance

import (
	"encoding/json"
	"fmt"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/abi/cases"
	"github.com/wasmstream/wasmstream/abi/conform"
)

// OfCases makes a suite of a cases.txt for the functions of a module.
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
	file, err := json.Marshal(cases.File{Manifest: manifest, Vectors: vectors})
	if err != nil {
		return Suite{}, fmt.Errorf("conformance: %w", err)
	}
	read, err := conform.Read(file)
	return Suite{Name: name, File: read}, err
}
