//go:build !wasip1

package wasmstream

import "github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"

// checks are what a native row knows about itself, to find a column used on the wrong row: in Wasm that would silently
// read or write something else.
type checks struct {
	schema   *schema
	writable bool
}

func allow(s *schema, writable bool) checks { return checks{s, writable} }

// mistake ends the test of a function that does what it must not, at the line where it does. It panics, since reading a
// column returns a value and no error; in Wasm there are no such checks, and a test has to have found it.
func mistake(text string) { panic("wasmstream: " + text) }

// check looks whether a column may be used on the row.
func (r Row) check(c uint8, sqlType string, write bool) {
	switch {
	case r.schema == nil:
		mistake("this row came from no function")
	case int(c) >= len(r.schema.columns):
		mistake("the " + r.schema.what + " has no column at that position")
	case r.schema.columns[c].sqlType != sqlType:
		mistake("column " + r.schema.columns[c].name + " of the " + r.schema.what + " is of type " +
			r.schema.columns[c].sqlType + ", not " + sqlType)
	case write && !r.writable:
		mistake("the " + r.schema.what + " cannot be written here")
	}
}

// checkField is check for a column that was looked for in Open.
func (r Row) checkField(f Field, write bool) {
	switch {
	case r.schema == nil:
		mistake("this row came from no function")
	case f.of == nil:
		mistake("this field was not found by Find")
	case r.schema != f.of:
		mistake("field " + f.Name + " of the " + f.of.what + " is used on the " + r.schema.what)
	case write && !r.writable:
		mistake("the " + r.schema.what + " cannot be written here")
	}
}

// contextBytes are what the kinds of ops have of a context; on-record's depends on the role.
var contextBytes = map[uint32]uint32{
	raw.OpOnRecord: raw.ContextRecordBytes, raw.OpOnSecond: raw.ContextKeyedBytes, raw.OpOnBroadcast: raw.ContextRecordBytes,
	raw.OpOnTimer: raw.ContextKeyedBytes, raw.OpOnWindow: raw.ContextGroupBytes, raw.OpAssign: raw.ContextRecordBytes,
	raw.OpOnElement: raw.ContextWindowBytes, raw.OpOnEventTime: raw.ContextWindowBytes,
	raw.OpOnProcessingTime: raw.ContextWindowBytes, raw.OpOnMerge: raw.ContextGroupBytes, raw.OpClear: raw.ContextWindowBytes,
	raw.OpEvict: raw.ContextGroupBytes, raw.OpOnPair: raw.ContextPairBytes, raw.OpOnGroup: raw.ContextGroupBytes,
	raw.OpOnAnswer: raw.ContextPairBytes, raw.OpDecode: raw.ContextRecordBytes, raw.OpEncode: raw.ContextRecordBytes,
	raw.OpOnKey: raw.ContextKeyedBytes,
}

// checkContext looks whether the op has such a thing: in Wasm it would be read from whatever is there.
func (o *Op) checkContext(bytes uint32) {
	has := contextBytes[o.kind]
	if o.kind == raw.OpOnRecord && o.of.isKeyed() {
		has = raw.ContextKeyedBytes
	}
	if bytes > has {
		mistake("" + o.of.role + " " + o.of.name + " asks for what its op does not have: a key, a window or elements")
	}
}

// allowed are the effects that roles may have, beside emits to declared outputs and answers of states.
var allowed = map[uint32][]string{
	raw.EffectSetTimer:    {"trigger", "process", "co-process", "broadcast-process"},
	raw.EffectDeleteTimer: {"trigger", "process", "co-process", "broadcast-process"},
	raw.EffectWatermark:   {"timestamp"}, raw.EffectEventTime: {"timestamp"},
	raw.EffectAssign: {"assigner"}, raw.EffectEvict: {"evictor"}, raw.EffectDecide: {"trigger"}, raw.EffectKeep: {"filter"},
	raw.EffectVisitKeys: {"broadcast-process"}, raw.EffectRequest: {"enrich"},
	raw.EffectEmit: {"map", "flat-map", "key", "aggregate", "apply", "process", "co-process", "broadcast-process", "join", "co-group", "enrich", "decode", "encode"},
}

// checkEffect looks whether the role may have such an effect: a host would refuse it.
func (o *Op) checkEffect(kind uint32) {
	roles, limited := allowed[kind]
	if !limited {
		return
	}
	for _, r := range roles {
		if r == o.of.role {
			return
		}
	}
	mistake("a function of the role " + o.of.role + " may not do this: " + o.of.name)
}
