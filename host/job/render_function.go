package job

import (
	"fmt"
	"strings"

	"github.com/wasmstream/wasmstream/host/stream"
)

// render tells what a function takes, keeps and puts out; inputs are the schemas of
// what its sides read.
func (f *Function) render(b *strings.Builder, inputs ...*stream.Schema) {
	fmt.Fprintf(b, "  %s %s.%s, number %d, of", f.Role, f.Module.Name, f.Name, f.Index)
	for i, in := range f.Inputs {
		if i > 0 {
			b.WriteString(" and")
		}
		fmt.Fprintf(b, " (%s)", columns(inputs[min(i, len(inputs)-1)], in.Columns))
	}
	if f.Any {
		b.WriteString(", told their types")
	}
	b.WriteByte('\n')
	if f.Key != nil {
		fmt.Fprintf(b, "    key %s\n", f.Key)
	}
	if f.Accumulator != nil {
		fmt.Fprintf(b, "    accumulator %s\n", f.Accumulator)
	}
	for _, o := range f.Outputs {
		fmt.Fprintf(b, "    output%s %s\n", strings.TrimSuffix(" "+o.Name, " "), o.Schema)
	}
	for i := range f.States {
		f.States[i].render(b)
	}
	if f.Merges {
		b.WriteString("    merges\n")
	}
	if f.ProcessingTime {
		b.WriteString("    of processing time\n")
	}
	fmt.Fprintf(b, "    parameters %s %x\n", f.ParameterSchema, []byte(f.Parameters))
}

func (s *FunctionState) render(b *strings.Builder) {
	fmt.Fprintf(b, "    state %s: %s of a %s,", s.Name, s.Kind, s.Scope)
	if s.Key != nil {
		fmt.Fprintf(b, " %s to", s.Key)
	}
	fmt.Fprintf(b, " %s", s.Value)
	if s.TTL > 0 {
		fmt.Fprintf(b, ", forgotten after %s", formatDuration(s.TTL))
	}
	if s.OnRead {
		b.WriteString(", from the last reading")
	}
	if s.SeenOnce {
		b.WriteString(", seen once after that")
	}
	b.WriteByte('\n')
}
