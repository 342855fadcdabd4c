package job

import (
	"slices"

	"github.com/wasmstream/wasmstream/host/stream"
)

// FailedSchema has what is known of a record that a function failed on, or that could
// not be decoded: what comes out of STEP.failed and SOURCE.failed. What is not known is
// NULL.
var FailedSchema = stream.MustSchema(
	stream.Field{Name: "record", Type: stream.Type{Kind: stream.Bytes}},     // the row as it came to the step, as the ABI lays it out; of a source the undecoded bytes
	stream.Field{Name: "shown", Type: stream.Type{Kind: stream.String}},     // the row for people
	stream.Field{Name: "position", Type: stream.Type{Kind: stream.String}},  // where it was read: split and offset, and of a step the source
	stream.Field{Name: "reason", Type: stream.Type{Kind: stream.String}},    // the kind of fault, as the ABI calls it; of a source: undecodable
	stream.Field{Name: "message", Type: stream.Type{Kind: stream.String}},   // what went wrong
	stream.Field{Name: "function", Type: stream.Type{Kind: stream.String}},  // module.function
	stream.Field{Name: "key", Type: stream.Type{Kind: stream.String}},       // for people
	stream.Field{Name: "fuel", Type: stream.Type{Kind: stream.BigInt}},      // that the op took
	stream.Field{Name: "backtrace", Type: stream.Type{Kind: stream.String}}, // a line for each of the guest's functions, the innermost first
	stream.Field{Name: "original", Type: stream.Type{Kind: stream.Bytes}},   // what was read at position: the bytes of a line or message
	stream.Field{Name: "other", Type: stream.Type{Kind: stream.Bytes}},      // of a join, the right row; record is the left one
)

// faultPolicy reads what becomes of records that a step's functions fail on, once these
// are known.
func (b *builder) faultPolicy(p *producer) {
	n := p.node.get("on-fault")
	if r := p.node.get("fault-rate"); r != nil && r.ok && (n == nil && !p.node.has("on-fault") || n != nil && text(n) == errorWords[Fail]) {
		b.wrong(r, p.path+".fault-rate", "fault-rate is about faults that the job survives: with on-fault: fail it has no meaning")
	}
	if n == nil || !n.ok {
		return
	}
	p.step.OnFault, p.step.FaultRate = OnError(wordIndex(n, errorWords[:])), faultRateDefault
	if r := p.node.get("fault-rate"); r != nil && r.ok {
		p.step.FaultRate = r.float
	}
	if !asks(p.node) {
		b.wrong(n, p.path+".on-fault", "on-fault is about a step's functions, and the step %s has none", p.name)
	}
	if p.keyed != nil {
		p.keyed.step.OnFault, p.keyed.step.FaultRate = p.step.OnFault, p.step.FaultRate
	}
}

// faultRateDefault is the share of the last 10,000 records that may fail; fewer than 100
// faults never fail a job.
const faultRateDefault = 0.1

// asks tells of a mapping that names a function somewhere, or means to: a slip of the pen is told
// where it is, and not by what follows from it.
func asks(n *node) bool {
	return slices.ContainsFunc(n.entries, func(e entry) bool { return stream.Nearest(e.key, []string{"wasm"}) != "" || asks(e.value) })
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

// trace has sources tell where records were read, for the steps that put out what their
// functions fail on. Records that steps hand on one by one go there with their place.
// An interval join keeps records without.
func (b *builder) trace() {
	seen := map[*producer]bool{}
	for _, p := range b.order {
		if p.step != nil && p.step.OnFault == DeadLetter && p.operation != intervalJoinOperation {
			p.trace(seen)
		}
	}
}

func (p *producer) trace(seen map[*producer]bool) {
	for _, s := range p.sides {
		for _, r := range s.refs {
			from := r.from
			switch {
			case r.extra != nil && r.extra.failed || seen[from]:
			case from.source != nil:
				from.source.Traced = true
			case from.handsOn():
				seen[from] = true
				from.trace(seen)
			}
		}
	}
}

// handsOn tells of a step that takes each record by itself.
func (p *producer) handsOn() bool {
	switch p.operation {
	case "", mapOperation, filterOperation, flatMapOperation, keyOperation, enrichOperation:
		return true
	}
	return false
}
