package opcode

import "fmt"

// Error says why bytes are no code that this host takes.
type Error struct {
	// Offset is where, counted as the reader's positions are.
	Offset int
	// Reason is a sentence without a full stop.
	Reason string
	// Feature is true for code of a feature that is off; else the code is malformed.
	Feature bool
	// Truncated is true if an instruction is cut off.
	Truncated bool
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s (at byte %d)", e.Reason, e.Offset) }

// Instruction is one instruction, from At up to End.
type Instruction struct {
	// Op is the opcode, Sub what follows the prefix Misc.
	Op, Sub byte
	// Index is the first immediate that is an index: of a local, global, function,
	// type, or label; of a br_table, the greatest label.
	Index uint32
	// Block is the type of a block, loop or if.
	Block BlockType
	// Targets counts the labels of a br_table, the default not among them.
	Targets uint32
	At, End int
}

// BlockType is what a block leaves: BlockVoid, the negative byte of a value type
// as int8 has it, or the index of a type.
type BlockType int64

// BlockVoid is the type of a block that leaves nothing.
const BlockVoid BlockType = -0x40

// Reader reads instructions one after another. Positions are in Data.
type Reader struct {
	Data    []byte
	At, End int
}

// Next reads an instruction into i. Fields that it does not have are left as they were,
// but for Sub and Targets.
func (r *Reader) Next(i *Instruction) (err *Error) {
	i.At, i.Sub, i.Targets = r.At, 0, 0
	if r.At >= r.End {
		return r.cutOff(i.At)
	}
	i.Op = r.Data[r.At]
	r.At++
	switch s := shapes[i.Op]; s {
	case shapeNone:
	case shapeIndex:
		i.Index, err = r.u32()
	case shapeI32:
		err = r.skipLEB(5, 32)
	case shapeMemory:
		if _, err = r.u32(); err == nil {
			_, err = r.u32()
		}
	default:
		err = r.seldom(i, s)
	}
	i.End = r.At
	return err
}

// seldom reads what follows the rarer opcodes.
func (r *Reader) seldom(i *Instruction, s shape) (err *Error) {
	switch s {
	case shapeBlock:
		i.Block, err = r.blockType()
	case shapeTable:
		err = r.targets(i)
	case shapePair:
		if i.Index, err = r.u32(); err == nil {
			_, err = r.u32()
		}
	case shapeI64:
		err = r.skipLEB(10, 64)
	case shapeF32:
		err = r.skip(4)
	case shapeF64:
		err = r.skip(8)
	case shapeMisc:
		err = r.misc(i)
	default:
		err = &Error{Offset: i.At, Reason: refusal(i.Op), Feature: s != shapeUnknown}
	}
	return err
}

func (r *Reader) cutOff(at int) *Error {
	return &Error{Offset: at, Reason: "an instruction is cut off", Truncated: true}
}

func (r *Reader) skip(n int) *Error {
	if r.End-r.At < n {
		return r.cutOff(r.At)
	}
	r.At += n
	return nil
}

// u32 reads an unsigned LEB128 of at most five bytes.
func (r *Reader) u32() (uint32, *Error) {
	if r.At < r.End && r.Data[r.At] < 0x80 { // nearly all
		r.At++
		return uint32(r.Data[r.At-1]), nil
	}
	var value uint32
	for n := range 5 {
		if r.At >= r.End {
			return 0, r.cutOff(r.At)
		}
		b := r.Data[r.At]
		r.At++
		value |= uint32(b&0x7f) << (7 * n)
		if b < 0x80 {
			if n == 4 && b > 0x0f {
				break
			}
			return value, nil
		}
	}
	return 0, &Error{Offset: r.At - 1, Reason: "a number has more than 32 bits"}
}

// skipLEB reads over a signed LEB128 of at most so many bytes, whose unused last
// bits copy the sign.
func (r *Reader) skipLEB(most, bits int) *Error {
	if r.At < r.End && r.Data[r.At] < 0x80 { // nearly all
		r.At++
		return nil
	}
	for n := 1; ; n++ {
		if r.At >= r.End {
			return r.cutOff(r.At)
		}
		b := r.Data[r.At]
		r.At++
		if b < 0x80 {
			if room := bits - 7*(n-1); room < 7 {
				if sign := b & 0x7f >> (room - 1); sign != 0 && sign != 0x7f>>(room-1) {
					break
				}
			}
			return nil
		}
		if n == most {
			break
		}
	}
	return &Error{Offset: r.At - 1, Reason: fmt.Sprintf("a number has more than %d bits", bits)}
}

// blockType reads the type of a block: a byte that is a negative number of one
// digit, or an index, which is a positive number of 33 bits.
func (r *Reader) blockType() (BlockType, *Error) {
	if r.At < r.End {
		switch b := r.Data[r.At]; {
		case b == 0x40 || b >= 0x7c && b <= 0x7f:
			r.At++
			return BlockType(int8(b<<1) >> 1), nil
		case b == 0x7b || b == 0x6f || b == 0x70 || b == 0x63 || b == 0x64 || b == 0x69:
			return 0, &Error{Offset: r.At, Reason: "a block leaves a vector or a reference, which are not supported", Feature: true}
		case b&0xc0 == 0x40:
			return 0, &Error{Offset: r.At, Reason: fmt.Sprintf("the type 0x%02x of a block is none", b)}
		}
	}
	index, err := r.u32()
	return BlockType(index), err
}

// targets reads the labels of a br_table.
func (r *Reader) targets(i *Instruction) *Error {
	count, err := r.u32()
	if err != nil {
		return err
	}
	if int64(count) > int64(r.End-r.At) {
		return &Error{Offset: i.At, Reason: fmt.Sprintf("a br_table claims %d labels, and %d bytes remain", count, r.End-r.At), Truncated: true}
	}
	i.Targets, i.Index = count, 0
	for range int(count) + 1 {
		label, err := r.u32()
		if err != nil {
			return err
		}
		i.Index = max(i.Index, label)
	}
	return nil
}

// misc reads what follows the prefix Misc.
func (r *Reader) misc(i *Instruction) *Error {
	sub, err := r.u32()
	if err != nil {
		return err
	}
	operands := 0
	switch {
	case sub <= 7: // saturating conversions
	case sub == MemoryInit || sub == MemoryCopy || sub == TableInit || sub == TableCopy:
		operands = 2
	case sub == DataDrop || sub == MemoryFill || sub == ElemDrop:
		operands = 1
	case sub >= 15 && sub <= 17:
		return &Error{Offset: i.At, Feature: true, Reason: "it uses table." + [...]string{"grow", "size", "fill"}[sub-15] +
			": tables cannot grow here (reference types are not supported; clang: -mno-reference-types)"}
	default:
		return &Error{Offset: i.At, Reason: fmt.Sprintf("there is no instruction 0xfc %d", sub)}
	}
	i.Sub = byte(sub)
	for n := range operands {
		index, err := r.u32()
		if err != nil {
			return err
		}
		if n == 0 {
			i.Index = index
		}
	}
	return nil
}
