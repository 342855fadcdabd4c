package aggregate

import (
	"cmp"
	"encoding/binary"
	"math/bits"

	"github.com/wasmstream/wasmstream/host/stream"
)

// int128 is the unscaled value of a DECIMAL, in two's complement.
type int128 struct {
	hi int64
	lo uint64
}

// plus cannot wrap around for values of at most 38 digits.
func (a int128) plus(b int128) int128 {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	return int128{a.hi + b.hi + int64(carry), lo}
}

func (a int128) compare(b int128) int {
	return cmp.Or(cmp.Compare(a.hi, b.hi), cmp.Compare(a.lo, b.lo))
}

func (a int128) negated() int128 {
	lo, borrow := bits.Sub64(0, a.lo, 0)
	return int128{-a.hi - int64(borrow), lo}
}

// fits tells whether the value has at most 38 digits.
func (a int128) fits() bool {
	if a.hi < 0 {
		a = a.negated()
	}
	return a.compare(tens[stream.DecimalPrecisionMax]) < 0
}

// appended is the value, not negative, with one more decimal digit.
func (a int128) appended(digit uint64) int128 {
	over, lo := bits.Mul64(a.lo, 10)
	lo, carry := bits.Add64(lo, digit, 0)
	return int128{a.hi*10 + int64(over+carry), lo}
}

// digits is how many a value that is not negative has; 0 has none.
func (a int128) digits() int {
	n := 0
	for n <= stream.DecimalPrecisionMax && a.compare(tens[n]) >= 0 {
		n++
	}
	return n
}

// tens are the powers of ten up to the first that no DECIMAL reaches.
var tens = func() (powers [stream.DecimalPrecisionMax + 1]int128) {
	powers[0].lo = 1
	for i := range stream.DecimalPrecisionMax {
		powers[i+1] = powers[i].appended(0)
	}
	return powers
}()

// setWide sets column i, a DECIMAL of more than 18 digits.
func setWide(w *stream.RowWriter, i int, v int128) {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(v.hi))
	binary.BigEndian.PutUint64(b[8:], v.lo)
	w.SetBigDecimal(i, b[:])
}

// averageScale is the scale of the average of a DECIMAL, as in Flink.
func averageScale(scale int) int { return max(6, scale) }

// average divides a sum by n > 0 and gives more digits of fraction than the sum
// has. It rounds as Flink does, half up and twice: DecimalDataUtils.divide first
// brings the quotient to 38 significant digits and then to the scale, so that
// 0.49…9 may become 0.5 and then 1. It is false if the result has more than 38
// digits, where Flink gives NULL.
func average(sum int128, n uint64, more int) (int128, bool) {
	negative := sum.hi < 0
	if negative {
		sum = sum.negated()
	}
	var q int128
	q.hi = int64(uint64(sum.hi) / n)
	var rest uint64
	q.lo, rest = bits.Div64(uint64(sum.hi)%n, sum.lo, n)
	for range more {
		var digit uint64
		digit, rest = nextDigit(rest, n)
		if q.compare(tens[stream.DecimalPrecisionMax-1]) >= 0 {
			return int128{}, false
		}
		q = q.appended(digit)
	}
	if roundsUp(rest, n, stream.DecimalPrecisionMax-q.digits()) {
		q = q.plus(int128{lo: 1})
	}
	if !q.fits() {
		return int128{}, false
	}
	if negative {
		q = q.negated()
	}
	return q, true
}

// nextDigit is the next digit of a long division by n.
func nextDigit(rest, n uint64) (digit, next uint64) {
	hi, lo := bits.Mul64(rest, 10)
	return bits.Div64(hi, lo, n)
}

// roundsUp tells whether the digits that follow, rest divided by n, are rounded
// up when they are cut off, after the number as a whole was rounded half up to
// so many more significant digits.
func roundsUp(rest, n uint64, significant int) bool {
	digit, rest := nextDigit(rest, n)
	if digit != 4 || significant <= 0 {
		return digit >= 5
	}
	// 4 is no leading zero, so each digit from here on is significant.
	for range significant - 1 {
		if digit, rest = nextDigit(rest, n); digit != 9 {
			return false
		}
	}
	digit, _ = nextDigit(rest, n)
	return digit >= 5
}
