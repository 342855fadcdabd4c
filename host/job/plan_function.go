package job

import (
	"encoding/binary"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Function is a function of a module, bound to what a step reads.
type Function struct {
	Module *Module
	Name   string
	Index  int    // in the module's manifest: what a call names it by
	Role   string // one of abi.Roles
	// Inputs are the rows that it takes of each side that the step reads, its first
	// side first. Those of a role with one input have one schema.
	Inputs      []FunctionInput
	Any         bool             // its opening tells it the schemas of its inputs: see Schemas
	Key         *stream.Schema   // of the key in its contexts; nil: it does not read it
	Accumulator *stream.Schema   // of an aggregate's slot, or a reduce function's, which is its input; nil of other roles
	Outputs     []FunctionOutput // what it may emit, the main one first; none of roles that emit nothing
	States      []FunctionState  // in the order of the manifest
	// Merges: an assigner's windows merge, or a trigger can be merged. ProcessingTime:
	// an assigner's windows are of processing time.
	Merges, ProcessingTime bool
	ParameterSchema        *stream.Schema
	Parameters             stream.Row // of ParameterSchema, defaults filled in
	Limits                 *Limits    // of the step that it is in, or of the job
}

// FunctionInput is what a function takes of the rows of one side of a step.
type FunctionInput struct {
	Columns []int          // of the side's rows, in the order that the function declares them
	Schema  *stream.Schema // of the rows that it takes; no columns if it reads none
}

// FunctionOutput is one of a function's outputs.
type FunctionOutput struct {
	Name   string // "" of the main one
	Schema *stream.Schema
}

// FunctionState is a state that a function declares.
type FunctionState struct {
	Name   string
	Kind   string         // abi.StateValue, …
	Scope  string         // abi.ScopeKey, …
	Key    *stream.Schema // of a map's entries, else nil
	Value  *stream.Schema
	InSlot bool // it is a slot of an op; the others are reached by host calls
	// TTL is how long it lives by the clock, in ms; 0: for ever. OnRead: reading it
	// begins its life anew, too. SeenOnce: it is seen when it is over, if it is there.
	TTL              int64
	OnRead, SeenOnce bool
}

// Result is the schema of its main output, nil if it has none.
func (f *Function) Result() *stream.Schema {
	if len(f.Outputs) == 0 {
		return nil
	}
	return f.Outputs[0].Schema
}

// OutputSchemas are those of its outputs, the main one first.
func (f *Function) OutputSchemas() []*stream.Schema {
	list := make([]*stream.Schema, len(f.Outputs))
	for i, o := range f.Outputs {
		list[i] = o.Schema
	}
	return list
}

// Slots are the schemas of an op's slots: the accumulator, or the states in slots.
func (f *Function) Slots() []*stream.Schema {
	if f.Accumulator != nil {
		return []*stream.Schema{f.Accumulator}
	}
	var list []*stream.Schema
	for _, s := range f.States {
		if s.InSlot {
			list = append(list, s.Value)
		}
	}
	return list
}

// Schemas are what the opening tells a function whose input is any about its inputs;
// nil for others.
func (f *Function) Schemas() []byte {
	if !f.Any {
		return nil
	}
	var all []byte
	for i := range min(len(f.Inputs), inputsOf(f.Role)) {
		text := SchemaText(f.Inputs[i].Schema)
		all = binary.LittleEndian.AppendUint32(all, uint32(len(text)))
		all = append(all, text...)
		all = append(all, make([]byte, abi.Align(len(all))-len(all))...)
	}
	return all
}

// SchemaText is a schema as functions are told it: a line for each column, its type, a
// tab, its name.
func SchemaText(s *stream.Schema) string {
	var b strings.Builder
	for _, f := range s.Fields() {
		b.WriteString(f.Type.String() + "\t" + f.Name + "\n")
	}
	return b.String()
}

// inputsOf is how many inputs a role has.
func inputsOf(role string) int {
	switch role {
	case abi.RoleJoin, abi.RoleCoGroup, abi.RoleCoProcess, abi.RoleBroadcastProcess:
		return 2
	}
	return 1
}
