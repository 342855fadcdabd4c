package json

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// hundred has the two digits of every number below 100.
const hundred = "00010203040506070809" +
	"10111213141516171819" +
	"20212223242526272829" +
	"30313233343536373839" +
	"40414243444546474849" +
	"50515253545556575859" +
	"60616263646566676869" +
	"70717273747576777879" +
	"80818283848586878889" +
	"90919293949596979899"

// ascii8 is the word of the 8 digits of a number below 10^8, leading zeros
// included, without the offset that makes them characters: digits8 backward.
// It divides by 100 and by 10 in all lanes at once.
func ascii8(v uint64) uint64 {
	t := v/10000 | v%10000<<32
	q := t * 10486 >> 20 & 0x0000007f0000007f
	t = q | (t-q*100)<<16
	q = t * 103 >> 10 & 0x000f000f000f000f
	return q | (t-q*10)<<8
}

// appendInt writes an integer. Neither its sign nor its length is branched on
// below 10^8, since both are hard to predict.
func appendInt(dst []byte, v int64) []byte {
	negative := uint64(v) >> 63
	u := (uint64(v) ^ -negative) + negative
	if u >= 1e16 {
		return strconv.AppendInt(dst, v, 10)
	}
	dst = append(dst, '-')[:len(dst)+int(negative)]
	if u >= 1e8 {
		dst = appendDigits(dst, u/1e8)
		return binary.LittleEndian.AppendUint64(dst, ascii8(u%1e8)|zeros)
	}
	return appendDigits(dst, u)
}

// appendDigits writes a number below 10^8 without leading zeros.
func appendDigits(dst []byte, u uint64) []byte {
	t := ascii8(u)
	n := bits.TrailingZeros64(t|1<<56) >> 3
	return binary.LittleEndian.AppendUint64(dst, (t|zeros)>>(8*n))[:len(dst)+8-n]
}

// appendString writes a string in quotes and escapes only what must be.
func appendString(dst, s []byte) []byte {
	dst = append(dst, '"')
	from, i := 0, 0
	for i < len(s) {
		if len(s)-i >= 8 {
			stops := stringStops(word(s, i))
			i += firstMark(stops)
			if stops == 0 {
				continue
			}
		}
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[from:i]...), "\uFFFD"...)
				from = i + 1
			}
			i += size
			continue
		}
		if c < ' ' || c == '"' || c == '\\' {
			dst = appendEscape(append(dst, s[from:i]...), c)
			from = i + 1
		}
		i++
	}
	return append(append(dst, s[from:]...), '"')
}

func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
