package job

import (
	"slices"

	"github.com/wasmstream/wasmstream/host/stream"
)

// FailedSchema has what is known of a record that a function failed on, or that could
// not be decoded: what comes out of STEP.failed and SOURCE.failed. What is not known is
// NULL.
var FailedSchema = stream.MustSchema(
	stream.Field{Name: "record", Type: stream.Type{Kind: stream.Bytes}},     // the row as the ABI lays it out, of a source the undecoded bytes
	stream.Field{Name: "shown", Type: stream.Type{Kind: stream.String}},     // the row for people
	stream.Field{Name: "position", Type: stream.Type{Kind: stream.String}},  // of a source: split and offset
	stream.Field{Name: "reason", Type: stream.Type{Kind: stream.String}},    // the kind of fault, as the ABI calls it; of a source: undecodable
	stream.Field{Name: "message", Type: stream.Type{Kind: stream.String}},   // what went wrong
	stream.Field{Name: "function", Type: stream.Type{Kind: stream.String}},  // module.function
	stream.Field{Name: "key", Type: stream.Type{Kind: stream.String}},       // for people
	stream.Field{Name: "fuel", Type: stream.Type{Kind: stream.BigInt}},      // that the function used
	stream.Field{Name: "backtrace", Type: stream.Type{Kind: stream.String}}, // a line for each of the guest's functions, the innermost first
)

// faultPolicy reads what becomes of records that a step's functions fail on, once these
// are known.
func (b *builder) faultPolicy(p *producer) {
	n := p.node.get("on-fault")
	if n == nil || !n.ok {
		return
	}
	p.step.OnFault = OnError(wordIndex(n, errorWords[:]))
	if !asks(p.node) {
		b.wrong(n, p.path+".on-fault", "on-fault is about a step's functions, and the step %s has none", p.name)
	}
	if p.keyed != nil {
		p.keyed.step.OnFault = p.step.OnFault
	}
}

// asks tells of a mapping that names a function somewhere.
func asks(n *node) bool {
	return slices.ContainsFunc(n.entries, func(e entry) bool { return e.key == "wasm" || asks(e.value) })
}

// declareFailed makes the output of what failed known.
func (p *producer) declareFailed() {
	field := "on-fault"
	if p.source != nil {
		field = "on-error"
	}
	if n := p.node.get(field); text(n) == errorWords[DeadLetter] {
		p.extras = append(p.extras, &extra{name: reservedOutput, schema: FailedSchema, field: p.path + "." + field, node: n, failed: true})
	}
}
