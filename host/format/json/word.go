package json

import (
	"encoding/binary"
	"math/bits"
)

// Eight bytes at a time: a word holds 8 bytes of the record, the first one
// lowest. Marks are the high bits of its bytes; only the lowest mark is exact,
// since borrows and carries run upward from a marked byte.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
	zeros = 0x3030303030303030 // "00000000"
)

// word loads the 8 bytes at i, which must be there.
func word(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }

// wordOrTail loads the 8 bytes at i; past the record's end they are 0, which is
// neither a digit nor part of a string.
func wordOrTail(b []byte, i int) uint64 {
	if i < len(b)-7 {
		return word(b, i)
	}
	return tail(b, i)
}

// tail is not inlined so that wordOrTail can be.
//
//go:noinline
func tail(b []byte, i int) uint64 {
	left := len(b) - i
	if left <= 0 {
		return 0
	}
	if len(b) >= 8 {
		return binary.LittleEndian.Uint64(b[len(b)-8:]) >> (64 - 8*uint(left)&63)
	}
	x := uint64(0)
	for k := left - 1; k >= 0; k-- {
		x = x<<8 | uint64(b[i+k])
	}
	return x
}

// stringStops marks the bytes that end a run of plain ASCII in a string: quote,
// backslash, control characters and all that is not ASCII.
func stringStops(x uint64) uint64 {
	quote, slash := x^('"'*ones), x^('\\'*ones)
	return ((x-' '*ones)&^x | (quote-ones)&^quote | (slash-ones)&^slash | x) & highs
}

// nonDigits marks the bytes above 9 of a word from which "00000000" was taken.
func nonDigits(t uint64) uint64 { return (t + 0x7676767676767676 | t) & highs }

// firstMark is the index of the byte that is marked lowest; 8 without marks.
func firstMark(marks uint64) int { return bits.TrailingZeros64(marks) >> 3 }

// pairs has at each byte k the two-digit number of the digits k and k+1.
func pairs(t uint64) uint64 { return t*10 + t>>8 }

// digits8 is the number that 8 digits stand for, the first digit lowest.
func digits8(t uint64) uint64 {
	const mask = 0x000000ff000000ff
	t = pairs(t)
	return ((t&mask)*(100+1000000<<32) + (t>>16&mask)*(1+10000<<32)) >> 32
}
