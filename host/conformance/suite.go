package conformance

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/wasmstream/wasmstream/abi"
)

// Suite is a file of vectors.
type Suite struct {
	Name     string
	Manifest *abi.Manifest // of the functions that the vectors are for
	Vectors  []Vector
}

// Vector is frames for one new instance of a module, and what it answers.
type Vector struct {
	Name     string  `json:"name"`
	Function int     `json:"function"` // its index in the suite's manifest
	Frames   []Frame `json:"frames"`
	// Fault is how the last frame goes wrong, with the message that must be in it.
	Fault   string `json:"fault"`
	Message string `json:"message"`
}

// Frame is a frame, its effects, and what states hold after it.
type Frame struct {
	Ops     []string `json:"ops"`
	Frame   Hex      `json:"frame"`
	Cells   []int    `json:"cells"`  // what slots are of
	Owners  []int    `json:"owners"` // by op, whose list and map states it has
	Effects Hex      `json:"effects"`
	Holds   []Held   `json:"holds"`
}

// Held is what a state must hold: that of a cell, or a list or map of an owner.
type Held struct {
	Cell    *int     `json:"cell"`
	Owner   int      `json:"owner"`
	State   int      `json:"state"`
	Entries [][2]Hex `json:"entries"` // key, empty where there is none, and value
}

// Hex is bytes that a file has as hexadecimal digits.
type Hex []byte

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hex) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// Parse reads a suite. Of files without a manifest, which are vectors for hosts, it
// returns nil.
func Parse(name string, text []byte) (*Suite, error) {
	var file struct {
		Manifest json.RawMessage `json:"manifest"`
		Vectors  []Vector        `json:"vectors"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("the vectors %s: %w", name, err)
	}
	if file.Manifest == nil {
		return nil, nil
	}
	m, err := abi.ParseManifestJSON(file.Manifest)
	if err != nil {
		return nil, fmt.Errorf("the vectors %s: %w", name, err)
	}
	for _, v := range file.Vectors {
		if v.Function < 0 || v.Function >= len(m.GetFunctions()) || len(v.Frames) == 0 {
			return nil, fmt.Errorf("the vectors %s: %q: no frames, or no function %d", name, v.Name, v.Function)
		}
	}
	return &Suite{Name: name, Manifest: m, Vectors: file.Vectors}, nil
}
