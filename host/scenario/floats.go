package scenario

import (
	"bytes"
	"math"
	"strconv"
)

// spellFloats copies a JSON object and spells the numbers of its FLOAT and DOUBLE
// columns as Java does, 9.0 and 1.0E10: expected lines that Flink wrote are then
// what an update writes, to the letter.
func spellFloats(dst, object []byte, floats []int) []byte {
	column, depth := 0, 0
	for i := 0; i < len(object); {
		n := 1
		switch c := object[i]; {
		case c == '"':
			n = quotedLen(object[i:])
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case c == ',' && depth == 1:
			column++
		case c == '-' || c >= '0' && c <= '9':
			n = numberLen(object[i:])
			v, err := strconv.ParseFloat(string(object[i:i+n]), 64)
			if depth == 1 && floats[column] > 0 && err == nil {
				dst = appendJavaFloat(dst, v, floats[column])
				i += n
				continue
			}
		}
		dst = append(dst, object[i:i+n]...)
		i += n
	}
	return dst
}

// quotedLen is the length of the string that b begins with, its quotes included.
func quotedLen(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// numberLen is the length of the number that b begins with.
func numberLen(b []byte) int {
	n := bytes.IndexFunc(b, func(r rune) bool {
		return (r < '0' || r > '9') && r != '.' && r != '-' && r != '+' && r != 'e' && r != 'E'
	})
	if n < 0 {
		return len(b)
	}
	return n
}

// appendJavaFloat writes a number as Java's Double.toString and Float.toString
// do: plainly from 1e-3 to below 1e7, else with an exponent, and always with a
// digit behind the point.
func appendJavaFloat(dst []byte, v float64, bits int) []byte {
	start := len(dst)
	if a := math.Abs(v); a == 0 || a >= 1e-3 && a < 1e7 {
		dst = strconv.AppendFloat(dst, v, 'f', -1, bits)
		if bytes.IndexByte(dst[start:], '.') < 0 {
			dst = append(dst, ".0"...)
		}
		return dst
	}
	text := strconv.AppendFloat(nil, v, 'e', -1, bits)
	mantissa, exponent, _ := bytes.Cut(text, []byte("e"))
	dst = append(dst, mantissa...)
	if bytes.IndexByte(mantissa, '.') < 0 {
		dst = append(dst, ".0"...)
	}
	dst = append(dst, 'E')
	power, _ := strconv.Atoi(string(exponent)) // of AppendFloat: always a number
	return strconv.AppendInt(dst, int64(power), 10)
}
