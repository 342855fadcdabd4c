package sandbox

import (
	"fmt"
	"unicode/utf8"
)

// reader reads a stretch of a module. Every read checks the end first and
// remembers the first failure; after one, reads return zero, so a parser may
// check once per item, before it trusts what it read.
type reader struct {
	data []byte // the whole module, so that offsets are the file's
	at   int
	end  int
	err  *RefusedError
}

// refuse remembers a refusal at an offset. The first one wins.
func (r *reader) refuse(kind Refusal, offset int, format string, arguments ...any) {
	if r.err == nil {
		r.err = &RefusedError{Kind: kind, Reason: fmt.Sprintf(format, arguments...), Offset: offset}
	}
}

func (r *reader) left() int { return r.end - r.at }

func (r *reader) truncated(what string) {
	r.refuse(RefusedTruncated, r.at, "%s is cut off", what)
}

func (r *reader) byte(what string) byte {
	if r.err != nil {
		return 0
	}
	if r.at >= r.end {
		r.truncated(what)
		return 0
	}
	r.at++
	return r.data[r.at-1]
}

func (r *reader) bytes(n int, what string) []byte {
	if r.err != nil {
		return nil
	}
	if n < 0 || n > r.left() {
		r.refuse(RefusedTruncated, r.at, "%s claims %d bytes, and %d remain", what, n, r.left())
		return nil
	}
	r.at += n
	return r.data[r.at-n : r.at : r.at]
}

// u32 reads an unsigned LEB128 of at most five bytes.
func (r *reader) u32(what string) uint32 {
	return uint32(r.leb(what, 32, false))
}

// leb reads a LEB128 of at most the given number of bits. Over-long forms are
// legal up to that size: linkers pad indices they patch later.
func (r *reader) leb(what string, bits uint, signed bool) uint64 {
	start := r.at
	var value uint64
	for shift := uint(0); ; shift += 7 {
		b := r.byte(what)
		if r.err != nil {
			return 0
		}
		value |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			if room := bits - shift; room < 7 && !fitsLast(b, room, signed) {
				r.refuse(RefusedMalformed, start, "%s is a number of more than %d bits", what, bits)
			}
			return value
		}
		if shift+7 >= bits {
			r.refuse(RefusedMalformed, start, "%s is a number of more than %d bits", what, bits)
			return 0
		}
	}
}

// fitsLast says whether the last byte's bits beyond the room are a plain
// extension: zeros, or for signed numbers copies of the sign.
func fitsLast(b byte, room uint, signed bool) bool {
	if !signed {
		return b>>room == 0
	}
	extension := b & 0x7f >> (room - 1)
	return extension == 0 || extension == 0x7f>>(room-1)
}

// count reads the length of a vector whose items take at least itemBytes each,
// so that no count is believed that the remaining bytes cannot hold.
func (r *reader) count(what string, itemBytes, most int) int {
	start := r.at
	n := r.u32("the number of " + what)
	if r.err != nil {
		return 0
	}
	if uint64(n)*uint64(itemBytes) > uint64(r.left()) {
		r.refuse(RefusedTruncated, start, "the module claims %d %s, which need %d bytes, and %d remain",
			n, what, uint64(n)*uint64(itemBytes), r.left())
		return 0
	}
	if int(n) > most {
		r.refuse(RefusedLimit, start, "the module has %d %s; the limit is %d", n, what, most)
		return 0
	}
	return int(n)
}

// name reads a string that must be UTF-8. It is a view of the module.
func (r *reader) name(what string) []byte {
	start := r.at
	n := r.u32(what)
	b := r.bytes(int(n), what)
	if r.err == nil && !utf8.Valid(b) {
		r.refuse(RefusedMalformed, start, "%s is not UTF-8", what)
	}
	return b
}
