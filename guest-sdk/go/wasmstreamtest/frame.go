package wasmstreamtest

import (
	"encoding/binary"
	"testing"

	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
)

var le = binary.LittleEndian

// call plays a frame, takes back the slots and returns the rows emitted, by op.
func call(t *testing.T, function uint32, accumulator schema, slots [][]byte, steps []step) map[int][]byte {
	t.Helper()
	text := layOut(accumulator, slots, steps)
	frame := raw.Guest.In(uint32(len(text)))
	if frame == nil {
		t.Fatalf("a frame of %d bytes is too large", len(text))
	}
	copy(frame, text)
	effects, fits := raw.Guest.Call(function, frame)
	if !fits {
		t.Fatal("the effects are too large")
	}
	if !accumulator.variable() {
		at := le.Uint32(frame[raw.HeaderAtSlotsOffset:])
		for i := range slots {
			at += uint32(copy(slots[i], frame[at:]))
		}
	}
	emits := map[int][]byte{}
	for len(effects) > 0 {
		kind, op := le.Uint32(effects), int(le.Uint32(effects[raw.EffectAtOp:]))
		length, aux := le.Uint32(effects[raw.EffectAtLength:]), le.Uint32(effects[raw.EffectAtAux:])
		payload := append([]byte(nil), effects[raw.EffectBytes:raw.EffectBytes+length]...)
		effects = effects[raw.EffectBytes+(length+7)&^7:]
		switch {
		case kind == raw.EffectSetSlot && accumulator.variable():
			slots[aux] = payload
		case kind == raw.EffectEmit && steps[op].op == raw.OpResult && emits[op] == nil:
			emits[op] = payload
		default:
			t.Fatalf("line %d: an effect of kind %d that it may not have", steps[op].line, kind)
		}
	}
	return emits
}

// layOut makes a frame. A slot that is created in it begins as zeros.
func layOut(accumulator schema, slots [][]byte, steps []step) []byte {
	for _, s := range steps {
		if s.op == raw.OpCreate {
			slots[s.slot] = make([]byte, fixedBytes(accumulator))
		}
	}
	header := make([]byte, raw.HeaderBytes)
	slotsAt := raw.HeaderBytes + len(steps)*raw.OpBytes
	stride, rowsAt := fixedBytes(accumulator), slotsAt+len(slots)*fixedBytes(accumulator)
	if accumulator.variable() {
		stride, rowsAt = 0, slotsAt+len(slots)*raw.SlotEntryBytes
	}
	var area, rows []byte
	for _, s := range slots {
		if stride == 0 {
			area = le.AppendUint32(area, uint32(rowsAt+len(rows)))
			area = le.AppendUint32(area, uint32(len(s)))
			rows = append(rows, s...)
		} else {
			area = append(area, s...)
		}
	}
	frame := header
	for _, s := range steps {
		row := uint32(0)
		if s.row != nil {
			row = uint32(rowsAt + len(rows))
			rows = append(rows, s.row...)
		}
		frame = le.AppendUint16(frame, uint16(s.op))
		frame = le.AppendUint16(frame, 0)
		frame = le.AppendUint32(frame, uint32(s.slot))
		frame = le.AppendUint32(frame, row)
		frame = le.AppendUint32(frame, uint32(s.second))
	}
	frame = append(append(frame, area...), rows...)
	for at, v := range map[int]int{
		raw.HeaderAtVersion: raw.Version, raw.HeaderAtOpsCount: len(steps), raw.HeaderAtOpsOffset: raw.HeaderBytes,
		raw.HeaderAtSlotsOffset: slotsAt, raw.HeaderAtSlotsCount: len(slots), raw.HeaderAtSlotStride: stride,
		raw.HeaderAtRowsOffset: rowsAt, raw.HeaderAtRowsLength: len(rows), raw.HeaderAtContextsOffset: len(frame),
		raw.HeaderAtTotalLength: len(frame),
	} {
		le.PutUint32(frame[at:], uint32(v))
	}
	return frame
}
