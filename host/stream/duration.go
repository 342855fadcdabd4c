package stream

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// units are the units of durations, largest first: they are written in this order.
var units = []struct {
	name string
	ms   int64
}{{"d", 86_400_000}, {"h", 3_600_000}, {"m", 60_000}, {"s", 1000}, {"ms", 1}}

// ParseDuration reads a duration as job files and manifests have it, 1h30m, in
// milliseconds. The message says what is wrong; it follows the text.
func ParseDuration(text string) (ms int64, message string) {
	const rule = "is no duration: a duration is numbers with the units d, h, m, s, ms in this order, such as 500ms or 1h30m"
	rest, negative := strings.CutPrefix(text, "-")
	unit := 0
	for first := true; first || rest != ""; first = false {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		word := rest[digits:]
		if end := strings.IndexAny(word, "0123456789"); end >= 0 {
			word = word[:end]
		}
		at := slices.IndexFunc(units[unit:], func(u struct {
			name string
			ms   int64
		}) bool {
			return u.name == word
		})
		if digits == 0 || at < 0 {
			return 0, rule
		}
		v, err := strconv.ParseInt(rest[:digits], 10, 64)
		scale := units[unit+at].ms
		if err != nil || v > (math.MaxInt64-ms)/scale {
			return 0, "is too long: its milliseconds do not fit a BIGINT"
		}
		ms += v * scale
		unit += at + 1
		rest = rest[digits+len(word):]
	}
	if negative {
		ms = -ms
	}
	return ms, ""
}

// FormatDuration writes milliseconds as ParseDuration reads them.
func FormatDuration(ms int64) string {
	if ms == 0 {
		return "0s"
	}
	var b strings.Builder
	if ms < 0 {
		b.WriteByte('-')
	}
	rest := uint64(ms)
	if ms < 0 {
		rest = -rest
	}
	for _, u := range units {
		if n := rest / uint64(u.ms); n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
			rest %= uint64(u.ms)
		}
	}
	return b.String()
}
