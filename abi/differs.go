package abi

import (
	"strings"

	"google.golang.org/protobuf/proto"
)

// Differs names the first part in which another function is not like this one: what they are for people apart, which is
// their docs. It is empty if they are alike.
func (f *Function) Differs(other *Function) string {
	strip := func(list []*Parameter) (out []proto.Message) {
		for _, p := range list {
			out = append(out, &Parameter{Name: p.GetName(), Type: p.GetType(), Default: p.Default})
		}
		return out
	}
	switch {
	case f.GetRole() != other.GetRole():
		return "role"
	case !proto.Equal(f.GetInput(), other.GetInput()):
		return "input"
	case !proto.Equal(f.GetSecondInput(), other.GetSecondInput()):
		return "second input"
	case !proto.Equal(f.GetAccumulator(), other.GetAccumulator()):
		return "accumulator"
	case !proto.Equal(f.GetOutput(), other.GetOutput()):
		return "output"
	case !proto.Equal(f.GetKey(), other.GetKey()):
		return "key"
	case !alike(messages(f.GetNamedOutputs()), messages(other.GetNamedOutputs())):
		return "named outputs"
	case !alike(strip(f.GetParameters()), strip(other.GetParameters())):
		return "parameters"
	case !alike(messages(f.GetStates()), messages(other.GetStates())):
		return "states"
	case f.GetMerges() != other.GetMerges():
		return "merges"
	case f.GetProcessingTime() != other.GetProcessingTime():
		return "processing_time"
	}
	return ""
}

func messages[T proto.Message](list []T) (out []proto.Message) {
	for _, m := range list {
		out = append(out, m)
	}
	return out
}

func alike(a, b []proto.Message) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !proto.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// Text is the schema as functions of any input are told it, and answer it: a line for each column, its type, a tab, its
// name.
func (s *Schema) Text() string {
	var b strings.Builder
	for _, f := range s.GetFields() {
		b.WriteString(f.GetType() + "\t" + f.GetName() + "\n")
	}
	return b.String()
}
