package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/sandbox"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Instance is an instance of the module at test.
type Instance interface {
	guest.Instance
	// Serve says who answers the guest's calls on states.
	Serve(sandbox.StateCalls)
}

// player plays a vector.
type player struct {
	v        *Vector
	function *abi.Function
	index    uint32 // of the function in the module
	i        Instance
	fresh    bool

	states  states
	slots   []*stream.Schema // of an op
	outputs []*stream.Schema
	cells   map[int][]byte // what slots were left as, nothing: no value
	header  abi.Header
}

// problem is what is wrong with a vector, at a frame.
type problem struct {
	frame int
	op    int // noOp: none
	text  string
}

const noOp = -1

func (p *problem) Error() string { return p.text }

func wrong(op int, format string, args ...any) error {
	return &problem{op: op, text: fmt.Sprintf(format, args...)}
}

// play plays all frames; what it returns says at which it went wrong.
func (p *player) play() error {
	if err := p.prepare(); err != nil {
		return err
	}
	p.i.Serve(&p.states)
	for n := range p.v.Frames {
		err := p.frame(n)
		if err == nil {
			continue
		}
		at := &problem{op: noOp}
		if !errors.As(err, &at) {
			at.text = err.Error()
		}
		at.frame = n
		return at
	}
	return nil
}

// prepare reads the schemas of the function.
func (p *player) prepare() (err error) {
	f := p.function
	read := func(s *abi.Schema) *stream.Schema {
		schema, failed := guest.SchemaOf(s)
		err = errors.Join(err, failed)
		return schema
	}
	output := f.GetOutput()
	if f.GetRole() == abi.RoleEncode {
		output = messageSchema
	}
	p.outputs = append(p.outputs, read(output))
	for _, o := range f.GetNamedOutputs() {
		p.outputs = append(p.outputs, read(o.GetSchema()))
	}
	switch f.GetRole() {
	case abi.RoleAggregate:
		p.slots = append(p.slots, read(f.GetAccumulator()))
	case abi.RoleReduce:
		p.slots = append(p.slots, read(f.GetInput()))
	}
	for _, s := range f.GetStates() {
		if s.InSlot() {
			p.slots = append(p.slots, read(s.GetValue()))
		}
		p.states.schemas = append(p.states.schemas, stateSchemas{read(s.GetKey()), read(s.GetValue())})
	}
	p.states.function, p.states.entries = f, map[place][]entry{}
	p.cells = map[int][]byte{}
	return err
}

// messageSchema is what encode emits.
var messageSchema = &abi.Schema{Fields: []*abi.Field{{Name: "value", Type: "BYTES"}, {Name: "key", Type: "BYTES"}}}

// frame plays one frame.
func (p *player) frame(n int) error {
	f := &p.v.Frames[n]
	bytes, err := p.fill(f)
	if err != nil {
		return err
	}
	effects, err := p.perform(n, bytes)
	if p.v.Fault != "" && n == len(p.v.Frames)-1 {
		return p.checkFault(err)
	}
	if err != nil {
		return wrong(noOp, "it ended in a fault: %v", err)
	}
	if err := p.compare(f, effects); err != nil {
		return err
	}
	if err := p.keep(f, effects); err != nil {
		return err
	}
	return p.holds(f)
}

// perform opens the function with the first frame and calls it with the others.
func (p *player) perform(n int, frame []byte) ([]byte, error) {
	if n == 0 {
		return p.i.Open(p.index, frame)
	}
	if p.fresh {
		if err := p.i.Rebuild(); err != nil {
			return nil, err
		}
	}
	room, pointer, err := p.i.In(len(frame))
	if err != nil {
		return nil, err
	}
	copy(room, frame)
	return p.i.Call(p.index, pointer, len(frame))
}

// fill is the frame with slots as they were left.
func (p *player) fill(f *Frame) ([]byte, error) {
	b := bytes.Clone(f.Frame)
	h, err := abi.ReadHeader(b)
	if err != nil {
		return nil, err
	}
	p.states.frame, p.states.kinds = f, p.states.kinds[:0]
	for i := range int(h.Ops) {
		p.states.kinds = append(p.states.kinds, abi.ReadOp(b, int(h.OpsOffset)+i*abi.OpBytes).Kind)
	}
	if len(f.Cells) > 0 && len(f.Cells) != int(h.Slots) || len(f.Owners) > 0 && len(f.Owners) != int(h.Ops) {
		return nil, errors.New("the vector has not a cell for each slot, or not an owner for each op")
	}
	for i, c := range f.Cells {
		content, known := p.cells[c]
		if !known {
			p.cells[c] = p.before(b, &h, i)
			continue
		}
		at := int(h.SlotsOffset) + i*int(h.Stride)
		switch {
		case h.Stride > 0 && len(content) == 0:
			clear(b[at : at+int(h.Stride)])
			b[at] = absent
		case h.Stride > 0:
			clear(b[at : at+int(h.Stride)])
			copy(b[at:], content)
		default:
			abi.PutSlotEntry(b, int(h.SlotsOffset)+i*abi.SlotEntryBytes, uint32(len(b)), uint32(len(content)))
			b = append(b, content...)
		}
	}
	h.Total = uint32(len(b))
	abi.PutHeader(b, h)
	p.header = h
	return b, nil
}

// absent is byte 0 of a slot of fixed width that holds no value.
const absent = 3

// before is what a slot of the frame holds at first.
func (p *player) before(b []byte, h *abi.Header, i int) []byte {
	if h.Stride == 0 {
		offset, length := abi.ReadSlotEntry(b, int(h.SlotsOffset)+i*abi.SlotEntryBytes)
		return b[offset : offset+length]
	}
	return p.content(b[int(h.SlotsOffset)+i*int(h.Stride):][:h.Stride], i)
}

// content is the row of a slot of fixed width, nothing if it holds no value.
func (p *player) content(slot []byte, i int) []byte {
	if slot[0] == absent && len(bytes.Trim(slot[1:], "\x00")) == 0 {
		return nil
	}
	return bytes.Clone(slot[:p.slots[i%len(p.slots)].FixedBytes()])
}

// keep takes over what slots were left as.
func (p *player) keep(f *Frame, effects []byte) error {
	h := &p.header
	if h.Stride == 0 {
		return p.keepSet(f, effects)
	}
	after := p.i.Frame()
	for i, c := range f.Cells {
		slot := after[int(h.SlotsOffset)+i*int(h.Stride):][:h.Stride]
		row := p.content(slot, i)
		schema := p.slots[i%len(p.slots)]
		if row != nil {
			if err := stream.CheckExact(schema, row); err != nil {
				return wrong(noOp, "slot %d was left as no row of %s: %v", i, schema, err)
			}
		}
		p.cells[c] = row
	}
	return nil
}

func (p *player) keepSet(f *Frame, effects []byte) error {
	list := abi.ReadEffects(effects, int(p.header.Ops))
	for e, ok := list.Next(); ok; e, ok = list.Next() {
		if e.Kind != abi.EffectSetSlot {
			continue
		}
		if int(e.Aux) >= len(f.Cells) {
			return wrong(int(e.Op), "set-slot of slot %d of %d", e.Aux, len(f.Cells))
		}
		schema := p.slots[int(e.Aux)%len(p.slots)]
		if len(e.Payload) > 0 {
			if err := stream.CheckExact(schema, e.Payload); err != nil {
				return wrong(int(e.Op), "set-slot of slot %d with no row of %s: %v", e.Aux, schema, err)
			}
		}
		p.cells[f.Cells[e.Aux]] = bytes.Clone(e.Payload)
	}
	return list.Err()
}

// checkFault holds an error against the fault that must be.
func (p *player) checkFault(err error) error {
	if err == nil {
		return wrong(noOp, "it must end in the fault %s, and did not", p.v.Fault)
	}
	kind := "none"
	var fault *sandbox.Fault
	var large *sandbox.TooLargeError
	switch {
	case errors.As(err, &fault):
		kind = fault.Kind.String()
	case errors.As(err, &large):
		kind = abi.FaultTooLarge.String()
	default:
		return err
	}
	if kind != p.v.Fault || !strings.Contains(err.Error(), p.v.Message) {
		return wrong(noOp, "it must end in the fault %s: %s; it was: %v", p.v.Fault, p.v.Message, err)
	}
	return nil
}
