//go:build !wasip1

package wasmstream_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	wasmstream "github.com/wasmstream/wasmstream/guest-sdk/go"
	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
)

// texts are the columns of what mixer takes and makes.
var texts = [3]wasmstream.String{0, 1, 2}

// mix is what mixer does with a record.
var mix func(in, out wasmstream.Row)

const mixerIndex = 3 // among the registered

func mixer() *wasmstream.Map {
	columns := wasmstream.Columns{texts[0].As("a"), texts[1].As("b"), texts[2].As("c")}
	return &wasmstream.Map{Name: "mixer", Input: columns, Output: columns, Map: func(_ *wasmstream.Op, in, out wasmstream.Row) { mix(in, out) }}
}

// text is a value, or none.
type text struct {
	value string
	null  bool
}

// rowOf is what a row of texts has to be.
func rowOf(values [3]text) []byte {
	le := binary.LittleEndian
	row := make([]byte, 8+8*len(values))
	for c, v := range values {
		switch field := row[8+8*c:][:8]; {
		case v.null:
			row[1] |= 1 << c
		case len(v.value) <= 7:
			copy(field, v.value)
			field[7] = 0x80 | byte(len(v.value))
		default:
			le.PutUint64(field, uint64(len(row))<<32|uint64(len(v.value)))
			row = append(row, v.value...)
			row = append(row, make([]byte, -len(row)&7)...)
		}
	}
	return row
}

// TestTextsInAnyOrder: a row has one form, in whatever order its texts are set, copied, made null and set again.
func TestTextsInAnyOrder(t *testing.T) {
	lengths := []int{0, 1, 7, 8, 9, 15, 16, 17, 24, 25, 63, 64, 72, 80, 81, 88, 200, 5000}
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 1))
		any := func() text {
			return text{strings.Repeat(string('a'+rune(random.IntN(26))), lengths[random.IntN(len(lengths))]), random.IntN(6) == 0}
		}
		var rows [][]byte
		var ins [][3]text
		for range 1 + random.IntN(6) {
			ins = append(ins, [3]text{any(), any(), any()})
			rows = append(rows, rowOf(ins[len(ins)-1]))
		}
		if seed%8 == 0 {
			// A call that ended in a panic leaves no room behind it: the next one has to make some as it goes.
			mix = func(_, _ wasmstream.Row) { panic("as asked") }
			_ = panicOf(func() { raw.Guest.Call(mixerIndex, frameOfRows(rows)) })
		}
		var want []byte
		op := 0
		mix = func(in, out wasmstream.Row) {
			// A row begins as zeros without nulls: a text that nothing is done to is one of offset and length 0.
			order := random.Perm(3)
			var made [3]text
			for _, c := range append(order, order[:random.IntN(3)]...) {
				switch of := random.IntN(3); random.IntN(4) {
				case 0:
					made[c] = any()
					made[c].null = false
					texts[c].Set(out, made[c].value)
				case 1:
					made[c] = text{null: true}
					texts[c].SetNull(out)
				default:
					made[c] = ins[op][of]
					texts[c].Copy(out, texts[of], in)
				}
			}
			row := rowOf(made)
			want = binary.LittleEndian.AppendUint64(want, uint64(raw.EffectEmit)|uint64(op)<<32)
			want = binary.LittleEndian.AppendUint64(want, uint64(len(row)))
			want = append(want, row...)
			op++
		}
		got, fits := raw.Guest.Call(mixerIndex, frameOfRows(rows))
		if !fits || !bytes.Equal(got, want) {
			t.Fatalf("seed %d: %v, of %v got\n%q, want\n%q", seed, fits, ins, got, want)
		}
	}
}

// frameOfRows lays out records, one op for each.
func frameOfRows(rows [][]byte) []byte {
	le := binary.LittleEndian
	at := raw.HeaderBytes + len(rows)*raw.OpBytes
	all := bytes.Join(rows, nil)
	frame := raw.Guest.In(uint32(at + len(all)))
	clear(frame)
	for field, v := range map[int]int{
		raw.HeaderAtOpsCount: len(rows), raw.HeaderAtOpsOffset: raw.HeaderBytes, raw.HeaderAtSlotsOffset: at,
		raw.HeaderAtRowsOffset: at, raw.HeaderAtRowsLength: len(all), raw.HeaderAtTotalLength: len(frame),
	} {
		le.PutUint32(frame[field:], uint32(v))
	}
	copy(frame[at:], all)
	for k, row := range rows {
		le.PutUint16(frame[raw.HeaderBytes+k*raw.OpBytes:], raw.OpOnRecord)
		le.PutUint32(frame[raw.HeaderBytes+k*raw.OpBytes+raw.OpAtRow:], uint32(at))
		at += len(row)
	}
	return frame
}
