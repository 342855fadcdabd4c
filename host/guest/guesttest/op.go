package guesttest

import (
	"fmt"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Op is an op as a function sees it.
type Op struct {
	Index int
	Kind  abi.OpKind
	Slot  uint32
	Row   stream.Row // nil: none. It may be longer than the row is
	Arg   uint32
	frame *Frame
}

func (o *Op) read(f *Frame, i int) {
	x := abi.ReadOp(f.Bytes, int(f.header.OpsOffset)+i*abi.OpBytes)
	*o = Op{Index: i, Kind: x.Kind, Slot: x.Slot, Row: f.row(x.Row), Arg: x.Arg, frame: f}
}

// Frame is the whole frame.
func (o *Op) Frame() *Frame { return o.frame }

// Fail ends the call.
func (o *Op) Fail(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }

// Time, Watermark and Clock are the context's.
func (o *Op) Time() int64 { return o.frame.i64(o.Arg + abi.ContextAtTime) }

// Watermark is the context's.
func (o *Op) Watermark() int64 { return o.frame.i64(o.Arg + abi.ContextAtWatermark) }

// Clock is the context's.
func (o *Op) Clock() int64 { return o.frame.i64(o.Arg + abi.ContextAtClock) }

// Key is the context's, nil if it has none.
func (o *Op) Key() stream.Row { return o.frame.row(o.frame.u32(o.Arg + abi.ContextAtKey)) }

// Detail is the context's.
func (o *Op) Detail() uint32 { return o.frame.u32(o.Arg + abi.ContextAtDetail) }

// Window is the context's.
func (o *Op) Window() (start, end int64) {
	return o.frame.i64(o.Arg + abi.ContextAtStart), o.frame.i64(o.Arg + abi.ContextAtEnd)
}

// Second is the context's, nil if it has none.
func (o *Op) Second() stream.Row { return o.frame.row(o.frame.u32(o.Arg + abi.ContextAtSecond)) }

// Len is how many elements, or merged slots, the context has.
func (o *Op) Len() int { return int(o.frame.u32(o.Arg + abi.ContextAtCount)) }

// Element is one of the context's list.
func (o *Op) Element(i int) (time int64, row stream.Row, input uint32) {
	at := o.frame.u32(o.Arg+abi.ContextAtList) + uint32(i)*abi.ElementBytes
	return o.frame.i64(at + abi.ElementAtTime), o.frame.row(o.frame.u32(at + abi.ElementAtRow)), o.frame.u32(at + abi.ElementAtInput)
}

// Merged is the first slot of a window that was merged.
func (o *Op) Merged(i int) uint32 {
	return o.frame.u32(o.frame.u32(o.Arg+abi.ContextAtList) + 4*uint32(i))
}

// State is what state i of the op holds, or with slot 0 its accumulator; nil: nothing.
func (o *Op) State(i int) stream.Row { return o.StateAt(o.Slot + uint32(i)) }

// StateAt is what a slot of the frame holds; nil: nothing.
func (o *Op) StateAt(slot uint32) stream.Row {
	row := o.frame.slot(slot)
	if len(row) == 0 || row[0] == 3 {
		return nil
	}
	return row
}

// SetState gives a state another value: in place where slots are of fixed width, else by
// set-slot. A nil row: it holds nothing.
func (o *Op) SetState(i int, row stream.Row) {
	slot, f := o.Slot+uint32(i), o.frame
	if f.header.Stride > 0 {
		to := f.Bytes[f.header.SlotsOffset+slot*f.header.Stride:][:f.header.Stride]
		clear(to)
		if row == nil {
			to[0] = 3
		}
		copy(to, row)
		return
	}
	if f.set == nil {
		f.set = map[uint32]stream.Row{}
	}
	f.set[slot] = append(stream.Row(nil), row...)
	o.Effect(abi.EffectSetSlot, slot, row)
}

// Emit puts a row out.
func (o *Op) Emit(output uint32, row stream.Row) { o.Effect(abi.EffectEmit, output, row) }

// Effect answers the op.
func (o *Op) Effect(kind abi.EffectKind, aux uint32, payload []byte) {
	o.frame.Effect(kind, uint32(o.Index), aux, payload)
}

// SetTimer and DeleteTimer answer the op.
func (o *Op) SetTimer(domain uint32, time int64) { o.int64s(abi.EffectSetTimer, domain, time) }

// DeleteTimer takes a timer away.
func (o *Op) DeleteTimer(domain uint32, time int64) { o.int64s(abi.EffectDeleteTimer, domain, time) }

// EventTime says what the record's time is.
func (o *Op) EventTime(time int64) { o.int64s(abi.EffectEventTime, 0, time) }

// PutWatermark puts one behind the record.
func (o *Op) PutWatermark(time int64) { o.int64s(abi.EffectWatermark, 0, time) }

// Assign says that the record belongs to a window.
func (o *Op) Assign(start, end int64) { o.int64s(abi.EffectAssign, 0, start, end) }

func (o *Op) int64s(kind abi.EffectKind, aux uint32, values ...int64) {
	var b [16]byte
	for i, v := range values {
		for n := range 8 {
			b[8*i+n] = byte(v >> (8 * n))
		}
	}
	o.Effect(kind, aux, b[:8*len(values)])
}

// Schemas are the texts that an opening carries for a function whose input is any.
func (o *Op) Schemas() (texts []string) {
	if o.Arg == 0 {
		return nil
	}
	h := o.frame.header
	for at := o.Arg; at < h.ContextsOffset+h.ContextsLength; {
		length := o.frame.u32(at)
		texts = append(texts, string(o.frame.Bytes[at+4:at+4+length]))
		at += uint32(abi.Align(int(4 + length)))
	}
	return texts
}
