package conform

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Guest performs frames; the first one opens the function.
type Guest interface {
	// Perform returns the effects, and the frame as it is after the call. owners are whose states each op has.
	Perform(function uint32, frame []byte, owners []Owner) (effects, after []byte, err error)
	// Entries is what a list or map state of an owner holds, in order; without a key those of a list.
	Entries(owner, state int) [][2][]byte
}

// Problem is what is not as a vector has it.
type Problem struct {
	Frame int
	Op    int // in the frame; -1: it is in none
	Text  string
}

// Error tells frame, op and what is wrong.
func (p *Problem) Error() string {
	if p.Op < 0 {
		return fmt.Sprintf("frame %d: %s", p.Frame, p.Text)
	}
	return fmt.Sprintf("frame %d, op %d: %s", p.Frame, p.Op, p.Text)
}

// noOp is the op of a problem that is in none.
const noOp = -1

func wrong(op int, format string, args ...any) error {
	return &Problem{Op: op, Text: fmt.Sprintf(format, args...)}
}

// player plays a vector.
type player struct {
	rows   Rows
	g      Guest
	f      *Frame
	header abi.Header
	as     Arrangement
	held   map[int][]byte // by cell, what slots were left as
}

// Play performs the frames. If the vector says that the last one ends in a fault, fault is the error that it ended
// with, for the caller to judge; err is what was not as it must be, a *Problem.
func (v *Vector) Play(g Guest) (fault, err error) { return v.PlayAs(g, Usual) }

// PlayAs is Play with frames that are laid out so; vectors for hosts have the usual
// arrangement only.
func (v *Vector) PlayAs(g Guest, as Arrangement) (fault, err error) {
	p := v.player(g, as)
	for n := range v.Frames {
		p.f = &v.Frames[n]
		frame, err := p.begin()
		if err != nil {
			return nil, fmt.Errorf("conform: vector %q: %w", v.Name, err)
		}
		effects, after, err := g.Perform(v.Function, frame, p.f.owners())
		if v.Fault != "" && n == len(v.Frames)-1 {
			return err, nil
		}
		if err != nil {
			err = wrong(p.onlyOp(), "it ended in a fault: %v", err)
		} else {
			err = p.end(effects, after)
		}
		var problem *Problem
		if errors.As(err, &problem) {
			problem.Frame = n
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (v *Vector) player(g Guest, as Arrangement) *player {
	p := &player{g: g, held: map[int][]byte{}, as: as}
	if v.rows != nil {
		p.rows = *v.rows
		p.rows.outputs = slices.Clone(p.rows.outputs)
	}
	return p
}

// Walk performs the frames as they are and compares nothing: answers need only be effects, their rows those of the
// function's outputs, and slots rows of their schemas. An error is a *Problem, or what the guest ended with.
func (v *Vector) Walk(g Guest) error {
	p := v.player(g, Usual)
	for n := range v.Frames {
		p.f = &v.Frames[n]
		frame, err := p.begin()
		if err != nil {
			return fmt.Errorf("conform: vector %q: %w", v.Name, err)
		}
		effects, after, err := g.Perform(v.Function, frame, p.f.owners())
		if err != nil {
			return err
		}
		if err = p.sound(effects); err == nil {
			err = p.settle(effects, after)
		}
		var problem *Problem
		if errors.As(err, &problem) {
			problem.Frame = n
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// onlyOp is the op of a frame that has no other: what goes wrong in its call is its fault.
func (p *player) onlyOp() int {
	if p.header.Ops == 1 {
		return 0
	}
	return noOp
}

// sound looks at effects that are compared with nothing.
func (p *player) sound(effects []byte) error {
	list := abi.ReadEffects(effects, int(p.header.Ops))
	for e, ok := list.Next(); ok; e, ok = list.Next() {
		switch e.Kind {
		case abi.EffectSchema:
			if err := p.rows.answered(&e); err != nil {
				return err
			}
		case abi.EffectEmit:
			if int(e.Aux) >= len(p.rows.outputs) {
				return wrong(int(e.Op), "a row for output %d, of %d", e.Aux, len(p.rows.outputs))
			}
			if err := stream.CheckExact(p.rows.outputs[e.Aux], e.Payload); err != nil {
				return wrong(int(e.Op), "a row for output %d that is none of %s: %v", e.Aux, p.rows.outputs[e.Aux], err)
			}
		}
	}
	if err := list.Err(); err != nil {
		return wrong(noOp, "its effects are none: %v", err)
	}
	return nil
}

// begin is the frame, with its slots as those of the same cells were left.
func (p *player) begin() ([]byte, error) {
	frame := bytes.Clone(p.f.Frame)
	h, err := abi.ReadHeader(frame)
	if err != nil {
		return nil, err
	}
	if len(p.f.Cells) > int(h.Slots) {
		return nil, fmt.Errorf("%d cells and %d slots", len(p.f.Cells), h.Slots)
	}
	for slot, cell := range p.f.Cells {
		content, was := p.held[cell]
		if !was {
			continue
		}
		if h.Stride != 0 {
			copy(frame[h.SlotsOffset+uint32(slot)*h.Stride:][:h.Stride], content)
			continue
		}
		abi.PutSlotEntry(frame, int(h.SlotsOffset)+slot*abi.SlotEntryBytes, uint32(len(frame)), uint32(len(content)))
		frame = append(frame, content...)
	}
	h.Total = uint32(len(frame))
	abi.PutHeader(frame, h)
	if p.as == Reversed {
		var slots []uint32
		if frame, slots, err = p.rows.Part(frame, 0, int(h.Ops), Reversed); err != nil {
			return nil, err
		}
		if len(slots) != int(h.Slots) {
			return nil, fmt.Errorf("ops name %d of %d slots", len(slots), h.Slots)
		}
	}
	p.header, err = abi.ReadHeader(frame)
	return frame, err
}

// end checks what a frame was answered.
func (p *player) end(effects, after []byte) error {
	if err := p.compare(effects); err != nil {
		return err
	}
	if err := p.settle(effects, after); err != nil {
		return err
	}
	return p.holds()
}

// settle keeps what slots were left as.
func (p *player) settle(effects, after []byte) error {
	for slot, cell := range p.f.Cells {
		if h := &p.header; h.Stride != 0 {
			content := after[h.SlotsOffset+uint32(slot)*h.Stride:][:h.Stride]
			if err := p.keep(p.onlyOp(), slot, cell, content); err != nil {
				return err
			}
		}
	}
	list := abi.ReadEffects(effects, int(p.header.Ops))
	for e, ok := list.Next(); ok; e, ok = list.Next() {
		if e.Kind != abi.EffectSetSlot {
			continue
		}
		if int(e.Aux) >= len(p.f.Cells) || p.header.Stride != 0 {
			return wrong(int(e.Op), "a set-slot of slot %d, of %d with a stride of %d", e.Aux, len(p.f.Cells), p.header.Stride)
		}
		if err := p.keep(int(e.Op), int(e.Aux), p.f.Cells[e.Aux], e.Payload); err != nil {
			return err
		}
	}
	return nil
}

// keep takes over what a slot was left as, if that is a row.
func (p *player) keep(op, slot, cell int, content []byte) error {
	p.held[cell] = bytes.Clone(content)
	if len(p.rows.slots) == 0 || present(content) == nil {
		return nil
	}
	schema, row, rest := p.rows.slots[slot%len(p.rows.slots)], content, []byte(nil)
	if p.header.Stride != 0 {
		row, rest = content[:schema.FixedBytes()], content[schema.FixedBytes():]
	}
	if err := stream.CheckExact(schema, row); err != nil {
		return wrong(op, "slot %d was left as no row of %s: %v", slot, schema, err)
	}
	if !allZero(rest) {
		return wrong(op, "slot %d was written to behind its row of %s", slot, schema)
	}
	return nil
}

// present is a cell's content, nil if it holds no value.
func present(content []byte) []byte {
	const absent = 3
	if len(content) == 0 || content[0] == absent && allZero(content[1:]) {
		return nil
	}
	return content
}

func allZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }
