package conform

import (
	"encoding/binary"
	"fmt"
)

var le = binary.LittleEndian

func align(n int) int { return (n + 7) &^ 7 }

func padded(b []byte) []byte { return append(b, make([]byte, align(len(b))-len(b))...) }

// opFields are an op as it stands in a frame.
type opFields struct {
	kind           uint16
	slot, row, arg uint32
}

func appendOp(b []byte, o opFields) []byte {
	b = le.AppendUint16(b, o.kind)
	b = le.AppendUint16(b, 0)
	for _, v := range []uint32{o.slot, o.row, o.arg} {
		b = le.AppendUint32(b, v)
	}
	return b
}

// header is what is needed of a frame's header.
type header struct{ ops, slotsOffset, stride uint32 }

func readHeader(frame []byte) (header, error) {
	if len(frame) < headerBytes || le.Uint32(frame[atVersion:]) != version || int(le.Uint32(frame[atTotalLength:])) != len(frame) {
		return header{}, fmt.Errorf("a frame of %d bytes whose header is of another version or length", len(frame))
	}
	return header{ops: le.Uint32(frame[atOpsCount:]), slotsOffset: le.Uint32(frame[atSlotsOffset:]), stride: le.Uint32(frame[atSlotStride:])}, nil
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
		if len(b) < effectBytes {
			return nil, fmt.Errorf("%d bytes behind the last effect", len(b))
		}
		op, length := le.Uint32(b[4:]), int(le.Uint32(b[8:]))
		if op >= ops || op < last {
			return nil, fmt.Errorf("an effect of op %d of %d, after op %d", op, ops, last)
		}
		if length < 0 || effectBytes+align(length) > len(b) {
			return nil, fmt.Errorf("an effect of %d bytes, where there are %d", length, len(b))
		}
		last = op
		whole := b[:effectBytes+align(length)]
		list = append(list, gotEffect{kind: le.Uint32(b), aux: le.Uint32(b[12:]), payload: whole[effectBytes : effectBytes+length], whole: whole})
		b = b[len(whole):]
	}
	return list, nil
}
