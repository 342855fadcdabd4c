package wasmstreamtest

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/cases"
	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
)

var le = binary.LittleEndian

// playVector performs the frames. If the vector says that the last one ends in a fault, fault is the error that it ended
// with, for the caller to judge; err is what was not as it must be.
func playVector(v *cases.Vector, g *native) (fault, err error) {
	held := map[int][]byte{}
	for n := range v.Frames {
		f := &v.Frames[n]
		frame, h, err := begin(f, held)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where(f, n), err)
		}
		effects, after, err := g.Perform(v.Function, frame, f)
		if v.Fault != "" && n == len(v.Frames)-1 {
			return err, nil
		}
		if err == nil {
			err = end(f, h, effects, after, held)
		}
		if err == nil {
			err = holds(f, g, held)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where(f, n), err)
		}
	}
	return nil, nil
}

func where(f *cases.Frame, n int) string {
	if f.Line > 0 {
		return fmt.Sprintf("line %d, %s", f.Line, f.Ops[0])
	}
	return fmt.Sprintf("frame %d", n)
}

// begin is the frame, with its slots as those of the same cells were left.
func begin(f *cases.Frame, held map[int][]byte) ([]byte, header, error) {
	frame := bytes.Clone(f.Frame)
	h, err := readHeader(frame)
	if err != nil {
		return nil, h, err
	}
	for slot, cell := range f.Cells {
		content, was := held[cell]
		if !was {
			continue
		}
		if h.stride != 0 {
			copy(frame[h.slotsOffset+uint32(slot)*h.stride:][:h.stride], content)
			continue
		}
		entry := frame[int(h.slotsOffset)+slot*raw.SlotEntryBytes:]
		le.PutUint32(entry, uint32(len(frame)))
		le.PutUint32(entry[4:], uint32(len(content)))
		frame = append(frame, content...)
	}
	le.PutUint32(frame[raw.HeaderAtTotalLength:], uint32(len(frame)))
	return frame, h, nil
}

// end checks effects, and keeps what slots were left as.
func end(f *cases.Frame, h header, effects, after []byte, held map[int][]byte) error {
	var rest []byte
	list, err := readEffects(effects, h.ops)
	if err != nil {
		return err
	}
	for _, e := range list {
		switch {
		case e.kind == raw.EffectSetSlot && (int(e.aux) >= len(f.Cells) || h.stride != 0):
			return fmt.Errorf("a set-slot of slot %d, of %d with a stride of %d", e.aux, len(f.Cells), h.stride)
		case e.kind == raw.EffectSetSlot:
			held[f.Cells[e.aux]] = bytes.Clone(e.payload)
		case e.kind != raw.EffectTouch:
			rest = append(rest, e.whole...)
		}
	}
	if !bytes.Equal(rest, f.Effects) {
		return fmt.Errorf("got effects %x, want %x", rest, []byte(f.Effects))
	}
	for slot, cell := range f.Cells {
		if h.stride != 0 {
			held[cell] = bytes.Clone(after[h.slotsOffset+uint32(slot)*h.stride:][:h.stride])
		}
	}
	return nil
}

// holds checks states.
func holds(f *cases.Frame, g *native, held map[int][]byte) error {
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
			if len(w[0]) > 0 && !bytes.Equal(got[i][0], w[0]) || !bytes.Equal(value, w[1]) {
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

func allZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// header is what is needed of a frame's header.
type header struct{ ops, slotsOffset, stride uint32 }

func readHeader(frame []byte) (header, error) {
	if len(frame) < raw.HeaderBytes || le.Uint32(frame[raw.HeaderAtVersion:]) != raw.Version || int(le.Uint32(frame[raw.HeaderAtTotalLength:])) != len(frame) {
		return header{}, fmt.Errorf("a frame of %d bytes whose header is of another version or length", len(frame))
	}
	return header{ops: le.Uint32(frame[raw.HeaderAtOpsCount:]), slotsOffset: le.Uint32(frame[raw.HeaderAtSlotsOffset:]), stride: le.Uint32(frame[raw.HeaderAtSlotStride:])}, nil
}

// gotEffect is an effect that a guest answered, with its bytes.
type gotEffect struct {
	kind, aux      uint32
	payload, whole []byte
}

// readEffects splits effects; those that are not well formed are an error.
func readEffects(b []byte, ops uint32) (list []gotEffect, err error) {
	last := uint32(0)
	for len(b) > 0 {
		if len(b) < raw.EffectBytes {
			return nil, fmt.Errorf("%d bytes behind the last effect", len(b))
		}
		op, length := le.Uint32(b[4:]), int(le.Uint32(b[8:]))
		if op >= ops || op < last {
			return nil, fmt.Errorf("an effect of op %d of %d, after op %d", op, ops, last)
		}
		if length < 0 || raw.EffectBytes+align(length) > len(b) {
			return nil, fmt.Errorf("an effect of %d bytes, where there are %d", length, len(b))
		}
		last = op
		whole := b[:raw.EffectBytes+align(length)]
		list = append(list, gotEffect{kind: le.Uint32(b), aux: le.Uint32(b[12:]), payload: whole[raw.EffectBytes : raw.EffectBytes+length], whole: whole})
		b = b[len(whole):]
	}
	return list, nil
}

func align(n int) int { return (n + 7) &^ 7 }

func padded(b []byte) []byte { return append(b, make([]byte, align(len(b))-len(b))...) }
