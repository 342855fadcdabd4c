// Package conform plays test vectors on a guest, whatever holds it: a host's sandbox, or a native build. A vector is
// frames and what must be answered; abi/README.md describes the files, and abi/gen/CASES.md what a player does.
//
// What must be equal: effects byte for byte, but set-slot and touch, whose place among the others is the guest's choice;
// and what states hold after a frame. Slots must be left as rows of their schemas.
package conform

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/wasmstream/wasmstream/abi"
)

// File is a file of vectors.
type File struct {
	// Manifest is of the functions that the vectors are for; nil: they are for hosts.
	Manifest *abi.Manifest
	Vectors  []Vector
}

// Vector is frames for one new instance.
type Vector struct {
	Name     string   `json:"name"`
	Modules  []string `json:"modules"`
	Function uint32   `json:"function"` // its index in the manifest
	Frames   []Frame  `json:"frames"`
	// Refused: the module is refused before any frame. Fault, Message: how the last frame ends.
	Refused bool   `json:"refused"`
	Fault   string `json:"fault"`
	Message string `json:"message"`

	rows *Rows // of the function; nil: they are shown as bytes
}

// Frame is a frame and what it must be answered.
type Frame struct {
	Ops     []string `json:"ops"`
	Frame   Hex      `json:"frame"`
	Cells   []int    `json:"cells"`
	Owners  []int    `json:"owners"`
	Windows []int    `json:"windows"`
	Merged  [][]int  `json:"merged"`
	Effects Hex      `json:"effects"`
	Holds   []Held   `json:"holds"`
}

// Owner says whose list and map states an op has: of a key, of a window, and of those that were merged into it.
type Owner struct {
	Key, Window int
	Merged      []int
}

// owners are by op.
func (f *Frame) owners() []Owner {
	list := make([]Owner, len(f.Owners))
	for i, key := range f.Owners {
		list[i].Key = key
		if i < len(f.Windows) {
			list[i].Window = f.Windows[i]
		}
		if i < len(f.Merged) {
			list[i].Merged = f.Merged[i]
		}
	}
	return list
}

// Held is what a state must hold: of a slot by its cell, of a list or map by its owner.
type Held struct {
	Cell    *int     `json:"cell"`
	Owner   int      `json:"owner"`
	State   int      `json:"state"`
	Entries [][2]Hex `json:"entries"`
}

// Hex is bytes that files have in hex.
type Hex []byte

// UnmarshalText reads hex.
func (h *Hex) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// Read reads a file of vectors.
func Read(text []byte) (File, error) {
	var in struct {
		Manifest json.RawMessage `json:"manifest"`
		Vectors  []Vector        `json:"vectors"`
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return File{}, fmt.Errorf("conform: %w", err)
	}
	f := File{Vectors: in.Vectors}
	if in.Manifest == nil {
		return f, nil
	}
	var err error
	if f.Manifest, err = abi.ParseManifestJSON(in.Manifest); err != nil {
		return f, fmt.Errorf("conform: %w", err)
	}
	for i := range f.Vectors {
		v := &f.Vectors[i]
		if int(v.Function) >= len(f.Manifest.GetFunctions()) {
			return f, fmt.Errorf("conform: vector %q: there is no function %d", v.Name, v.Function)
		}
		if v.rows, err = RowsOf(f.Manifest.GetFunctions()[v.Function]); err != nil {
			return f, fmt.Errorf("conform: vector %q: %w", v.Name, err)
		}
	}
	return f, nil
}
