package json

import (
	"bytes"
	"unicode/utf8"

	"github.com/wasmstream/wasmstream/host/format"
)

// DepthMax is the number of values that may be nested in each other, the record
// itself included; jsontext has the same limit.
const DepthMax = 10000

// What is wrong with a record's syntax.
const (
	reasonEnd       = "the record ends too early"
	reasonObject    = "a JSON object is expected"
	reasonMark      = "a byte order mark stands before the JSON object; write it without one, as plain UTF-8"
	reasonUTF16     = "it is in UTF-16, and JSON is read as UTF-8; iconv -f UTF-16 -t UTF-8 converts a file"
	reasonMore      = "there is more after the object"
	reasonName      = "a name in quotes is expected"
	reasonColon     = "a colon is expected after the name"
	reasonComma     = "a comma or } is expected after the value"
	reasonItemComma = "a comma or ] is expected after the value"
	reasonValue     = "a value is expected"
	reasonLiteral   = "a literal is true, false or null, in lower case"
	reasonControl   = "a control character in a string must be escaped"
	reasonEscape    = `a backslash must be followed by one of "\/bfnrtu`
	reasonHex       = `\u must be followed by four hexadecimal digits`
	reasonSurrogate = "a surrogate stands without its partner"
	reasonUTF8      = "invalid UTF-8"
	reasonDigit     = "a digit is expected in the number"
	reasonZero      = "a number has a leading zero"
	reasonDepth     = "more than 10000 values are nested in each other"
)

// scanner checks syntax. Its methods take the record and the index where
// something begins and return the index after it, or -1 when err is set.
type scanner struct {
	err   *format.Error
	depth int                     // how many values are open around what is read, the record included
	stack [DepthMax/64 + 1]uint64 // for each open value a bit: it is an object
}

func (s *scanner) fail(at int, reason string) int {
	s.err = &format.Error{Offset: at, Reason: reason}
	return -1
}

// failAt fails at i, or with reasonEnd if the record ends there.
func (s *scanner) failAt(rec []byte, i int, reason string) int {
	if i >= len(rec) {
		return s.fail(len(rec), reasonEnd)
	}
	return s.fail(i, reason)
}

// noObject says why there is no object at i: editors and exports of some systems
// begin a file with a mark that is not to be seen.
func noObject(rec []byte, i int) string {
	switch rest := rec[min(i, len(rec)):]; {
	case bytes.HasPrefix(rest, []byte("\xEF\xBB\xBF")):
		return reasonMark
	case bytes.HasPrefix(rest, []byte("\xFF\xFE")), bytes.HasPrefix(rest, []byte("\xFE\xFF")):
		return reasonUTF16
	}
	return reasonObject
}

// space skips whitespace.
func space(rec []byte, i int) int {
	for i < len(rec) && (rec[i] == ' ' || rec[i] == '\n' || rec[i] == '\t' || rec[i] == '\r') {
		i++
	}
	return i
}

// text checks a string whose opening quote is before i, and tells whether it
// has escapes.
func (s *scanner) text(rec []byte, i int) (end int, escaped bool) {
	for {
		for len(rec)-i >= 8 {
			stops := stringStops(word(rec, i))
			i += firstMark(stops)
			if stops != 0 {
				break
			}
		}
		if i >= len(rec) {
			return s.fail(len(rec), reasonEnd), false
		}
		switch c := rec[i]; {
		case c == '"':
			return i + 1, escaped
		case c == '\\':
			if i, escaped = s.escape(rec, i), true; i < 0 {
				return -1, false
			}
		case c < ' ':
			return s.fail(i, reasonControl), false
		case c < utf8.RuneSelf:
			i++
		default:
			r, size := utf8.DecodeRune(rec[i:])
			if r == utf8.RuneError && size == 1 {
				return s.fail(i, reasonUTF8), false
			}
			i += size
		}
	}
}

// escape checks the escape that begins at i, both halves of a surrogate pair.
func (s *scanner) escape(rec []byte, i int) int {
	if i+1 >= len(rec) {
		return s.fail(len(rec), reasonEnd)
	}
	switch rec[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
	default:
		return s.fail(i, reasonEscape)
	}
	r, end := s.hex(rec, i+2)
	if end < 0 || r < 0xD800 || r > 0xDFFF {
		return end
	}
	if r > 0xDBFF {
		return s.fail(i, reasonSurrogate)
	}
	if len(rec)-end < 2 && string(rec[end:]) == `\`[:len(rec)-end] {
		return s.fail(len(rec), reasonEnd)
	}
	if rec[end] != '\\' || rec[end+1] != 'u' {
		return s.fail(i, reasonSurrogate)
	}
	r, end = s.hex(rec, end+2)
	if end >= 0 && (r < 0xDC00 || r > 0xDFFF) {
		return s.fail(i, reasonSurrogate)
	}
	return end
}

// hex reads four hexadecimal digits.
func (s *scanner) hex(rec []byte, i int) (rune, int) {
	r := rune(0)
	for end := i + 4; i < end; i++ {
		if i >= len(rec) {
			return 0, s.fail(len(rec), reasonEnd)
		}
		d := hexDigit(rec[i])
		if d < 0 {
			return 0, s.fail(i, reasonHex)
		}
		r = r<<4 | d
	}
	return r, i
}

func hexDigit(c byte) rune {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0')
	case c >= 'a' && c <= 'f':
		return rune(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return rune(c-'A') + 10
	}
	return -1
}

// unescape appends the content of a string that was checked, without quotes.
func unescape(dst, content []byte) []byte {
	for i := 0; i < len(content); {
		c := content[i]
		if c != '\\' {
			dst = append(dst, c)
			i++
			continue
		}
		c = content[i+1]
		i += 2
		switch c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := hexRune(content[i:])
			i += 4
			if r >= 0xD800 && r <= 0xDFFF {
				r = (r-0xD800)<<10 + hexRune(content[i+2:]) - 0xDC00 + 0x10000
				i += 6
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// hexRune is the value of four digits that were checked.
func hexRune(b []byte) rune {
	return hexDigit(b[0])<<12 | hexDigit(b[1])<<8 | hexDigit(b[2])<<4 | hexDigit(b[3])
}

// number checks a number.
func (s *scanner) number(rec []byte, i int) int {
	if rec[i] == '-' {
		i++
	}
	first := i
	if i = digits(rec, i); i == first {
		return s.failAt(rec, i, reasonDigit)
	}
	if rec[first] == '0' && i > first+1 {
		return s.fail(first, reasonZero)
	}
	if i < len(rec) && rec[i] == '.' {
		first = i + 1
		if i = digits(rec, first); i == first {
			return s.failAt(rec, i, reasonDigit)
		}
	}
	if i < len(rec) && rec[i]|0x20 == 'e' {
		first = i + 1
		if first < len(rec) && (rec[first] == '+' || rec[first] == '-') {
			first++
		}
		if i = digits(rec, first); i == first {
			return s.failAt(rec, i, reasonDigit)
		}
	}
	return i
}

func digits(rec []byte, i int) int {
	for i < len(rec) && rec[i]-'0' <= 9 {
		i++
	}
	return i
}

// literal checks true, false or null. Where the record ends within one, that
// is what is wrong.
func (s *scanner) literal(rec []byte, i int) int {
	want := "null"
	switch rec[i] {
	case 't':
		want = "true"
	case 'f':
		want = "false"
	}
	for k := range len(want) {
		if i+k == len(rec) {
			return s.fail(len(rec), reasonEnd)
		}
		if rec[i+k] != want[k] {
			return s.fail(i, reasonLiteral)
		}
	}
	return i + len(want)
}

// scalar checks a value that is neither object nor array.
func (s *scanner) scalar(rec []byte, i int) int {
	if i >= len(rec) {
		return s.fail(len(rec), reasonEnd)
	}
	switch c := rec[i]; {
	case c == '"':
		i, _ = s.text(rec, i+1)
		return i
	case c == '-' || c-'0' <= 9:
		return s.number(rec, i)
	case c == 't' || c == 'f' || c == 'n':
		return s.literal(rec, i)
	case c|0x20 == 't' || c|0x20 == 'f' || c|0x20 == 'n':
		return s.fail(i, reasonLiteral)
	}
	return s.fail(i, reasonValue)
}

// skip checks any value. It keeps its own stack, so that a hostile record
// cannot exhaust the goroutine's.
func (s *scanner) skip(rec []byte, i int) int {
	if i >= len(rec) || rec[i]|0x20 != '{' { // neither { nor [
		return s.scalar(rec, i)
	}
	depth := s.depth
	for {
		opens, object := i < len(rec) && rec[i]|0x20 == '{', false
		if opens {
			if depth++; depth > DepthMax {
				return s.fail(i, reasonDepth)
			}
			object = rec[i] == '{'
			s.push(depth, object)
			i = space(rec, i+1)
			if i < len(rec) && rec[i] == closer(object) {
				i, depth, opens = i+1, depth-1, false
			}
		} else if i = s.scalar(rec, i); i < 0 {
			return -1
		}
		if !opens {
			if i, depth, object = s.after(rec, i, depth); depth == s.depth || i < 0 {
				return i
			}
		}
		if object {
			if _, i, _ = s.name(rec, i); i < 0 {
				return -1
			}
		}
	}
}

// closer is the bracket that ends an object or an array: the one that opens it
// plus 2.
func closer(object bool) byte {
	if object {
		return '}'
	}
	return ']'
}

func (s *scanner) push(depth int, object bool) {
	bit := uint64(1) << (depth & 63)
	s.stack[depth>>6] &^= bit
	if object {
		s.stack[depth>>6] |= bit
	}
}

// after goes on behind a nested value at i: it closes what ends there and
// returns the place of the next member, with the depth and kind of what holds
// it; at the depth of skip's caller nothing of the value is open any more.
func (s *scanner) after(rec []byte, i, depth int) (int, int, bool) {
	for depth > s.depth {
		object := s.stack[depth>>6]>>(depth&63)&1 != 0
		i = space(rec, i)
		switch {
		case i < len(rec) && rec[i] == ',':
			return space(rec, i+1), depth, object
		case i < len(rec) && rec[i] == closer(object):
			i, depth = i+1, depth-1
		case object:
			return s.failAt(rec, i, reasonComma), depth, false
		default:
			return s.failAt(rec, i, reasonItemComma), depth, false
		}
	}
	return i, depth, false
}

// name checks a name with its colon and returns where the name ends and where
// its value begins, -1 when err is set.
func (s *scanner) name(rec []byte, i int) (end, value int, escaped bool) {
	if i >= len(rec) || rec[i] != '"' {
		return 0, s.failAt(rec, i, reasonName), false
	}
	if end, escaped = s.text(rec, i+1); end < 0 {
		return 0, -1, false
	}
	if i = space(rec, end); i >= len(rec) || rec[i] != ':' {
		return 0, s.failAt(rec, i, reasonColon), false
	}
	return end, space(rec, i+1), escaped
}
