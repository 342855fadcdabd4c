package job

import (
	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
)

// wasmFormat is the format of records that a function decodes or encodes.
const wasmFormat = "wasm"

// MessageSchema is a record as functions of the roles decode and encode see it. Without
// a value it is a tombstone.
var MessageSchema = stream.MustSchema(
	stream.Field{Name: "value", Type: stream.Type{Kind: stream.Bytes}}, stream.Field{Name: "key", Type: stream.Type{Kind: stream.Bytes}},
)

// The columns of MessageSchema.
const (
	MessageValue = iota
	MessageKey
)

// formatShape is a format by name, or a function.
var formatShape = callOr(&shape{what: isWord, words: []string{"json"}, mapped: []string{"wasm"}})

// formatOf is a connector's format.
func formatOf(n *node) string {
	if n != nil && n.form == mappingForm {
		return wasmFormat
	}
	return text(n)
}

// formatCall finds the function that is the format of a source or sink; nil without.
func formatCall(n *node, path string) (format *node, at string) {
	for _, connector := range []string{"file", "kafka"} {
		if f := n.get(connector).get("format"); f != nil && f.form == mappingForm {
			return f, path + "." + connector + ".format"
		}
	}
	return nil, ""
}

// decode binds the function that makes rows of a source's records.
func (b *builder) decode(p *producer) {
	n, at := formatCall(p.node, p.path)
	if n == nil || !n.ok {
		return
	}
	s := p.source
	f := b.function(p, call{node: n, path: at, field: "format", roles: []string{abi.RoleDecode}})
	if f == nil || s.Schema == nil {
		return
	}
	sound := true
	schema := p.node.get("schema")
	for i, want := range s.Schema.Fields()[:len(schema.entries)] {
		e := &schema.entries[i]
		switch at := f.Result().Index(want.Name); {
		case at < 0:
			b.wrong(e.value, join(p.path+".schema", want.Name), "The function %s puts out no column %s%s", n.get("wasm").text, want.Name, b.suggest(want.Name, f.Result().Names(), "its columns are "))
			sound = false
		case !f.Result().Fields()[at].Type.Equal(want.Type):
			b.wrong(e.value, join(p.path+".schema", want.Name), "The function %s puts the column %s out as %s, and here it is %s", n.get("wasm").text, want.Name, f.Result().Fields()[at].Type, want.Type)
			sound = false
		}
	}
	if sound {
		s.Decode = f
	}
}

// encode binds the function that makes a sink's records.
func (b *builder) encode(s *sinkInfo) {
	n, at := formatCall(s.node, s.path)
	if n == nil || !n.ok || s.input == nil {
		return
	}
	if k := s.kafka; s.sink.Changing && (k == nil || k.Mode != UpsertMode) || k != nil && k.Mode == ChangelogMode {
		b.wrong(s.node, s.path, "The sink %s gets changes (-U, +U, -D), and a function that encodes rows is not told their kind; let the stream's output be append, or write to kafka with mode: upsert", s.sink.Name)
		return
	}
	p := &producer{name: s.sink.Name}
	of := &side{shown: "The sink " + s.sink.Name, input: s.input}
	s.sink.Encode = b.function(p, call{node: n, path: at, field: "format", roles: []string{abi.RoleEncode}, sides: []*side{of}})
}
