package cases

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Manifest is what is needed of a module's manifest here; manifest.proto explains it.
type Manifest struct{ Functions []*Function }

// Function is a function of a manifest.
type Function struct {
	Name, Role                              string
	Input, SecondInput, Accumulator, Output *Schema
	Key                                     *Schema
	NamedOutputs                            []*NamedOutput
	Parameters                              []*Parameter
	States                                  []*State
}

// Schema is the columns of a row, or any.
type Schema struct {
	Fields []*Field
	Any    bool
}

// Field is a column.
type Field struct{ Name, Type string }

// NamedOutput is an output beside the main one.
type NamedOutput struct {
	Name   string
	Schema *Schema
}

// Parameter is what a job sets, or its default.
type Parameter struct {
	Name, Type string
	Default    *string
}

// State is a state of a function.
type State struct {
	Name, Kind, Scope string
	TTL               string
	Key, Value        *Schema
}

// ReadManifest reads a manifest as protobuf JSON.
func ReadManifest(text []byte) (*Manifest, error) {
	m := &Manifest{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("cases: manifest: %w", err)
	}
	return m, nil
}

// there tells which things of a kind there are, for errors about one that there is not.
func there[T any](list []T, name func(T) string) string {
	if len(list) == 0 {
		return "there are none"
	}
	names := make([]string, len(list))
	for i, of := range list {
		names[i] = name(of)
	}
	return "there are " + strings.Join(names, ", ")
}

func (m *Manifest) functionIndex(name string) int {
	for i, f := range m.Functions {
		if f.Name == name {
			return i
		}
	}
	return -1
}

func (s *Schema) fields() []*Field {
	if s == nil {
		return nil
	}
	return s.Fields
}

func (s *Schema) any() bool { return s != nil && s.Any }

func (s *State) scope() string {
	if s.Scope == "" {
		return "key"
	}
	return s.Scope
}

func (s *State) isBroadcast() bool { return s.scope() == "broadcast" }

// inSlot tells a state that is a slot of an op.
func (s *State) inSlot() bool { return s.Kind != "list" && s.Kind != "map" }

// ScopeOf is what a state is of, by its index.
func (f *Function) ScopeOf(state uint32) string {
	if int(state) >= len(f.States) {
		return ""
	}
	return f.States[state].scope()
}
