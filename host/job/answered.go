package job

import (
	"fmt"
	"strings"

	"github.com/wasmstream/wasmstream/host/stream"
)

// answered finds the outputs that the manifest leaves to the function, which says their
// columns when it is opened; false if a problem stands against one.
func (b *builder) answered(f *Function, n *node, at string) bool {
	var open []int
	for i := range f.Outputs {
		if f.Outputs[i].Schema == nil {
			open = append(open, i)
		}
	}
	if len(open) == 0 || len(f.Inputs) == 0 {
		return len(open) == 0
	}
	if b.o.Open == nil {
		b.wrong(n, at, "The function %s says its output's columns when it is opened, and functions cannot be run here", n.text)
		return false
	}
	texts, err := b.o.Open(f)
	if err != nil {
		b.wrong(n, at, "The function %s cannot be opened: %s", n.text, oneLine(err))
		return false
	}
	sound := true
	for _, i := range open {
		what := "output " + f.Outputs[i].Name
		if i == 0 {
			what = outputWord(f.Role)
		}
		text, ok := texts[uint32(i)]
		if !ok {
			b.wrong(n, at, "The function %s takes any input and declares no columns of its %s, and it did not say them when it was opened", n.text, what)
			sound = false
			continue
		}
		s, err := parseSchemaText(text)
		if err != nil {
			b.wrong(n, at, "The function %s says the columns of its %s badly: %s", n.text, what, err)
			sound = false
			continue
		}
		f.Outputs[i].Schema = s
	}
	return sound
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// schemaTextBytesMax bounds what a function says of an output.
const schemaTextBytesMax = 1 << 20

// parseSchemaText reads what SchemaText writes, from strangers.
func parseSchemaText(text string) (*stream.Schema, error) {
	if len(text) > schemaTextBytesMax {
		return nil, fmt.Errorf("it has %d bytes, and the limit is %d", len(text), schemaTextBytesMax)
	}
	var fields []stream.Field
	for line := range strings.Lines(text) {
		word, name, found := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !found {
			return nil, fmt.Errorf("line %d is not a type, a tab and a name", len(fields)+1)
		}
		if problem := nameProblem(name, true); problem != "" {
			return nil, fmt.Errorf("line %d: %s is no name: %s", len(fields)+1, quote(name), problem)
		}
		t, _, err := stream.ParseColumnType(word)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", len(fields)+1, err)
		}
		if fields = append(fields, stream.Field{Name: name, Type: t}); len(fields) > ColumnsMax {
			return nil, fmt.Errorf("it has more than %d columns", ColumnsMax)
		}
	}
	if len(fields) == 0 {
		return nil, fmt.Errorf("there are none")
	}
	return stream.NewSchema(fields...)
}
