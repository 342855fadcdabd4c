package cases

import "encoding/binary"

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
