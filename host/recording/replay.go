package recording

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/abi/conform"
	"github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/sandbox"
)

// Difference is how a call went this time, where that is not as it was recorded.
type Difference struct {
	Step     string `json:"step"`
	Function string `json:"function"` // module.function
	Instance int    `json:"instance"`
	Call     uint64 `json:"call"`
	// Was and Is are how the call ended, if that differs; empty: it did not.
	Was string `json:"was,omitempty"`
	Is  string `json:"is,omitempty"`
	// Parts are the ops and slots that differ.
	Parts []Part `json:"parts,omitempty"`
}

// Part is an op, or a slot after all ops, that differs. Of what an op did, the first and the last are left out that are
// the same.
type Part struct {
	Op   *int     `json:"op,omitempty"`
	Slot *int     `json:"slot,omitempty"`
	Of   string   `json:"of,omitempty"`    // what the slot is of
	Ask  string   `json:"asked,omitempty"` // what the op was
	Was  []string `json:"was"`
	Is   []string `json:"is"`
}

// Player replays the calls of a function on an instance.
type Player struct {
	f        *Function
	i        guest.Instance
	index    uint32
	was, is  *conform.Rows
	answers  answers
	frame    []byte // of the call at hand, as it is now
	restarts bool   // the instance died at the call before
}

// NewPlayer opens the function, which has that index in the instance's module, as it was
// opened when it was recorded. A Difference tells of another answer to that.
func NewPlayer(f *Function, i guest.Instance, index uint32, now *abi.Function) (*Player, *Difference, error) {
	then, err := f.declared()
	if err != nil {
		return nil, nil, err
	}
	if part := otherPart(then, now); part != "" {
		return nil, nil, fmt.Errorf("the %s of %s.%s is another now: its calls cannot be replayed", part, f.Module, f.Name)
	}
	p := &Player{f: f, i: i, index: index}
	if p.was, err = conform.RowsOf(then); err != nil {
		return nil, nil, err
	}
	if p.is, err = conform.RowsOf(now); err != nil {
		return nil, nil, err
	}
	if of, ok := i.(callsStates); ok {
		of.CallStates(&p.answers)
	}
	return p.open()
}

// open opens the function and compares the schemas that it answers.
func (p *Player) open() (*Player, *Difference, error) {
	if err := p.was.Opened(p.f.Open, p.f.Opened); err != nil {
		return nil, nil, fmt.Errorf("the opening of %s.%s: %w", p.f.Module, p.f.Name, err)
	}
	effects, err := p.i.Open(p.index, p.f.Open)
	if err != nil {
		return nil, nil, err
	}
	d := p.difference(&Call{})
	p.compareEffects(d, p.f.Open, p.f.Opened, effects, nil, nil)
	if err := p.is.Opened(p.f.Open, effects); err != nil {
		return nil, nil, err
	}
	return p, d.orNil(), nil
}

func (p *Player) difference(c *Call) *Difference {
	return &Difference{Step: p.f.Step, Function: p.f.Module + "." + p.f.Name, Instance: p.f.Instance, Call: c.Number}
}

func (d *Difference) orNil() *Difference {
	if d.Is == "" && len(d.Parts) == 0 {
		return nil
	}
	return d
}

// Replay makes a call again; nil: all is as it was.
func (p *Player) Replay(c *Call) (*Difference, error) {
	if p.restarts {
		if err := p.i.Rebuild(); err != nil {
			return nil, err
		}
		p.restarts = false
	}
	if _, err := abi.ReadHeader(c.Frame); err != nil {
		return nil, fmt.Errorf("call %d of %s.%s: %w", c.Number, p.f.Module, p.f.Name, err)
	}
	p.answers.begin(c)
	effects, err := p.perform(c.Frame, c.Outcome != TooLarge)
	var fault *sandbox.Fault
	p.restarts = errors.As(err, &fault)
	is, err := outcome(err)
	if err != nil {
		return nil, err
	}
	d := p.difference(c)
	was := ended(c.Outcome, c.Fault, c.Message)
	if was != is {
		d.Was, d.Is = was, is
		if p.answers.missing != "" {
			d.Is = "it asks for a state in a way that the recording has no answer to: " + p.answers.missing
		}
		return d, nil
	}
	if c.Outcome != Answered {
		return nil, nil
	}
	p.compareEffects(d, c.Frame, c.Effects, effects, c.States, p.answers.asked)
	p.compareSlots(d, c, effects)
	return d.orNil(), nil
}

// perform has a frame performed, as a host would: in halves where it, or its effects, are
// too large for the guest. What was too large before is not halved: its halves are calls
// of their own.
func (p *Player) perform(frame []byte, halves bool) (effects []byte, err error) {
	h, err := abi.ReadHeader(frame)
	if err != nil {
		return nil, err
	}
	p.frame = append(p.frame[:0], frame...)
	if !halves {
		return p.once(nil, &h, 0, int(h.Ops))
	}
	return p.part(nil, &h, 0, int(h.Ops))
}

// part performs ops from..to of the frame, and appends their effects.
func (p *Player) part(effects []byte, h *abi.Header, from, to int) ([]byte, error) {
	after, err := p.once(effects, h, from, to)
	var large *sandbox.TooLargeError
	if err == nil || !errors.As(err, &large) || to-from < 2 {
		return after, err
	}
	middle := from + (to-from)/2
	if effects, err = p.part(effects, h, from, middle); err != nil {
		return nil, err
	}
	return p.part(effects, h, middle, to)
}

// once performs ops from..to in one call. What they did to slots is there for the ops that
// follow.
func (p *Player) once(effects []byte, h *abi.Header, from, to int) ([]byte, error) {
	frame, slots := p.frame, []uint32(nil) // nil: they have the numbers that they had
	if to-from < int(h.Ops) {
		var err error
		if frame, slots, err = p.was.Part(p.frame, from, to, conform.Usual); err != nil {
			return nil, err
		}
	}
	if of, ok := p.i.(interface{ Ops(n int) }); ok {
		of.Ops(to - from) // what a call may spend follows from them
	}
	room, pointer, err := p.i.In(len(frame))
	if err != nil {
		return nil, err
	}
	copy(room, frame)
	p.answers.from = uint32(from)
	answer, err := p.i.Call(p.index, pointer, len(frame))
	if err != nil {
		return nil, err
	}
	p.takeSlots(h, slots)
	return p.takeEffects(effects, answer, h, slots, from, to), nil
}

// takeSlots takes slots of fixed width over from the frame that was performed.
func (p *Player) takeSlots(h *abi.Header, slots []uint32) {
	after := slotsOf(p.i.Frame())
	if slots == nil {
		copy(p.frame[h.SlotsOffset:], after)
		return
	}
	stride := h.Stride
	for i, s := range slots {
		if from := uint32(i) * stride; stride > 0 && int(from+stride) <= len(after) {
			copy(p.frame[h.SlotsOffset+s*stride:], after[from:from+stride])
		}
	}
}

// takeEffects appends the effects of ops from..to as effects of the whole frame, and takes
// slots of variable width over.
func (p *Player) takeEffects(effects, answer []byte, h *abi.Header, slots []uint32, from, to int) []byte {
	at := len(effects)
	effects = append(effects, answer...)
	le := binary.LittleEndian
	list := abi.ReadEffects(answer, to-from)
	for e, ok := list.Next(); ok; e, ok = list.Next() {
		slot := e.Aux
		if slots != nil && int(slot) < len(slots) {
			slot = slots[slot]
		}
		le.PutUint32(effects[at+abi.EffectAtOp:], e.Op+uint32(from))
		if e.Kind == abi.EffectSetSlot || e.Kind == abi.EffectTouch {
			le.PutUint32(effects[at+abi.EffectAtAux:], slot)
		}
		at += abi.EffectBytes + abi.Align(len(e.Payload))
		if e.Kind == abi.EffectSetSlot && h.Stride == 0 && slot < h.Slots {
			abi.PutSlotEntry(p.frame, int(h.SlotsOffset+slot*abi.SlotEntryBytes), uint32(len(p.frame)), uint32(len(e.Payload)))
			p.frame = append(p.frame, e.Payload...)
			p.frame = append(p.frame, make([]byte, abi.Align(len(e.Payload))-len(e.Payload))...)
		}
	}
	whole := *h
	whole.Total = uint32(len(p.frame))
	abi.PutHeader(p.frame, whole)
	return effects
}

// outcome says how a call ended; an error that is not the guest's doing stays one.
func outcome(err error) (string, error) {
	var fault *sandbox.Fault
	var large *sandbox.TooLargeError
	switch {
	case err == nil:
		return ended(Answered, 0, ""), nil
	case errors.As(err, &fault):
		return ended(Faulted, fault.Kind, fault.Message), nil
	case errors.As(err, &large):
		return ended(TooLarge, 0, large.Reason), nil
	}
	return "", err
}

func ended(outcome uint8, kind abi.FaultKind, message string) string {
	switch outcome {
	case Answered:
		return "answered"
	case TooLarge:
		return "too large: " + message
	}
	return "fault " + kind.String() + ": " + message
}

// otherPart names what of a function makes its frames others; "": nothing.
func otherPart(then, now *abi.Function) string {
	switch {
	case then.GetRole() != now.GetRole():
		return "role"
	case !sameInput(then.GetInput(), now.GetInput()):
		return "input"
	case !sameInput(then.GetSecondInput(), now.GetSecondInput()):
		return "second input"
	case !sameKey(then, now):
		return "key"
	case then.GetAccumulator().Text() != now.GetAccumulator().Text():
		return "accumulator"
	case len(then.GetParameters()) != len(now.GetParameters()):
		return "number of parameters"
	case len(then.GetStates()) != len(now.GetStates()):
		return "number of states"
	}
	for i, p := range then.GetParameters() {
		if q := now.GetParameters()[i]; p.GetName() != q.GetName() || p.GetType() != q.GetType() {
			return "parameter " + p.GetName()
		}
	}
	for i, s := range then.GetStates() {
		if !sameState(s, now.GetStates()[i]) {
			return "state " + s.GetName()
		}
	}
	return ""
}

func sameInput(then, now *abi.Schema) bool {
	return then.Text() == now.Text() && then.GetAny() == now.GetAny()
}

func sameState(s, t *abi.State) bool {
	return s.GetKind() == t.GetKind() && s.ScopeOrDefault() == t.ScopeOrDefault() && s.GetKey().Text() == t.GetKey().Text() && s.GetValue().Text() == t.GetValue().Text()
}

// sameKey tells whether frames have the key that a function reads now, if it reads one.
func sameKey(then, now *abi.Function) bool {
	return len(now.GetKey().GetFields()) == 0 || slices.EqualFunc(then.GetKey().GetFields(), now.GetKey().GetFields(), func(a, b *abi.Field) bool { return a.GetType() == b.GetType() })
}
