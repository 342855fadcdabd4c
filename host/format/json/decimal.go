package json

import (
	"encoding/binary"
	"math/bits"

	"github.com/wasmstream/wasmstream/host/stream"
)

// decimal is an integer of up to 38 digits: the unscaled value of a DECIMAL.
type decimal struct {
	high, low uint64
	negative  bool
}

type decimalStatus uint8

const (
	decimalExact    decimalStatus = iota
	decimalRounded                // digits were cut off, half up
	decimalOverflow               // more than 38 digits
)

// tens are the powers of ten that a word holds.
var tens = [20]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

// timesAdd multiplies the magnitude by m and adds a.
func (d *decimal) timesAdd(m, a uint64) {
	over, low := bits.Mul64(d.low, m)
	low, carry := bits.Add64(low, a, 0)
	d.high, d.low = d.high*m+over+carry, low
}

// fits tells whether the value has at most so many digits.
func (d *decimal) fits(precision int) bool {
	limit := decimal{low: 1}
	for ; precision > 19; precision -= 19 {
		limit.timesAdd(tens[19], 0)
	}
	limit.timesAdd(tens[precision], 0)
	return d.high < limit.high || d.high == limit.high && d.low < limit.low
}

// int64 is the value, false if it is out of range.
func (d *decimal) int64() (int64, bool) {
	if d.negative {
		return -int64(d.low), d.high == 0 && d.low <= 1<<63
	}
	return int64(d.low), d.high == 0 && d.low < 1<<63
}

// bytes is the value in big-endian two's complement, without bytes that only
// repeat the sign: Java's BigInteger.toByteArray, which the row holds.
func (d *decimal) bytes(buf *[16]byte) []byte {
	high, low := d.high, d.low
	if d.negative {
		var borrow uint64
		low, borrow = bits.Sub64(0, low, 0)
		high, _ = bits.Sub64(0, high, borrow)
	}
	binary.BigEndian.PutUint64(buf[:8], high)
	binary.BigEndian.PutUint64(buf[8:], low)
	at := 0
	for at < 15 && (buf[at] == 0 && buf[at+1] < 0x80 || buf[at] == 0xff && buf[at+1] >= 0x80) {
		at++
	}
	return buf[at:]
}

// decimalOf reads big-endian two's complement of at most 16 bytes; of more,
// which no sound row has, the last 16 count.
func decimalOf(unscaled []byte) decimal {
	var d decimal
	if len(unscaled) == 0 {
		return d
	}
	if unscaled[0] >= 0x80 {
		d = decimal{^uint64(0), ^uint64(0), true}
	}
	for _, c := range unscaled {
		d.high = d.high<<8 | d.low>>56
		d.low = d.low<<8 | uint64(c)
	}
	if d.negative {
		var borrow uint64
		d.low, borrow = bits.Sub64(0, d.low, 0)
		d.high, _ = bits.Sub64(0, d.high, borrow)
	}
	return d
}

// numberParts says where the digits of a number are.
type numberParts struct {
	negative bool
	digits   []byte // from the first one that is not 0, perhaps with a point among them
	count    int    // how many digits these are
	point    int    // the value is 0.DIGITS times ten to this power
}

// split takes a number, whose grammar was checked, apart.
func split(token []byte) numberParts {
	var p numberParts
	if token[0] == '-' {
		p.negative = true
		token = token[1:]
	}
	p.digits = token
	whole, all, zeroes, first := -1, 0, 0, -1
	for i, c := range token {
		if c == '.' {
			whole = all
		} else if c-'0' > 9 { // e or E
			p.digits, p.point = token[:i], exponent(token[i+1:])
			break
		} else if all++; first < 0 {
			if c == '0' {
				zeroes++
			} else {
				first = i
			}
		}
	}
	if whole < 0 {
		whole = all
	}
	if first < 0 {
		return numberParts{negative: p.negative}
	}
	p.digits = p.digits[first:]
	p.count = all - zeroes
	p.point += whole - zeroes
	return p
}

// exponentMax is far beyond every exponent that a record's digits could make up
// for, and far from overflowing.
const exponentMax = 1 << 40

func exponent(text []byte) int {
	n := 0
	for _, c := range text {
		if c-'0' <= 9 {
			n = min(n*10+int(c-'0'), exponentMax)
		}
	}
	if text[0] == '-' {
		return -n
	}
	return n
}

// parseDecimal is a number times ten to the scale, rounded half up, away from
// zero. The number's grammar was checked.
func parseDecimal(token []byte, scale int) (decimal, decimalStatus) {
	p := split(token)
	d := decimal{negative: p.negative}
	keep := p.point + scale // that many digits are before the point
	switch {
	case p.count == 0:
		return decimal{}, decimalExact
	case keep > stream.DecimalPrecisionMax:
		return d, decimalOverflow
	case keep < 0:
		return decimal{}, decimalRounded
	}
	taken, up, status := 0, uint64(0), decimalExact
	for _, c := range p.digits {
		if c == '.' {
			continue
		}
		if taken++; taken <= keep {
			d.timesAdd(10, uint64(c-'0'))
			continue
		}
		if taken == keep+1 && c >= '5' {
			up = 1
		}
		if c != '0' {
			status = decimalRounded
		}
	}
	for ; taken < keep; taken++ {
		d.timesAdd(10, 0)
	}
	d.timesAdd(1, up)
	if d.high|d.low == 0 {
		d.negative = false
	}
	return d, status
}

// appendDecimal writes a plain number with scale digits of fraction.
func appendDecimal(dst []byte, d decimal, scale int) []byte {
	if d.negative {
		dst = append(dst, '-')
	}
	var buf [40]byte
	at := len(buf)
	for digits := 0; digits <= scale || d.high|d.low != 0; digits++ {
		if digits == scale && scale > 0 {
			at--
			buf[at] = '.'
		}
		if d.high == 0 {
			at--
			buf[at] = '0' + byte(d.low%10)
			d.low /= 10
			continue
		}
		var rest uint64
		d.high, rest = d.high/10, d.high%10
		d.low, rest = bits.Div64(rest, d.low, 10)
		at--
		buf[at] = '0' + byte(rest)
	}
	return append(dst, buf[at:]...)
}
