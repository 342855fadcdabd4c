package wasmstream

import (
	"unsafe"

	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
)

// Map makes a row of each record.
type Map struct {
	// Name is how jobs call it: module.name; Doc is a line for people.
	Name, Doc string
	// Input is the columns that it takes, which the host finds in the stream by name and type, or Any.
	Input Columns
	// Output is the columns of the result; nil if Open answers them.
	Output Columns
	// Parameters are what `with:` in a job file may set.
	Parameters []Parameter
	// Open gets the parameters, once in each instance and before all else. Optional.
	Open func(*Opening)
	// Map fills the result, a row of zeros without nulls.
	Map func(o *Op, in, out Row)

	base
}

func (f *Map) prepare() {
	f.declare(base{name: f.Name, doc: f.Doc, role: "map", open: f.Open, with: f.Parameters},
		schemas{input: f.Input, output: f.Output}, f.Map != nil)
}

func (f *Map) run(fr frame) bool { return f.emitEach(fr, f.Map) }

func (f *Map) op(o *Op) {
	f.only(o, raw.OpOnRecord)
	f.Map(o, o.in(f.input), o.Emit(0))
}

// Filter keeps records or drops them.
type Filter struct {
	// Name, Doc, Input, Parameters and Open are as those of Map.
	Name, Doc  string
	Input      Columns
	Parameters []Parameter
	Open       func(*Opening)
	// Keep tells whether the record goes on.
	Keep func(o *Op, in Row) bool

	base
}

func (f *Filter) prepare() {
	f.declare(base{name: f.Name, doc: f.Doc, role: "filter", open: f.Open, with: f.Parameters},
		schemas{input: f.Input}, f.Keep != nil)
}

// run is emitEach for what is kept.
func (f *Filter) run(fr frame) bool {
	if fr.isOpening() {
		return false
	}
	o := &current
	o.frame, o.of, o.kind, o.pending = fr, &f.base, raw.OpOnRecord, nil
	for i, kept := f.keepRows(0, f.Keep); i < fr.count && !guest.tooLarge; i, kept = f.keepRows(i+1, f.Keep) {
		if !kept {
			f.unknown()
		}
		o.effect(raw.EffectKeep, 0, 0)
	}
	return true
}

// keepRows filters from op i on; it returns the first that is of another kind, or that was kept and for which there is no
// room. It is written as emitRows is.
func (f *Filter) keepRows(i uint32, keep func(o *Op, in Row) bool) (at uint32, kept bool) {
	o, m := &current, &guest
	if keep == nil {
		return i, false
	}
	for {
		op := unsafe.Add(o.ops, uintptr(i)*raw.OpBytes)
		// Below zero: behind the last op. Not zero: another op.
		if (int(o.count)-1-int(i))>>63|int(*(*uint16)(op)^raw.OpOnRecord) != 0 {
			return i, false
		}
		rowArg := *(*uint64)(unsafe.Add(op, raw.OpAtRow))
		o.index, o.row, o.arg = i, uint32(rowArg), uint32(rowArg>>32)
		kept := keep(o, Row{base: unsafe.Add(o.base, uint32(rowArg)), checks: allow(f.input, false)})
		i = o.index
		if kept {
			end := m.used + raw.EffectBytes
			if end > len(m.effects) {
				return i, true
			}
			*(*uint64)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(m.effects)), m.used)) = raw.EffectKeep | uint64(i)<<32
			m.used = end
		}
		i++
	}
}

func (f *Filter) op(o *Op) {
	f.only(o, raw.OpOnRecord)
	if f.Keep(o, o.in(f.input)) {
		o.effect(raw.EffectKeep, 0, 0)
	}
}

// FlatMap makes any number of rows of each record.
type FlatMap struct {
	// Name, Doc, Input, Output, Parameters and Open are as those of Map.
	Name, Doc     string
	Input, Output Columns
	// Outputs are named ones, beside the main one: output i of Emit is Outputs[i-1].
	Outputs    []Output
	Parameters []Parameter
	Open       func(*Opening)
	// FlatMap emits.
	FlatMap func(o *Op, in Row)

	base
}

func (f *FlatMap) prepare() {
	f.declare(base{name: f.Name, doc: f.Doc, role: "flat-map", open: f.Open, with: f.Parameters},
		schemas{input: f.Input, output: f.Output, named: f.Outputs}, f.FlatMap != nil)
}

func (f *FlatMap) op(o *Op) {
	f.only(o, raw.OpOnRecord)
	f.FlatMap(o, o.in(f.input))
}

// Key makes a record's key.
type Key struct {
	// Name, Doc, Input, Parameters and Open are as those of Map; Output is the columns of the key.
	Name, Doc     string
	Input, Output Columns
	Parameters    []Parameter
	Open          func(*Opening)
	// Key fills the key, a row of zeros without nulls.
	Key func(o *Op, in, key Row)

	base
}

func (f *Key) prepare() {
	f.declare(base{name: f.Name, doc: f.Doc, role: "key", open: f.Open, with: f.Parameters},
		schemas{input: f.Input, output: f.Output}, f.Key != nil)
}

func (f *Key) run(fr frame) bool { return f.emitEach(fr, f.Key) }

func (f *Key) op(o *Op) {
	f.only(o, raw.OpOnRecord)
	f.Key(o, o.in(f.input), o.Emit(0))
}

// TimestampAssigner says when a record was: the role timestamp.
type TimestampAssigner struct {
	// Name, Doc, Input, Parameters and Open are as those of Map.
	Name, Doc  string
	Input      Columns
	Parameters []Parameter
	Open       func(*Opening)
	// Time is the record's event time. A SendWatermark may go with it.
	Time func(o *Op, in Row) int64

	base
}

func (f *TimestampAssigner) prepare() {
	f.declare(base{name: f.Name, doc: f.Doc, role: "timestamp", open: f.Open, with: f.Parameters},
		schemas{input: f.Input}, f.Time != nil)
}

func (f *TimestampAssigner) op(o *Op) {
	f.only(o, raw.OpOnRecord)
	time := f.Time(o, o.in(f.input))
	o.effectOfTime(raw.EffectEventTime, 0, time)
}

// The columns of a message: what Decode gets and Encode makes.
const (
	MessageValue Bytes = 0
	MessageKey   Bytes = 1
)

var message = Columns{MessageValue.As("value"), MessageKey.As("key")}

// Decode makes rows of a source's messages.
type Decode struct {
	// Name, Doc, Parameters and Open are as those of Map; Output is the columns of the rows.
	Name, Doc  string
	Output     Columns
	Parameters []Parameter
	Open       func(*Opening)
	// Decode emits.
	Decode func(o *Op, message Row)

	base
	message *schema
}

func (f *Decode) prepare() {
	f.declare(base{name: f.Name, doc: f.Doc, role: "decode", open: f.Open, with: f.Parameters},
		schemas{output: f.Output}, f.Decode != nil)
	f.message = newSchema("message of "+f.Name, message)
}

func (f *Decode) op(o *Op) {
	f.only(o, raw.OpDecode)
	f.Decode(o, o.in(f.message))
}

// Encode makes a sink's messages of rows.
type Encode struct {
	// Name, Doc, Input, Parameters and Open are as those of Map.
	Name, Doc  string
	Input      Columns
	Parameters []Parameter
	Open       func(*Opening)
	// Encode fills the message, a row of zeros without nulls.
	Encode func(o *Op, in, message Row)

	base
	message *schema
}

func (f *Encode) prepare() {
	f.declare(base{name: f.Name, doc: f.Doc, role: "encode", open: f.Open, with: f.Parameters},
		schemas{input: f.Input}, f.Encode != nil)
	f.message = newSchema("message of "+f.Name, message)
}

func (f *Encode) op(o *Op) {
	f.only(o, raw.OpEncode)
	f.Encode(o, o.in(f.input), o.begin(raw.EffectEmit, 0, f.message))
}

// The columns of a request; headers are lines `name: value`.
const (
	RequestMethod  String = 0
	RequestURL     String = 1
	RequestHeaders String = 2
	RequestBody    Bytes  = 3
)

// The columns of an answer: without one the status is null, and the error says why.
const (
	AnswerStatus  Int    = 0
	AnswerHeaders String = 1
	AnswerBody    Bytes  = 2
	AnswerError   String = 3
)

// Enrich asks something for a record, and makes rows of the answer.
type Enrich struct {
	// Name, Doc, Input, Output, Outputs, Parameters and Open are as those of FlatMap.
	Name, Doc     string
	Input, Output Columns
	Outputs       []Output
	Parameters    []Parameter
	Open          func(*Opening)
	// Request asks by one Request of the op, or emits.
	Request func(o *Op, in Row)
	// Answer emits.
	Answer func(o *Op, in, answer Row)

	base
	request, answer *schema
}

func (f *Enrich) prepare() {
	f.declare(base{name: f.Name, doc: f.Doc, role: "enrich", open: f.Open, with: f.Parameters},
		schemas{input: f.Input, output: f.Output, named: f.Outputs}, f.Request != nil, f.Answer != nil)
	f.request = newSchema("request of "+f.Name, Columns{RequestMethod.As("method"), RequestURL.As("url"), RequestHeaders.As("headers"), RequestBody.As("body")})
	f.answer = newSchema("answer of "+f.Name, Columns{AnswerStatus.As("status"), AnswerHeaders.As("headers"), AnswerBody.As("body"), AnswerError.As("error")})
}

func (f *Enrich) op(o *Op) {
	switch o.kind {
	case raw.OpOnRecord:
		f.Request(o, o.in(f.input))
	case raw.OpOnAnswer:
		f.Answer(o, o.in(f.input), o.second(f.answer))
	default:
		f.unknown()
	}
}

// Ask begins a request, a row of zeros without nulls: of Enrich.
func (f *Enrich) Ask(o *Op) Row { return o.begin(raw.EffectRequest, 0, f.request) }

// second is the row that a pair has beside its own.
func (o *Op) second(s *schema) Row {
	return o.rowAt(uint32(o.number(raw.ContextAtSecond, raw.ContextPairBytes)), s)
}
