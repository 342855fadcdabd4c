package stream

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// shownMax bounds the characters of one shown value, and of a shown row.
const shownMax = 60

// Show writes a row in a line for people, as errors name a key: origin "LAS", day
// 2001-01-01. It is cut where it is long, and nested values are not looked into.
func (s *Schema) Show(r Row) string {
	parts := make([]string, len(s.columns))
	for i := range s.columns {
		c := &s.columns[i]
		parts[i] = c.Name + " " + shorten(c.show(r), shownMax)
	}
	return shorten(strings.Join(parts, ", "), 4*shownMax)
}

// ShowDifference names the columns in which two sound rows show otherwise: column n is 3, not 5.
// It is empty if there are none.
func (s *Schema) ShowDifference(got, want Row) string {
	var parts []string
	for i := range s.columns {
		c := &s.columns[i]
		if is, must := c.show(got), c.show(want); is != must {
			parts = append(parts, fmt.Sprintf("column %s is %s, not %s", c.Name, shorten(is, 4*shownMax), shorten(must, 4*shownMax)))
		}
	}
	return strings.Join(parts, ", ")
}

func shorten(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

func (c *Column) show(r Row) string {
	if c.IsNull(r) {
		return "NULL"
	}
	switch t := &c.Type; t.Kind {
	case Boolean:
		return strconv.FormatBool(c.Bool(r))
	case Int:
		return strconv.Itoa(int(c.Int32(r)))
	case BigInt:
		return strconv.FormatInt(c.Int64(r), 10)
	case Float:
		return strconv.FormatFloat(float64(c.Float32(r)), 'g', -1, 32)
	case Double:
		return strconv.FormatFloat(c.Float64(r), 'g', -1, 64)
	case Decimal:
		return c.showDecimal(r)
	case String:
		return strconv.Quote(string(c.Bytes(r)))
	case Bytes:
		return fmt.Sprintf("%x", c.Bytes(r))
	case Date:
		return time.Unix(0, 0).UTC().AddDate(0, 0, int(c.Int32(r))).Format(time.DateOnly)
	case Timestamp, TimestampLTZ:
		ms, nanos := c.Timestamp(r)
		return time.UnixMilli(ms).Add(time.Duration(nanos)).UTC().Format("2006-01-02T15:04:05.999999999")
	default:
		return "of type " + t.String()
	}
}

func (c *Column) showDecimal(r Row) string {
	unscaled := new(big.Int)
	if c.Type.reserves() == 0 {
		unscaled.SetInt64(c.Int64(r))
	} else {
		b := c.Bytes(r)
		unscaled.SetBytes(b)
		if b[0] >= 0x80 {
			unscaled.Sub(unscaled, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
	}
	if c.Type.Scale == 0 {
		return unscaled.String()
	}
	return new(big.Rat).SetFrac(unscaled, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(c.Type.Scale)), nil)).FloatString(c.Type.Scale)
}

// Show is the time for people, in UTC: 2001-01-01T01:24:00.000Z.
func (t EventTime) Show() string {
	if t == MinTime {
		return "none"
	}
	return time.UnixMilli(int64(t)).UTC().Format("2006-01-02T15:04:05.000Z")
}

// Printable is text of which nobody knows where it was as one line that is safe on a terminal: no
// control characters, and only UTF-8 (a cut may have split a character). It has no backslashes,
// which a log would escape once more. Whatever comes from a module or a record and is shown to
// people goes through it, or is quoted.
func Printable(text string) string {
	if utf8.ValidString(text) && strings.IndexFunc(text, unprintable) < 0 {
		return text
	}
	// Made by hand: a guest may log whole lines of such characters, and does not pay for them.
	safe := make([]byte, 0, 4*len(text)+utf8.UTFMax)
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case !unprintable(r):
			safe = utf8.AppendRune(safe, r)
		case r < 0x10:
			safe = append(safe, '<', '0', "0123456789abcdef"[r], '>')
		default:
			safe = append(strconv.AppendInt(append(safe, '<'), int64(r), 16), '>')
		}
	}
	return string(safe)
}

// unprintable says whether a character could move a terminal's cursor, start an
// escape sequence, end a line or turn the writing direction.
func unprintable(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' && r != '\t' || r == 0x7f
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}
