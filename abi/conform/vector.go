// Package conform plays test vectors on a guest, whatever holds it: a host's sandbox, or a native build. A vector is
// frames and what must be answered; abi/README.md describes the files, and abi/gen/CASES.md what a player does.
//
// What must be equal: effects byte for byte, but set-slot and touch, whose place among the others is the guest's choice;
// and what states hold after a frame. Slots must be left as rows of their schemas.
package conform

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
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

	schemas *schemas // of the function; nil: rows are shown as bytes
}

// Frame is a frame and what it must be answered.
type Frame struct {
	Ops     []string `json:"ops"`
	Frame   Hex      `json:"frame"`
	Cells   []int    `json:"cells"`
	Owners  []int    `json:"owners"`
	Effects Hex      `json:"effects"`
	Holds   []Held   `json:"holds"`
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
		if v.schemas, err = schemasOf(f.Manifest.GetFunctions()[v.Function]); err != nil {
			return f, fmt.Errorf("conform: vector %q: %w", v.Name, err)
		}
	}
	return f, nil
}

// schemas are those of a function's rows.
type schemas struct {
	outputs []*stream.Schema
	slots   []*stream.Schema // of an op
	states  []stateSchemas
}

type stateSchemas struct{ key, value *stream.Schema }

// messageSchema is what encode emits.
var messageSchema = &abi.Schema{Fields: []*abi.Field{{Name: "value", Type: "BYTES"}, {Name: "key", Type: "BYTES"}}}

func schemasOf(f *abi.Function) (*schemas, error) {
	var errs []error
	read := func(s *abi.Schema) *stream.Schema {
		schema, err := stream.ParseSchemaText(s.Text())
		errs = append(errs, err)
		return schema
	}
	output := f.GetOutput()
	if f.GetRole() == abi.RoleEncode {
		output = messageSchema
	}
	s := &schemas{outputs: []*stream.Schema{read(output)}}
	for _, o := range f.GetNamedOutputs() {
		s.outputs = append(s.outputs, read(o.GetSchema()))
	}
	switch f.GetRole() {
	case abi.RoleAggregate:
		s.slots = append(s.slots, read(f.GetAccumulator()))
	case abi.RoleReduce:
		s.slots = append(s.slots, read(f.GetInput()))
	}
	for _, state := range f.GetStates() {
		if state.InSlot() {
			s.slots = append(s.slots, read(state.GetValue()))
		}
		s.states = append(s.states, stateSchemas{read(state.GetKey()), read(state.GetValue())})
	}
	return s, errors.Join(errs...)
}
