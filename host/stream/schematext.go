package stream

import (
	"fmt"
	"strings"
)

// ParseSchemaText reads a schema as the ABI writes it: a line for each column, its type, a
// tab, its name. NOT NULL is passed over.
func ParseSchemaText(text string) (*Schema, error) {
	var fields []Field
	for line := range strings.Lines(text) {
		kind, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok || !strings.HasSuffix(line, "\n") {
			return nil, fmt.Errorf("the line %q of a schema is not TYPE, a tab, a name, a newline", line)
		}
		t, _, err := ParseColumnType(kind)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", name, err)
		}
		fields = append(fields, Field{Name: name, Type: t})
	}
	return NewSchema(fields...)
}
