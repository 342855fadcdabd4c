package guest

import (
	"fmt"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
)

// SchemaOf reads a schema of a manifest; one without fields has no columns.
func SchemaOf(s *abi.Schema) (*stream.Schema, error) {
	var fields []stream.Field
	for _, f := range s.GetFields() {
		t, _, err := stream.ParseColumnType(f.GetType())
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", f.GetName(), err)
		}
		fields = append(fields, stream.Field{Name: f.GetName(), Type: t})
	}
	return stream.NewSchema(fields...)
}

// ParseSchema reads a schema as functions of any input are told it, and answer it: a line
// for each column, TYPE, a tab, its name.
func ParseSchema(text string) (*stream.Schema, error) {
	s := &abi.Schema{}
	for line := range strings.Lines(text) {
		kind, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok || !strings.HasSuffix(line, "\n") {
			return nil, fmt.Errorf("the line %q of a schema is not TYPE, a tab, a name", line)
		}
		s.Fields = append(s.Fields, &abi.Field{Type: kind, Name: name})
	}
	return SchemaOf(s)
}
