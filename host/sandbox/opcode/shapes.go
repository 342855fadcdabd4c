package opcode

import "fmt"

// Opcodes that control flow, or that their reader has to tell apart.
const (
	Unreachable  = 0x00
	Nop          = 0x01
	Block        = 0x02
	Loop         = 0x03
	If           = 0x04
	Else         = 0x05
	End          = 0x0b
	Br           = 0x0c
	BrIf         = 0x0d
	BrTable      = 0x0e
	Return       = 0x0f
	Call         = 0x10
	CallIndirect = 0x11
	LocalGet     = 0x20
	LocalSet     = 0x21
	LocalTee     = 0x22
	GlobalGet    = 0x23
	GlobalSet    = 0x24
	MemoryGrow   = 0x40
	Misc         = 0xfc
)

// What follows Misc and takes a time that depends on an operand, and its relatives.
const (
	MemoryInit = 8
	DataDrop   = 9
	MemoryCopy = 10
	MemoryFill = 11
	TableInit  = 12
	ElemDrop   = 13
	TableCopy  = 14
)

// shape is what follows an opcode.
type shape byte

const (
	shapeUnknown shape = iota // no such instruction
	shapeOff                  // one of a feature that is off
	shapeNone
	shapeIndex
	shapeBlock
	shapeTable  // the labels of a br_table
	shapePair   // two indices
	shapeMemory // alignment and offset
	shapeI32
	shapeI64
	shapeF32
	shapeF64
	shapeMisc // a second opcode
)

var shapes = makeShapes()

func makeShapes() (s [256]shape) {
	fill := func(what shape, from, to int) {
		for op := from; op <= to; op++ {
			s[op] = what
		}
	}
	fill(shapeNone, 0x00, 0x01)
	fill(shapeBlock, 0x02, 0x04)
	s[Else], s[End], s[Return] = shapeNone, shapeNone, shapeNone
	fill(shapeIndex, Br, BrIf)
	s[BrTable], s[Call], s[CallIndirect] = shapeTable, shapeIndex, shapePair
	fill(shapeNone, 0x1a, 0x1b) // drop, select
	fill(shapeIndex, LocalGet, GlobalSet)
	fill(shapeMemory, 0x28, 0x3e)
	fill(shapeIndex, 0x3f, MemoryGrow)
	s[0x41], s[0x42], s[0x43], s[0x44] = shapeI32, shapeI64, shapeF32, shapeF64
	fill(shapeNone, 0x45, 0xc4)
	s[Misc] = shapeMisc
	for _, f := range offFeatures {
		fill(shapeOff, f.from, f.to)
	}
	return s
}

// offFeatures are the opcodes of features that are off.
var offFeatures = []struct {
	from, to int
	name     string
}{
	{0x06, 0x0a, "exceptions"}, {0x18, 0x19, "exceptions"}, {0x1f, 0x1f, "exceptions"},
	{0x12, 0x13, "tail calls"}, {0x14, 0x15, "typed function references"},
	{0x1c, 0x1c, "reference types (a select with a type)"}, {0x25, 0x26, "reference types (table.get, table.set)"},
	{0xd0, 0xd6, "reference types"}, {0xfb, 0xfb, "garbage collection"}, {0xfd, 0xfd, "SIMD"}, {0xfe, 0xfe, "threads"},
}

// refusal says why an opcode is not taken.
func refusal(op byte) string {
	for _, f := range offFeatures {
		if int(op) >= f.from && int(op) <= f.to {
			return fmt.Sprintf("it uses %s (instruction 0x%02x), which this host does not support; build without", f.name, op)
		}
	}
	return fmt.Sprintf("there is no instruction 0x%02x", op)
}
