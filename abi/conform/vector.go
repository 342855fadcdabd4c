// Package conform plays test vectors on a guest, whatever holds it: a host's sandbox, or a native build. A vector is
// frames and what must be answered; abi/README.md describes the files.
//
// What must be equal: effects byte for byte, but set-slot and touch, whose place among the others is the guest's choice;
// and what states hold after a frame.
package conform

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/wasmstream/wasmstream/abi"
)

// File is a file of vectors.
type File struct {
	Vectors []Vector `json:"vectors"`
}

// Vector is frames for one new instance.
type Vector struct {
	Name     string   `json:"name"`
	Modules  []string `json:"modules"`
	Function uint32   `json:"function"`
	Frames   []Frame  `json:"frames"`
	// Refused: the module is refused before any frame. Fault, Message: how the last frame ends.
	Refused bool   `json:"refused"`
	Fault   string `json:"fault"`
	Message string `json:"message"`
}

// Frame is a frame and what it must be answered.
type Frame struct {
	Frame   hexBytes `json:"frame"`
	Cells   []int    `json:"cells"`
	Owners  []int    `json:"owners"`
	Effects hexBytes `json:"effects"`
	Holds   []Held   `json:"holds"`
}

// Held is what a state must hold: of a slot by its cell, of a list or map by its owner.
type Held struct {
	Cell    *int          `json:"cell"`
	Owner   int           `json:"owner"`
	State   int           `json:"state"`
	Entries [][2]hexBytes `json:"entries"`
}

// hexBytes are written in hex.
type hexBytes []byte

// UnmarshalText reads hex.
func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// Read reads a file of vectors.
func Read(text []byte) (File, error) {
	var f File
	if err := json.Unmarshal(text, &f); err != nil {
		return f, fmt.Errorf("conform: %w", err)
	}
	return f, nil
}

// Guest performs frames; the first one opens the function.
type Guest interface {
	// Perform returns the effects, and the frame as it is after the call. owners are whose states each op has.
	Perform(function uint32, frame []byte, owners []int) (effects, after []byte, err error)
	// Entries is what a list or map state of an owner holds, in order; without a key those of a list.
	Entries(owner, state int) [][2][]byte
}

// Play performs the frames. If the vector says that the last one ends in a fault, fault is the error that it ended
// with, for the caller to judge; err is what was not as it must be.
func (v *Vector) Play(g Guest) (fault, err error) {
	held := map[int][]byte{}
	for n := range v.Frames {
		f := &v.Frames[n]
		frame, h, err := f.begin(held)
		if err != nil {
			return nil, fmt.Errorf("frame %d: %w", n, err)
		}
		effects, after, err := g.Perform(v.Function, frame, f.Owners)
		if v.Fault != "" && n == len(v.Frames)-1 {
			return err, nil
		}
		if err == nil {
			err = f.end(h, effects, after, held)
		}
		if err == nil {
			err = f.holds(g, held)
		}
		if err != nil {
			return nil, fmt.Errorf("frame %d: %w", n, err)
		}
	}
	return nil, nil
}

// begin is the frame, with its slots as those of the same cells were left.
func (f *Frame) begin(held map[int][]byte) ([]byte, abi.Header, error) {
	frame := bytes.Clone(f.Frame)
	h, err := abi.ReadHeader(frame)
	if err != nil {
		return nil, h, err
	}
	for slot, cell := range f.Cells {
		content, was := held[cell]
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
	return frame, h, nil
}

// end checks effects, and keeps what slots were left as.
func (f *Frame) end(h abi.Header, effects, after []byte, held map[int][]byte) error {
	var rest []byte
	list := abi.ReadEffects(effects, int(h.Ops))
	at := 0
	for e, ok := list.Next(); ok; e, ok = list.Next() {
		size := abi.EffectBytes + abi.Align(len(e.Payload))
		switch {
		case e.Kind == abi.EffectSetSlot && (int(e.Aux) >= len(f.Cells) || h.Stride != 0):
			return fmt.Errorf("a set-slot of slot %d, of %d with a stride of %d", e.Aux, len(f.Cells), h.Stride)
		case e.Kind == abi.EffectSetSlot:
			held[f.Cells[e.Aux]] = bytes.Clone(e.Payload)
		case e.Kind != abi.EffectTouch:
			rest = append(rest, effects[at:at+size]...)
		}
		at += size
	}
	if err := list.Err(); err != nil {
		return err
	}
	if !bytes.Equal(rest, f.Effects) {
		return fmt.Errorf("got effects %x, want %x", rest, []byte(f.Effects))
	}
	for slot, cell := range f.Cells {
		if h.Stride != 0 {
			held[cell] = bytes.Clone(after[h.SlotsOffset+uint32(slot)*h.Stride:][:h.Stride])
		}
	}
	return nil
}

// holds checks states.
func (f *Frame) holds(g Guest, held map[int][]byte) error {
	for _, want := range f.Holds {
		var got [][2][]byte
		if want.Cell == nil {
			got = g.Entries(want.Owner, want.State)
		} else if content := present(held[*want.Cell]); content != nil {
			got = [][2][]byte{{nil, content}}
		}
		if len(got) != len(want.Entries) {
			return fmt.Errorf("state %d (cell %v) holds %d entries, want %d: %x", want.State, want.Cell, len(got), len(want.Entries), got)
		}
		for i, w := range want.Entries {
			value := got[i][1]
			if want.Cell != nil && len(value) > len(w[1]) && allZero(value[len(w[1]):]) {
				value = value[:len(w[1])] // narrower than the stride
			}
			if want.State >= 0 && len(w[0]) > 0 && !bytes.Equal(got[i][0], w[0]) || !bytes.Equal(value, w[1]) {
				return fmt.Errorf("state %d holds %x, want %x", want.State, got[i], w)
			}
		}
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

func allZero(b []byte) bool {
	for len(b) >= 8 {
		if binary.LittleEndian.Uint64(b) != 0 {
			return false
		}
		b = b[8:]
	}
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}
