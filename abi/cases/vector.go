// Package cases reads a cases.txt, whose language udfs/README.md describes, and makes vectors of it, which abi/README.md
// describes. Package conform plays them.
//
// abi/gen copies this package into the Go SDK, which is a module without dependencies: it knows the ABI by its numbers
// only, which the file numbers.go has.
package cases

import (
	"encoding/hex"
	"encoding/json"
)

// File is a file of vectors.
type File struct {
	Comment string `json:"comment"`
	// Manifest is that of the module that the vectors are for; not of those for hosts.
	Manifest json.RawMessage `json:"manifest,omitempty"`
	Vectors  []Vector        `json:"vectors"`
}

// Vector is frames for one new instance of a module, and what it answers.
type Vector struct {
	Name string `json:"name"`
	// Modules are names of testdata/wasm, without the extension.
	Modules  []string `json:"modules"`
	Function int      `json:"function"`
	Frames   []Frame  `json:"frames"`
	// Refused is whether the module is refused before any frame, Fault how the last frame goes wrong.
	Refused bool   `json:"refused,omitempty"`
	Fault   string `json:"fault,omitempty"`
	Message string `json:"message,omitempty"`
	// Words tell what is answered.
	Words *Words `json:"-"`
}

// Frame is a frame and what it must be answered.
type Frame struct {
	// Ops are for people.
	Ops   []string `json:"ops"`
	Frame Hex      `json:"frame"`
	// Cells are what slots are of: a slot begins as what the slot of the same cell was left as, if there was one.
	Cells []int `json:"cells,omitempty"`
	// Owners are, by op, whose list and map states of a key it has; broadcast state is that of 0. Windows are whose of a
	// window it has, Merged those of the windows that were merged into its own.
	Owners  []int   `json:"owners,omitempty"`
	Windows []int   `json:"windows,omitempty"`
	Merged  [][]int `json:"merged,omitempty"`
	Effects Hex     `json:"effects"`
	// Holds are states after the frame.
	Holds []Held `json:"holds,omitempty"`
	// Lines are those of the ops in their cases.txt; 0: it has none.
	Lines []int `json:"-"`
}

// Held is what a state must hold: of a slot by its cell, of a list or map by its owner.
type Held struct {
	Cell    *int     `json:"cell,omitempty"`
	Owner   int      `json:"owner,omitempty"`
	State   int      `json:"state,omitempty"`
	Entries [][2]Hex `json:"entries"`
	// Name and schemas are for people; Key is nil but of a map.
	Name       string  `json:"-"`
	Key, Value *Schema `json:"-"`
}

// Hex are bytes that are written in hex.
type Hex []byte

// UnmarshalText reads hex.
func (h *Hex) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// MarshalText writes hex.
func (h Hex) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(h)), nil }
